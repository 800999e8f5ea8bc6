"""Masked diffusion: left to right, and committed tokens that are masked again."""

import numpy as np
import pytest

from engine.decoding.diffusion import DiffusionDecoder, DiffusionSettings
from engine.decoding.replay import replay
from engine.errors import SettingError
from engine.model import continuation, fill_gaps, load_diffusion_model
from engine.trace import FILLED, Trace
from tests.engine.decoding.scripted_canvas import MASK, Scripted, always

WEAK = [0.4, 0.3, 0.2, 0.1]
FIRM = [0.05, 0.9, 0.03, 0.02]


def doubting(ids):
    """Be sure of the first word until the second is there; then of any other word."""
    alone = ids[1] == MASK
    return [[0.8, 0.2, 0, 0] if alone else [0.1, 0.9, 0, 0], [0, 0.3, 0.7, 0], WEAK]


@pytest.mark.parametrize(
    ("steps", "block_length", "kept"),
    [
        (4, None, [(0,), (1,), (3,), (4,)]),
        (2, None, [(0, 1), (3, 4)]),
        (4, 2, [(0,), (1,), (3,), (4,)]),
    ],
)
def test_left_to_right_fills_the_leftmost_masks(steps, block_length, kept):
    model = always(WEAK, FIRM, FIRM, WEAK, FIRM)
    settings = DiffusionSettings(steps, remasking="left_to_right", block_length=block_length)
    decoder = DiffusionDecoder(model, [MASK, MASK, 2, MASK, MASK], settings)
    assert [step.unmasked for step in decoder.run()] == kept


def test_last_step_keeps_tokens_the_model_doubts():
    decoder = DiffusionDecoder(Scripted(doubting), [MASK] * 3, DiffusionSettings(eta=1.0))
    first, second, third = decoder.run()
    assert (first.unmasked, first.remasked, first.ids_after) == ((0,), (), (0, MASK, MASK))
    # With 0.8 for the first word and 0.7 for the second, both stay.
    assert second.committed_confidence == pytest.approx((0.8, None, None))
    assert (second.unmasked, second.remasked) == ((1,), ())
    # The first word now has 0.1, but the last step keeps all.
    assert third.committed_confidence[0] == pytest.approx(0.1)
    assert (third.unmasked, third.remasked, third.masked) == ((2,), (), ())
    assert decoder.stop_reason == FILLED and decoder.ids == (0, 2, 0)


def test_remasking_keeps_as_many_tokens_as_scheduled():
    # Four words in three steps, 2 + 1 + 1: the second step masks the doubted one again.
    def script(ids):
        return [*doubting(ids)[:2], FIRM, WEAK]

    settings = DiffusionSettings(steps=3, eta=1.0)
    decoder = DiffusionDecoder(Scripted(script), [MASK] * 4, settings)
    first, second, third = decoder.run()
    assert first.ids_after == (0, MASK, 1, MASK)
    # 0: committed, 0.8; 1: 0.7; 2: committed, 0.9; 3: 0.4. Three stay.
    assert second.ids_after == (0, 2, 1, MASK) and second.remasked == ()
    assert third.ids_after == (0, 2, 1, 0)
    settings = DiffusionSettings(steps=3, eta=20.0)  # committed tokens count for little
    decoder = DiffusionDecoder(Scripted(script), [MASK] * 4, settings)
    first, second, third = decoder.run()
    assert first.ids_after == (0, MASK, 1, MASK)
    # 0: 20 log 0.8 = -4.46; 1: log 0.7 = -0.36; 2: 20 log 0.9 = -2.11; 3: log 0.4 = -0.92.
    assert second.remasked == (0,) and second.unmasked == (1, 3)
    assert second.masked == (0,) and second.predicted_at == (1, 3)
    assert third.unmasked == (0,) and third.ids_after == (1, 2, 1, 0)


@pytest.mark.long
def test_higher_eta_remasks_more_in_equally_many_steps():
    model = load_diffusion_model()
    canvas = continuation(model, "Once upon a time, there was a", 32)
    counts = []
    for eta in (0.0, 1.0, 4.0):
        settings = DiffusionSettings(8, 0.7, "low_confidence", 0, None, eta)
        steps = list(DiffusionDecoder(model, canvas, settings).run())
        assert [len(step.masked) for step in steps] == [*range(28, -1, -4)]
        counts.append(sum(len(step.remasked) for step in steps))
    assert counts[0] == 0 < counts[1] < counts[2]


def test_doubted_tokens_are_not_remasked_without_eta():
    steps = list(DiffusionDecoder(Scripted(doubting), [MASK] * 3).run())
    assert [step.remasked for step in steps] == [()] * 3
    assert steps[2].committed_confidence == pytest.approx((0.1, 0.7, None))


@pytest.mark.parametrize(
    ("eta", "block_length"), [(5.0, 4), pytest.param(0.0, None, marks=pytest.mark.long)]
)
def test_given_tokens_are_never_changed(eta, block_length):
    model = load_diffusion_model()
    canvas = fill_gaps(model, "The [4] sat on the [4], and [4] was very, very happy.")
    given = [place for place, token_id in enumerate(canvas) if token_id != model.mask_id]
    settings = DiffusionSettings(6, 1.5, "low_confidence", 5, block_length, eta)
    decoder = DiffusionDecoder(model, canvas, settings)
    for step in decoder.run():
        assert [step.ids_after[place] for place in given] == [canvas[place] for place in given]
        assert not set(given) & {*step.unmasked, *step.masked, *step.remasked}
    assert model.mask_id not in decoder.ids and len(decoder.ids) == len(canvas)
    for step in decoder.steps:
        assert {*step.unmasked, *step.remasked} <= set(decoder.blocks[step.block])
    text = decoder.text
    assert text.startswith("The") and text.endswith(" was very, very happy.")
    assert " sat on the" in text


def test_trace_with_remasked_blocks_replays_identically(tmp_path):
    model = load_diffusion_model()
    settings = DiffusionSettings(4, 1.0, "low_confidence", 4, 4, 2.0)
    decoder = DiffusionDecoder(model, continuation(model, "The cat", 8), settings)
    list(decoder.run())
    file = decoder.trace().save(tmp_path / "canvas.json")
    assert replay(Trace.load(file), model).identical


def test_distribution_of_a_committed_token_matches_its_confidence():
    decoder = DiffusionDecoder(Scripted(doubting), [MASK] * 3, DiffusionSettings(temperature=0.0))
    steps = list(decoder.run())
    assert decoder.distribution(2, 0).probability(1) == pytest.approx(1.0)
    raw = decoder.distribution(2, 0).raw
    assert np.exp(raw.logprob(0)) == pytest.approx(steps[2].committed_confidence[0])


def test_eta_is_refused_for_orders_without_confidence():
    for order in ("random", "entropy", "left_to_right"):
        with pytest.raises(SettingError, match=f"eta .* the order is {order}"):
            DiffusionSettings(remasking=order, eta=0.5)
        assert DiffusionSettings(remasking=order, eta=0).eta == 0.0
