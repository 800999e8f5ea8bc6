"""A text decoded with and without the cache: transformers' own tokens, and counted bytes."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.errors import CancelledError, ContextFullError, SettingError
from engine.measure import with_and_without
from engine.measure.pace import Pace
from engine.measure.with_and_without import WithAndWithoutMeasurement
from tests.engine.tiny_models import CONTEXT, WINDOW, prompt, shared

PROMPT = prompt(3, 5)
LAST = 40


def measured(model, **options) -> WithAndWithoutMeasurement:
    measurement = WithAndWithoutMeasurement(model, PROMPT, LAST, **options)
    list(measurement.run())
    return measurement


@pytest.fixture(scope="module")
def measurement() -> WithAndWithoutMeasurement:
    return measured(shared("llama"))


def test_both_texts_match_generate(measurement):
    model = shared("llama")
    with torch.inference_mode():
        text = model.hf.generate(
            torch.tensor([PROMPT]), do_sample=False, max_new_tokens=LAST - 4, pad_token_id=0
        )
    assert measurement._ids == text[0, len(PROMPT) :].tolist()
    assert measurement.result.difference is None


def test_every_step_records_positions_and_bytes_read(measurement):
    result = measurement.result
    steps = LAST - len(PROMPT) + 1
    assert len(result.cached_ms) == len(result.uncached_ms) == steps
    assert list(result.cached_positions) == list(result.positions) == list(range(5, LAST + 1))
    per_position = 2 * 2 * 2 * 8 * 4  # keys and values, layers, heads, values, bytes
    assert list(result.cached_bytes) == [0, *(per_position * n for n in range(5, LAST))]
    assert result.cached_tokens == LAST and result.uncached_tokens == sum(range(5, LAST + 1))
    assert result.weight_bytes == shared("llama").read_bytes
    assert result.uncached_passes == steps and not result.is_sampled and not result.is_state
    assert result.uncached_seconds == pytest.approx(sum(result.uncached_ms) / 1e3)
    assert len(result.reference_ms) == len(result.empty_ms) == -(-steps // result.block)


def test_sampled_uncached_steps_estimate_the_total_time():
    result = measured(shared("llama"), every=7).result
    assert list(result.positions) == [5, 12, 19, 26, 33, 40]
    assert result.is_sampled and len(result.cached_ms) == LAST - 4
    low, high = min(result.uncached_ms), max(result.uncached_ms)
    assert low <= result.uncached_seconds / len(result.cached_ms) * 1e3 <= high
    assert result.uncached_passes == len(result.cached_ms)


def test_interrupted_block_is_measured_again(measurement, monkeypatch):
    again = WithAndWithoutMeasurement(shared("llama"), PROMPT, LAST)
    read, calls = with_and_without.timed_read, iter(range(1000))

    def broken_off(model, ids, clock=None):
        if next(calls) == 25:  # in the second block, after steps with the cache
            raise CancelledError("cancelled")
        return read(model, ids)

    monkeypatch.setattr(with_and_without, "timed_read", broken_off)
    with pytest.raises(CancelledError):
        list(again.run())
    assert again.done == 1
    list(again.run())
    ours, other = again.result, measurement.result
    assert again._ids == measurement._ids and ours.positions == other.positions
    assert ours.cached_bytes == other.cached_bytes and len(ours.cached_ms) == len(other.cached_ms)


def test_the_first_difference_is_kept_with_its_margin(monkeypatch):
    read = with_and_without.timed_read

    def rounded(model, ids, clock=None):
        found = read(model, ids)
        if len(ids) == 9:  # a different token wins, as if by rounding
            logits = found.logits.copy()
            logits[np.argsort(logits)[-2]] = logits.max() + 1
            return replace(found, logits=logits)
        return found

    monkeypatch.setattr(with_and_without, "timed_read", rounded)
    result = measured(shared("llama")).result
    assert result.difference.position == 9 and result.difference.margin > 0
    assert result.difference.cached != result.difference.uncached


def test_mamba_counts_as_state_and_window_does_not():
    window = measured(shared("mistral")).result
    assert max(window.cached_bytes) == 2 * 2 * 2 * 8 * 4 * (WINDOW - 1) and not window.is_state
    state = measured(shared("mamba"), every=9).result
    assert state.is_state and len(set(state.cached_bytes[1:])) == 1


@pytest.mark.parametrize(
    ("positions", "problem"),
    [(CONTEXT + 1, "exceed the context of llama"), (5, "leave no step after the 5 tokens")],
)
def test_impossible_positions_are_refused(positions, problem):
    model = shared("llama")
    with pytest.raises(SettingError, match=problem):
        WithAndWithoutMeasurement(model, PROMPT, positions)
    with pytest.raises(SettingError, match=problem):
        WithAndWithoutMeasurement.estimated_seconds(model, 5, positions, 1, Pace((4,), (1.0,), 1.0))


def test_a_prompt_that_fills_the_context_is_refused():
    with pytest.raises(ContextFullError, match="shorter prompt"):
        WithAndWithoutMeasurement(shared("llama"), [0] * CONTEXT, CONTEXT)


def test_the_estimate_adds_up_steps_and_readings():
    model, pace = shared("llama"), Pace((4, 64), (10.0, 10.0), 2.0)
    whole = WithAndWithoutMeasurement.estimated_seconds(model, 5, 40, 1, pace)
    assert whole == pytest.approx(36 * 0.010 + (36 + 24) * 0.002), "8 more before each block"
    assert WithAndWithoutMeasurement.estimated_seconds(model, 5, 40, 7, pace) == pytest.approx(
        6 * 0.010 + (36 + 24) * 0.002
    )
