"""The ranking's fast paths against their definitions, over rows of every kind."""

import numpy as np
import pytest

from engine.errors import LogitsError, NoCandidatesError
from engine.sampling import SamplingSettings, shape
from engine.sampling.ranking import RankedRow
from engine.sampling.samplers import Banned, Context, LogitBias, RepetitionPenalty, Temperature
from tests.engine.sampling.samplers.comparison import KINDS

SIZES = (1, 5, 300, 3_000, 70_000)


def rows(vocab: int) -> list[np.ndarray]:
    """Rows of every kind, and rows of few values, zeros of both signs, the limits of float32."""
    rng = np.random.default_rng(vocab)
    found = [kind(rng, vocab)[0] for kind in KINDS.values()]
    rounded = np.round(rng.standard_normal(vocab)).astype(np.float32)
    rounded[::3] = -0.0
    extreme = rng.standard_normal(vocab).astype(np.float32) * np.float32(1e37)
    extreme[: vocab // 2] = -np.inf
    extreme[vocab // 2] = np.float32(1e-45)
    low = rng.standard_normal(vocab).astype(np.float32)
    low[1::7] = -3e38
    return [*found, rounded, extreme, low, np.zeros(vocab, np.float32)]


@pytest.mark.parametrize("vocab", SIZES)
def test_sorted_head_ranks_and_sums_match_a_full_sort(vocab):
    rng = np.random.default_rng(0)
    for scores in rows(vocab):
        order = np.lexsort((np.arange(vocab), -scores)).tolist()
        count = np.count_nonzero(scores > -np.inf)
        some = rng.integers(0, vocab, 5).tolist()
        for depth in (0, 1, 50, 256, 1_000, vocab):
            row = RankedRow(scores)
            row.sort_to_depth(min(depth, count))
            assert min(depth, count) <= row.depth <= row.count == count
            assert row.ids.tolist() == order[: row.depth]
            assert [row.rank(token_id) for token_id in some] == [order.index(i) + 1 for i in some]
            if row.depth and not row.complete:
                last = scores[row.ids[-1]]
                assert np.count_nonzero(scores >= last) == row.depth, "a tie of the last is missing"
        shifts = scores[scores > -np.inf].astype(np.float64) - scores.max()
        weights = np.exp(shifts)
        assert row.total == pytest.approx(weights.sum(), rel=1e-13)
        held = weights > 0
        product = (weights[held] * shifts[held]).sum()
        assert row.weighted_shift == pytest.approx(product, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    "stage", [Banned([[0], [0], [3], [70]]), LogitBias({70: -1000.0}), Temperature(0.5)], ids=repr
)
def test_stage_reports_how_many_tokens_it_leaves(stage):
    for scores in rows(300):
        if scores.max() > 1e30:
            continue  # divided by a small temperature, it would be infinite
        (result,) = shape(scores, SamplingSettings(chain=[stage])).stages
        after = result.after.scores
        assert result.survivors == np.count_nonzero(after > -np.inf)
        assert result.after.row.highest == after.max()


# --- rows that differ in a few scores -------------------------------------------------------------


def edits(scores: np.ndarray) -> list[dict[int, float]]:
    """New scores for some tokens: single tokens, the best and the worst, all, or none left."""
    rng = np.random.default_rng(scores.size)
    best, worst = int(scores.argmax()), int(scores.argmin())
    some = rng.integers(0, scores.size, 20).tolist()
    return [
        {some[0]: -np.inf},
        dict.fromkeys(some, -np.inf),
        {each: float(scores[each]) - 1 for each in some},
        {worst: float(scores[best]) + 1},
        {worst: float(scores[best])},
        {best: -np.inf},
        {best: float(scores[best]) - 0.5},
        {best: float(scores[worst]), worst: -np.inf},
        {some[0]: float(scores[some[0]])},
    ]


@pytest.mark.parametrize("vocab", [5, 300, 3_000])
def test_edited_row_equals_a_fresh_row(vocab):
    compared = 0
    for scores in rows(vocab):
        before = RankedRow(scores)
        for edit in edits(scores):
            ids = np.array(sorted(edit))
            changed = scores.copy()
            changed[ids] = np.array([edit[each] for each in ids.tolist()], np.float32)
            if changed.max() == -np.inf:
                with pytest.raises(NoCandidatesError):
                    before.edited(changed, ids)
                continue
            row, fresh = before.edited(changed, ids), RankedRow(changed)
            assert (row.highest, row.count) == (fresh.highest, fresh.count)
            assert row.total == pytest.approx(fresh.total, rel=1e-12)
            assert row.weighted_shift == pytest.approx(fresh.weighted_shift, rel=1e-10, abs=0)
            assert np.array_equal(row.edited_from(before), ids)
            assert fresh.edited_from(before) is None
            compared += 1
    assert compared > 50


def test_edit_keeps_precision_of_a_tiny_entropy():
    scores = np.full(300, -40, np.float32)
    scores[[3, 7]] = 10, 2
    before = RankedRow(scores)
    assert before.entropy_bits > 1e-3
    changed = scores.copy()
    changed[7] = -np.inf
    row, fresh = before.edited(changed, np.array([7])), RankedRow(changed)
    assert 0 < fresh.entropy_bits < 1e-15
    assert row.entropy_bits == pytest.approx(fresh.entropy_bits, rel=1e-10, abs=0)


def test_edit_to_nan_or_infinity_is_refused():
    before = RankedRow(np.arange(9, dtype=np.float32))
    for wrong in (np.nan, np.inf):
        scores = before.scores.copy()
        scores[3] = wrong
        with pytest.raises(LogitsError):
            before.edited(scores, np.array([3]))


def test_token_named_twice_is_counted_once():
    scores = np.arange(9, dtype=np.float32)
    context = Context(np.array([4, 4, 8, 4]))
    chain = [RepetitionPenalty(2.0), Banned([[5], [5], [6]])]
    distribution = shape(scores, SamplingSettings(chain=chain), context)
    penalty, ban = distribution.stages
    assert ban.survivors == 7
    left = np.array([0, 1, 2, 3, 2, -np.inf, -np.inf, 7, 4])
    assert np.array_equal(distribution.final_scores, left)
    before = np.exp(np.array([0, 1, 2, 3, 2, 5, 6, 7, 4.0]))
    assert ban.mass_removed == pytest.approx(before[5:7].sum() / before.sum(), rel=1e-12)
    probs = np.where(left > -np.inf, np.exp(left), 0)
    assert distribution.probs == pytest.approx(probs / probs.sum(), rel=1e-12)
    assert penalty.moved_ids == [8, 4] and ban.moved_ids == [6, 5]
