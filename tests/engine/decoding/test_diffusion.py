"""Masked diffusion: the loop on scripted logits.

The scripted model's probabilities are given, so whole runs can be worked out by hand.
"""

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest

from engine.decoding.diffusion import (
    DiffusionDecoder,
    DiffusionSettings,
    block_lengths,
    schedule,
    step_counts,
)
from engine.errors import DecodingError, PromptError, SettingError
from engine.trace import FILLED, REMASKING
from engine.trace.diffusion import planner_score
from tests.engine.decoding.scripted_canvas import MASK, PAD, Scripted, always

# (confidence of the best token, entropy in bits) of each, in this order:
# (0.55, 1.71), (0.5, 1), (0.7, 1.36) and (0.25, 2).
LEANING = [0.55, 0.15, 0.15, 0.15]
TORN = [0.0, 0.5, 0.5, 0.0]
SURE = [0.1, 0.1, 0.1, 0.7]
LOST = [0.25, 0.25, 0.25, 0.25]


def filled(decoder):
    return list(decoder.run())


def untimed(steps):
    return [dataclasses.replace(step, forward_ms=0, total_ms=0, reused=False) for step in steps]


def refused(kind, call, *parts):
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert type(caught.value) is kind
    for part in parts:
        assert part in message, f"{message!r} does not say {part!r}"
    assert message.endswith(".") and ";" in message, f"no remedy: {message!r}"


# --- The loop, worked out by hand ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("remasking", "order"), [("low_confidence", [4, 1, 2, 3]), ("entropy", [2, 4, 1, 3])]
)
def test_the_surest_prediction_is_kept_first(remasking, order):
    model = always(LOST, LEANING, TORN, LOST, SURE)
    canvas = [3, MASK, MASK, MASK, MASK]
    decoder = DiffusionDecoder(model, canvas, DiffusionSettings(remasking=remasking))
    steps = filled(decoder)
    assert [step.unmasked for step in steps] == [(place,) for place in order]
    # Among equally likely tokens the lower id wins, as everywhere at temperature 0.
    assert decoder.ids == (3, 0, 1, 0, 3) and decoder.stop_reason == FILLED and model.passes == 4
    # On a tie, the leftmost prediction is kept.
    settings = DiffusionSettings(remasking=remasking)
    tied = filled(DiffusionDecoder(always(*[SURE] * 4), [MASK] * 4, settings))
    assert [step.unmasked for step in tied] == [(0,), (1,), (2,), (3,)]


def test_prediction_may_change_until_it_is_kept():
    def script(ids):
        return [SURE, [0.4, 0.6, 0, 0] if ids[0] == MASK else [0, 0, 1, 0]]

    decoder = DiffusionDecoder(Scripted(script), [MASK, MASK])
    assert [step.predicted for step in decoder.run()] == [(3, 1), (None, 2)]
    assert decoder.ids == (3, 2)


def test_step_records_input_and_predictions():
    decoder = DiffusionDecoder(always(LOST, LEANING, TORN, LOST, SURE), [3, 5, 5, 5, 5])
    first, second = decoder.step(), decoder.step()
    assert first.ids_before == (3, 5, 5, 5, 5) and first.ids_after == (3, 5, 5, 5, 3)
    assert first.predicted == (None, 0, 1, 0, 3)
    assert first.confidence[0] is None
    assert first.confidence[1:] == pytest.approx((0.55, 0.5, 0.25, 0.7))
    assert first.model_entropy_bits[0] is None
    assert first.model_entropy_bits[1:] == pytest.approx((1.7060, 1.0, 2.0, 1.3568), abs=1e-4)
    assert first.masked == (1, 2, 3) and first.u == (None,) * 5
    assert second.index == 1 and second.ids_before == first.ids_after
    assert second.predicted == (None, 0, 1, 0, None), "what was kept is not predicted again"
    assert 0 <= first.forward_ms <= first.total_ms


def test_blocks_are_filled_from_left_to_right():
    model = always(LOST, LEANING, LOST, SURE, TORN, LOST, SURE)
    canvas = [2, MASK, MASK, 1, MASK, 0, MASK]  # a given token lies within a block
    decoder = DiffusionDecoder(model, canvas, DiffusionSettings(block_length=2))
    assert decoder.blocks == ((1, 2), (4, 6))
    steps = filled(decoder)
    assert [step.unmasked for step in steps] == [(1,), (2,), (6,), (4,)]
    assert [step.block for step in steps] == [0, 0, 1, 1]
    assert steps[0].predicted == (None, 0, 0, None, 1, None, 3), "later blocks are predicted too"


def test_mask_and_padding_are_never_predicted():
    model = always(SURE, LOST)
    rows = model.logits([MASK, MASK])
    assert np.isneginf(rows[:, [PAD, MASK]]).all() and np.isfinite(rows[:, :4]).all()
    for seed in range(20):
        decoder = DiffusionDecoder(
            model, [MASK, MASK], DiffusionSettings(temperature=100, seed=seed)
        )
        filled(decoder)
        assert max(decoder.ids) < PAD


