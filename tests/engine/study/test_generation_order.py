"""The order in which a canvas was filled, and Kendall's tau."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from engine.decoding.diffusion import DiffusionDecoder, DiffusionSettings
from engine.study.generation_order import (
    confidence_map,
    gap_positions,
    kendall_tau,
    order_of,
    positions_per_step,
    states,
)
from tests.engine.decoding.scripted_canvas import MASK, Scripted, always

WEAK, FIRM, SURE = [0.4, 0.3, 0.2, 0.1], [0.05, 0.9, 0.03, 0.02], [0.01, 0.01, 0.01, 0.97]


def run(model, canvas, **settings):
    decoder = DiffusionDecoder(model, canvas, DiffusionSettings(**settings))
    return list(decoder.run())


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3], [1, 2, 3], 1.0),
        ([1, 2, 3], [9, 5, 1], -1.0),
        ([1, 2, 3, 4], [1, 2, 4, 3], 4 / 6),
        # One tie: 2 pairs in order; without ties, 3 and 2 pairs remain.
        ([1, 2, 3], [0, 0, 1], 2 / math.sqrt(3 * 2)),
        ([1, 2], [7, 7], math.nan),
        ([1], [1], math.nan),
        ([], [], math.nan),
    ],
)
def test_tau_matches_small_cases_by_hand(first, second, expected):
    assert kendall_tau(first, second) == pytest.approx(expected, nan_ok=True)


def test_tau_matches_scipy():
    generator = np.random.Generator(np.random.PCG64(1))
    for length in (2, 5, 64):
        for values in (2, 10, 10_000):
            first, second = generator.integers(0, values, (2, length))
            expected = scipy.stats.kendalltau(first, second).statistic
            assert kendall_tau(first, second) == pytest.approx(expected, abs=1e-12, nan_ok=True)
    with pytest.raises(ValueError, match="Rows of 1 and 2 values"):
        kendall_tau([1], [1, 2])


def test_order_and_tau_match_known_runs():
    model = always(WEAK, WEAK, FIRM, SURE)
    canvas = [2, MASK, MASK, MASK]
    steps = run(model, canvas)
    assert order_of(steps).positions == (1, 2, 3)
    assert order_of(steps).steps == (2, 1, 0) and order_of(steps).tau == -1
    assert order_of(run(model, canvas, remasking="left_to_right")).tau == 1
    assert math.isnan(order_of(run(model, canvas, steps=1)).tau)
    assert order_of(steps[:2]).positions == (2, 3)
    assert math.isnan(order_of([]).tau)


def test_remasked_token_counts_from_its_return():
    def script(ids):
        first = [0.8, 0.2, 0, 0] if ids[1] == MASK else [0.1, 0.9, 0, 0]
        return [first, [0, 0.3, 0.7, 0], FIRM, WEAK]

    steps = run(Scripted(script), [MASK] * 4, steps=3, eta=20.0)
    assert steps[1].remasked == (0,)
    assert order_of(steps[:2]).positions == (1, 2, 3)
    order = order_of(steps)
    assert order.positions == (0, 1, 2, 3) and order.steps == (2, 1, 0, 1)
    counts = positions_per_step(steps)
    assert [count.committed for count in counts] == [2, 2, 1]
    assert [count.remasked for count in counts] == [0, 1, 0]
    assert [count.masked for count in counts] == [2, 1, 0]
    gaps = gap_positions(steps)
    assert states(steps[0], gaps) == ("new", "masked", "new", "masked")
    assert states(steps[1], gaps) == ("re-masked", "new", "committed", "new")
    assert states(steps[2], gaps) == ("new", "committed", "committed", "committed")


def test_confidence_map_covers_masks_and_committed_tokens():
    steps = run(always(WEAK, SURE, FIRM), [3, MASK, MASK])
    assert states(steps[0], gap_positions(steps)) == ("given", "new", "masked")
    assert gap_positions([]) == ()
    assert confidence_map(steps) == pytest.approx(np.array([[0.97, 0.97], [0.9, 0.9]]))
    # As in an older trace:
    table = confidence_map([replace(step, committed_confidence=()) for step in steps])
    assert math.isnan(table[0, 1]) and table[1, 1] == pytest.approx(0.9)
