"""A large row's answers without a full sort, against the same row sorted completely."""

import numpy as np
import pytest

from engine.sampling.ranking import RankedRow
from engine.sampling.survivors import Survivors
from tests.engine.sampling.test_ranking import rows

VOCAB = 70_000
FLAT = [
    (np.random.default_rng(seed).standard_normal(VOCAB) * spread).astype(np.float32)
    for seed, spread in enumerate((0.01, 0.6, 1.0))
]
ROWS = [*FLAT, *rows(VOCAB)]
NUMBERS = range(len(ROWS))
ROUNDING = 1e-11  # relative difference of two running sums over 70,000 weights in different orders


def whole(number: int) -> RankedRow:
    row = RankedRow(ROWS[number])
    row.sort_to_depth(row.count)
    return row


@pytest.mark.parametrize("number", range(len(FLAT)))
def test_flat_row_is_not_sorted_completely(number):
    row = RankedRow(FLAT[number])
    left = Survivors(row).reaching_mass(0.9).above_ratio(1e-9)
    assert left.count > VOCAB / 4
    left.place_at(0.7), left.entropy, left.deviation, left.probs, left.scores
    assert row.depth < VOCAB / 4


@pytest.mark.parametrize("number", NUMBERS)
def test_places_and_mass_shares_match_the_sorted_row(number):
    row, sorted_row = RankedRow(ROWS[number]), whole(number)
    for rank in np.random.default_rng(0).integers(0, row.count, 30).tolist():
        place = row.at(rank)
        assert (place.rank, place.token_id) == (rank, sorted_row.ids[rank])
        assert place.weight == sorted_row.weights[rank]
        assert place.reached == pytest.approx(sorted_row.cumulative[rank], rel=ROUNDING)
    rounding = ROUNDING * row.total
    for side in ("left", "right"):
        for share in (1e-9, 0.1, 0.37, 0.5, 0.77, 0.999, 1.0, 1.1):
            asked = share * row.total
            place = row.reach(asked, side=side)
            assert place.reached >= asked - rounding or share >= 1
            assert place.reached - place.weight <= asked + rounding
            assert place.token_id == sorted_row.ids[place.rank]
            assert place.reached == pytest.approx(sorted_row.cumulative[place.rank], rel=ROUNDING)


@pytest.mark.parametrize("number", NUMBERS)
def test_thresholds_count_the_same_tokens(number):
    row, sorted_row = RankedRow(ROWS[number]), whole(number)
    ranks = np.random.default_rng(1).integers(0, row.count, 20)
    for weight in [*sorted_row.weights[ranks].tolist(), 0.0, 1e-300, 0.3, 1.0, 1.5]:
        expected = int(np.count_nonzero(sorted_row.weights >= weight))
        assert row.count_of_weight(weight, row.count) == expected
        assert row.count_of_weight(weight, 7) == min(7, expected)
    scores = [*sorted_row.values[ranks].tolist(), row.highest, 0.1, -1e39, 1e39]
    for score in [*scores, *np.nextafter(scores, np.inf).tolist()]:
        expected = int(np.count_nonzero(sorted_row.values >= score))
        assert row.count_of_score(score, row.count) == expected


@pytest.mark.parametrize("number", NUMBERS)
def test_survivors_match_those_of_the_sorted_row(number):
    for stop in (1, 5_000, 40_000):
        sorted_row = whole(number)
        stop = min(stop, sorted_row.count)
        left = Survivors(RankedRow(ROWS[number]), 0, stop)
        expected = Survivors(sorted_row, 0, stop)
        assert np.array_equal(left.scores, expected.scores)
        np.testing.assert_allclose(
            left.probs, expected.probs, rtol=ROUNDING, atol=1e-300, equal_nan=False
        )
        assert left.mass == pytest.approx(expected.mass, rel=ROUNDING)
        assert left.entropy == pytest.approx(expected.entropy, rel=1e-9, abs=1e-9)
        assert left.deviation == pytest.approx(expected.deviation, rel=1e-6)
        token_ids = sorted_row.ids[[0, stop - 1, -1]]
        assert left.probs_of(token_ids) == pytest.approx(expected.probs[token_ids], rel=ROUNDING)
        for token_id in token_ids.tolist():
            assert (token_id in left) == (token_id in expected.ids)
            assert left.row.rank(token_id) == sorted_row.rank(token_id)
