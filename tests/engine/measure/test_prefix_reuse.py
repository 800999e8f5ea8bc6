"""Prefix reuse: only the rest is read, and the logits equal those of the whole prompt."""

import json

import pytest

from engine.errors import PromptError, SettingError
from engine.measure.machine import Setting
from engine.measure.prefix_reuse import PrefixMeasurement, PrefixResult, shared_tokens
from engine.measure.report import Report
from tests.engine import tiny_models

BEGINNING = tiny_models.prompt(0, 60)
FIRST, SECOND = [1, 2, 3, 4], [1, 9, 8]


def test_shared_tokens_count_the_common_prefix():
    assert shared_tokens([1, 2, 3], [1, 2, 4]) == 2
    assert shared_tokens([1, 2, 3], [1, 2, 3]) == 2, "one token is left to read"
    assert shared_tokens([], [1]) == shared_tokens([2], [1, 2]) == 0


@pytest.mark.parametrize("name", ["llama", "gemma3", "falcon_h1"])
def test_prefix_reuse_reads_the_rest_with_equal_logits(name, monkeypatch):
    model = tiny_models.shared(name)
    measurement = PrefixMeasurement(model, BEGINNING, FIRST, SECOND, [40, 8], repeats=2)
    read = []
    forward = model.forward

    def counted(token_ids, *arguments, **options):
        read.append(len(token_ids))
        return forward(token_ids, *arguments, **options)

    monkeypatch.setattr(model, "forward", counted)
    assert len(list(measurement.run())) == 6
    result = measurement.result
    # A full window of 16 cannot be cropped, and neither can a recurrent state.
    assert result.can_crop == (name == "llama")
    assert [one.shared for one in result.lengths] == [9, 41], "the rests share a token as well"
    assert [one.tokens for one in result.lengths] == [11, 43]
    for one in result.lengths:
        assert len(one.full_ms) == len(one.reused_ms) == 2
        assert min(one.full_ms) > 0 and min(one.reused_ms) > 0
        assert one.largest_difference < 1e-3 and one.same_top
    assert read[-4:] == [11, 2, 43, 2], "each prompt once, and only what is new to it"
    text = Report(Setting.here(model), {"prefix": result}).to_json()
    again = Report.from_json(json.dumps(json.loads(text)), {"prefix": PrefixResult})
    assert again.parts["prefix"] == result


def test_prefix_longer_than_shared_beginning_is_refused():
    model = tiny_models.shared("llama")
    with pytest.raises(SettingError, match="got 61; use 0 to 60"):
        PrefixMeasurement(model, BEGINNING, FIRST, SECOND, [61])
    with pytest.raises(SettingError, match="repeats"):
        PrefixMeasurement(model, BEGINNING, FIRST, SECOND, [6], repeats=0)
    with pytest.raises(PromptError, match="reads at most 160"):
        PrefixMeasurement(model, BEGINNING * 3, FIRST, SECOND, [170])


def test_prompts_without_shared_beginning_are_measured_too():
    model = tiny_models.shared("llama")
    measurement = PrefixMeasurement(model, BEGINNING, [5], [6, 7], [0], repeats=1)
    list(measurement.run())
    assert [one.shared for one in measurement.result.lengths] == [0]