@pytest.mark.parametrize("remasking", REMASKING)
@pytest.mark.parametrize(("temperature", "block_length"), [(0, 3), (1, None)])
def test_only_masks_are_filled_and_each_once(remasking, temperature, block_length):
    canvas = [0, MASK, MASK, 2, MASK, 1, MASK, MASK, 3, MASK]
    settings = DiffusionSettings(4, temperature, remasking, 3, block_length)
    decoder = DiffusionDecoder(always(*[LEANING, TORN] * 5), canvas, settings)
    steps = filled(decoder)
    for step in steps:
        changed = [i for i in range(10) if step.ids_before[i] != step.ids_after[i]]
        assert list(step.unmasked) == changed
        assert all(step.ids_before[place] == MASK for place in changed)
        assert all(step.ids_after[place] == step.predicted[place] for place in changed)
    assert [len(step.unmasked) for step in steps] == list(decoder.schedule)
    assert sum(decoder.schedule) == 6 and MASK not in decoder.ids
    refused(DecodingError, decoder.step, "Every mask is filled")


# --- Random numbers ------------------------------------------------------------------------------


def test_random_remasking_keeps_the_largest_random_number():
    settings = DiffusionSettings(remasking="random", seed=11)
    decoder = DiffusionDecoder(always(SURE, LOST, TORN, LEANING), [MASK] * 4, settings)
    left = [0, 1, 2, 3]
    for index, step in enumerate(decoder.run()):
        sequence = np.random.SeedSequence(11, spawn_key=(index,))
        keys = np.random.Generator(np.random.PCG64(sequence)).random((2, 4))[1]
        expected = max(left, key=lambda place: keys[place])
        assert step.unmasked == (expected,)
        left.remove(expected)


def test_random_remasking_ignores_the_predictions():
    # Seeds 0 to 899, one first position each. If all three are equally likely, chi-square with
    # 2 degrees of freedom exceeds 18.42 with probability 0.0001.
    model, counts = always(SURE, LOST, TORN), Counter()
    for seed in range(900):
        settings = DiffusionSettings(remasking="random", seed=seed)
        counts[DiffusionDecoder(model, [MASK] * 3, settings).step().unmasked] += 1
    assert sum((counts[(place,)] - 300) ** 2 / 300 for place in range(3)) < 18.42, counts


def test_temperature_changes_the_draw_but_not_confidence():
    # 4,000 positions of one pass, seed 5; at T = 0.5 the odds 4 : 3 : 2 : 1 become 16 : 9 : 4 : 1.
    # Chi-square with 3 degrees of freedom exceeds 21.11 with probability 0.0001.
    row, n = [0.4, 0.3, 0.2, 0.1], 4000
    model = Scripted(lambda ids: [row] * len(ids), context_length=None)
    settings = DiffusionSettings(steps=1, temperature=0.5, seed=5)
    step = DiffusionDecoder(model, [MASK] * n, settings).step()
    counts = np.bincount(step.predicted, minlength=4)
    expected = n * np.array([16, 9, 4, 1]) / 30
    assert ((counts - expected) ** 2 / expected).sum() < 21.11, counts
    assert step.confidence == pytest.approx([row[token_id] for token_id in step.predicted])
    # The most likely token takes the lowest numbers, as in all the engine's draws.
    assert all(
        (u < 16 / 30) == (token == 0) for u, token in zip(step.u, step.predicted, strict=True)
    )


REPEATED = [DiffusionSettings(6, 1.0, order, 4) for order in REMASKING] + [
    DiffusionSettings(6, 1.0, "low_confidence", 4, 6, 2.0)
]


@pytest.mark.parametrize("settings", REPEATED, ids=str)
def test_only_the_same_seed_repeats_a_run(settings):
    def begun(seed=4):
        changed = dataclasses.replace(settings, seed=seed)
        return DiffusionDecoder(always(*[LOST, LEANING] * 6), [MASK] * 12, changed)

    decoder = begun()
    steps = filled(decoder)
    assert untimed(filled(begun())) == untimed(steps)
    # Twelve draws of at least 1.7 bits each: equal by chance with probability below 0.0001.
    assert filled(begun(2))[-1].ids_after != steps[-1].ids_after
    for length in (6, 5, 2, 0):
        decoder.rewind(length)
        assert decoder.steps == steps[:length] and (decoder.stop_reason == FILLED) == (length == 6)
        assert decoder.ids == (steps[length - 1].ids_after if length else (MASK,) * 12)
        twin = decoder.fork()
        for each in (decoder, twin):
            filled(each)
            assert untimed(each.steps) == untimed(steps)


def test_missing_seed_is_chosen_and_recorded():
    model, settings = always(*[LOST] * 8), DiffusionSettings(temperature=1, seed=None)
    first = DiffusionDecoder(model, [MASK] * 8, settings)
    assert isinstance(first.settings.seed, int) and settings.seed is None
    again = DiffusionDecoder(model, [MASK] * 8, first.settings)
    assert untimed(filled(first)) == untimed(filled(again))


def test_pass_is_reused_right_after_a_rewind():
    decoder = DiffusionDecoder(always(SURE, LOST), [MASK, MASK])
    assert not decoder.step().reused
    decoder.rewind(0)
    assert decoder.step().reused and decoder.model.passes == 1
    assert not decoder.step().reused and decoder.model.passes == 2


def test_distribution_matches_the_recorded_prediction():
    settings = DiffusionSettings(temperature=0.5)
    decoder = DiffusionDecoder(always(LOST, [0.4, 0.3, 0.2, 0.1]), [2, MASK], settings)
    step = decoder.step()
    shown = decoder.distribution(0, 1)
    assert shown.probs[:4] == pytest.approx(np.array([16, 9, 4, 1]) / 30)
    assert shown.sample(step.u[1]) == step.predicted[1] and not shown.probs[4:].any()
    refused(SettingError, lambda: decoder.distribution(1, 1), "step index", "use 0 to 0")
    refused(SettingError, lambda: decoder.distribution(0, 0), "position had no prediction")


# --- Schedule and settings -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((10, 4), (3, 3, 2, 2)),  # LLaDA: the remainder goes to the first steps
        ((10, 4, 5), (3, 2, 3, 2)),
        ((8, 4, 4), (2, 2, 2, 2)),
        ((12, 4, 3), (3, 3, 3, 3)),
        ((5, 1), (5,)),
        ((3,), (1, 1, 1)),
        ((4, None, 2), (1, 1, 1, 1)),
    ],
)
def test_schedule_spreads_tokens_evenly_over_steps(arguments, expected):
    assert schedule(*arguments) == expected


def test_every_offered_schedule_fills_every_block():
    for masks in range(1, 25):
        for length in block_lengths(masks):
            for steps in step_counts(masks, length):
                kept = schedule(masks, steps, length)
                share = steps * length // masks
                blocks = [sum(kept[start : start + share]) for start in range(0, steps, share)]
                assert blocks == [length] * (masks // length) and min(kept) >= 1
                assert max(kept) - min(kept) <= 1 and len(kept) == steps


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ((4, 5), ["steps must be at most the number of masks, 4, got 5"]),
        ((6, 4, 2), ["steps must be a multiple of the number of blocks, 3, got 4", "one of 3, 6"]),
        ((6, 6, 4), ["block_length must divide the 6 masks, got 4", "one of 1, 2, 3, 6"]),
    ],
)
def test_schedule_must_fit_masks_and_blocks(arguments, parts):
    refused(SettingError, lambda: schedule(*arguments), *parts)
    masks, steps, length = (*arguments, None)[:3]
    settings = DiffusionSettings(steps=steps, block_length=length)
    model = always(*[LOST] * masks)
    refused(SettingError, lambda: DiffusionDecoder(model, [MASK] * masks, settings), *parts)


@pytest.mark.parametrize(
    "changes",
    [
        *[{"steps": value} for value in (0, 1.5, True)],
        *[{"block_length": value} for value in (0, 2.0)],
        *[{"temperature": value} for value in (-0.1, float("nan"), float("inf"), "hot")],
        *[{"remasking": value} for value in ("high_confidence", ["random"])],
        *[{"seed": value} for value in (-1, 2**63, 1.0)],
        *[{"eta": value} for value in (-0.1, float("nan"), float("inf"), True)],
    ],
    ids=str,
)
def test_setting_out_of_range_is_refused(changes):
    (name,) = changes
    refused(SettingError, lambda: DiffusionSettings(**changes), name, "use")


# --- The canvas ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("canvas", "part"),
    [
        ([0, 1, 2], "has no mask to fill in"),
        ([], "has no mask to fill in"),
        ([MASK, 6], "token id 6, but the model knows ids 0 to 5"),
        ([MASK, -1], "token id -1"),
        ([MASK] * 65, "holds at most 64; shorten text or gaps"),
        ("The [4] sat", "one row of token ids"),
        ([[MASK, 0]], "one row of token ids"),
        (MASK, "one row of token ids"),
    ],
)
def test_unfillable_canvas_is_refused(canvas, part):
    wrong = {"steps": 1}
    refused(SettingError, lambda: DiffusionDecoder(always(SURE), [MASK], wrong), "settings")
    refused(PromptError, lambda: DiffusionDecoder(always(SURE), canvas), part)


def test_planner_scores_by_eta_times_log_probability():
    assert planner_score(0.5) == math.log(0.5)
    assert planner_score(0.5, 16.0) == 16 * math.log(0.5)
    assert planner_score(0.0, 16.0) == -math.inf
