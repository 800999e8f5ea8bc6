"""One row of scores, sorted only as deep as needed.

The stages share one `RankedRow`, which computes the softmax weights once and sorts a hundred or so
leading tokens. The tokens left after a cut are `survivors.Survivors`. Nothing is approximated: if
the leading tokens do not decide a cut, the row is sorted deeper, or counted by `intervals`.

Ties are ordered by token id, lower first. All weights and sums are float64.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from engine.errors import LogitsError, NoCandidatesError
from engine.sampling.exponentials import fill_exponentials
from engine.sampling.intervals import Intervals, Place, sort_keys

# Leading tokens sorted at once: the smallest number that suffices, else the whole row. A full sort
# of 152k entries costs about as much as ten of the first two.
_DEPTHS = (16, 128, 4096)
# From this many tokens on, intervals answer sooner than a full sort.
_LARGE = 32_768
# Groups of scores per leading token wanted: each group is represented by its highest score.
_GROUPS = 4
# Number of scores summed at a time, so that the intermediate values stay in the cache.
_BLOCK = 16_384
# The longest product of two rows that BLAS computes on one thread; more threads would compete with
# PyTorch's, and lose milliseconds.
_ONE_THREAD = 8192
# A weight whose score is this far below the highest is 0 in float64.
_NO_WEIGHT = -1e4
# Share of a row's mass that must remain, so that a difference of sums keeps enough digits.
ENOUGH = 1e-3
# Below this a weight has lost digits, so its logarithm is too imprecise.
_SMALLEST = 1e-290
# Up to this size a stable sort of the scores is faster than a sort of integers.
_SMALL = 1024
_LN2 = math.log(2.0)


class RankedRow:
    """Scores of the whole vocabulary with their ranking.

    Attributes:
        scores: (vocab,) float32 current logits; removed tokens are at -inf. Never modified.
        ids: (depth,) token ids in rank order, as far as sorted.
        values: (depth,) float64 scores of those tokens.
        weights: (depth,) float64 exp(score - highest score) of those tokens.
        cumulative: (depth,) float64 running sum of `weights`.
        highest: the highest score.
        count: number of tokens not removed (scores above -inf).
    """

    def __init__(
        self, scores: np.ndarray, *, highest: float | None = None, count: int | None = None
    ) -> None:
        """Rank a row; `highest` and `count`, if the caller knows them, save a pass each."""
        self.scores = scores
        self.highest = float(scores.max()) if highest is None else highest
        if not math.isfinite(self.highest):
            self._refuse()
        self.count = _count(scores) if count is None else count
        self.ids = np.empty(0, np.int64)
        self.values = self.weights = self.cumulative = np.empty(0)
        self._edit: tuple[RankedRow, np.ndarray] | None = None

    def edited(self, scores: np.ndarray, token_ids: np.ndarray) -> RankedRow:
        """Return the row with new scores for some tokens, reusing what stays the same.

        Args:
            scores: (vocab,) float32, those of this row except for these tokens.
            token_ids: (n,) the tokens, ascending, each once.

        Raises:
            NoCandidatesError: no token is left.
            LogitsError: NaN or +inf among the new scores.
        """
        old, new = self.scores[token_ids], scores[token_ids]
        best, highest = float(new.max()), None
        if best >= self.highest:
            highest = best
        elif best < self.highest and old.max() < self.highest:
            highest = self.highest
        left = np.count_nonzero(new > -np.inf) - np.count_nonzero(old > -np.inf)
        row = RankedRow(scores, highest=highest, count=self.count + int(left))
        row._edit = self, token_ids
        return row

    def edited_from(self, row: RankedRow) -> np.ndarray | None:
        """Return the ids of all tokens whose score may differ from `row`'s, ascending: (n,).

        They are known if this row is `row.edited(...)`; otherwise the result is None.
        """
        return self._edit[1] if self._edit and self._edit[0] is row else None

    def _refuse(self) -> None:
        if self.highest == -np.inf:
            raise NoCandidatesError(
                "Every token was removed before the draw; loosen or switch off a ban, a bias or a "
                "constraint."
            )
        nans = int(np.isnan(self.scores).sum())
        infinite = int(np.isposinf(self.scores).sum())
        raise LogitsError(
            "The model returned {nans:,} NaN and {infinite:,} infinite logits among "
            "{size:,}, so there is nothing to draw from; load it in another dtype "
            "(float32 instead of float16) or check its weights.",
            (nans, infinite, self.scores.size),
        )

    @cached_property
    def all_weights(self) -> np.ndarray:
        """Weights exp(score - highest score): (vocab,) float64."""
        # In float64, like `weights`; otherwise the two would disagree on a cut close to 1.
        return np.exp(self._shifted)

    @cached_property
    def _shifted(self) -> np.ndarray:
        return np.subtract(self.scores, self.highest, dtype=np.float64)

    @property
    def total(self) -> float:
        """Sum of all weights: the softmax denominator relative to the highest score."""
        return self._sums[0]

    @property
    def weighted_shift(self) -> float:
        """Sum of weight times (score - highest score), from which an entropy is computed."""
        return self._sums[1]

    @cached_property
    def _sums(self) -> tuple[float, float]:
        """`total` and `weighted_shift`, in float64, from one pass that keeps no array."""
        if self._edit and (sums := self._sums_by_edit(*self._edit)):
            return sums
        total = weighted = 0.0
        shifted, exponentials = np.empty((2, min(_BLOCK, self.scores.size)))
        for start in range(0, self.scores.size, _BLOCK):
            block = self.scores[start : start + _BLOCK]
            shifts, weights = shifted[: block.size], exponentials[: block.size]
            np.copyto(shifts, block)  # conversion and subtraction in one call would take longer
            shifts -= self.highest
            if self.count < self.scores.size:
                np.maximum(shifts, _NO_WEIGHT, out=shifts)  # at -inf, 0 log 0 counts as 0
            fill_exponentials(shifts, weights)
            total += float(weights.sum())
            for first in range(0, block.size, _ONE_THREAD):
                part = slice(first, first + _ONE_THREAD)
                weighted += float(np.dot(weights[part], shifts[part]))
        return total, weighted

    def _sums_by_edit(self, before: RankedRow, token_ids: np.ndarray) -> tuple[float, float] | None:
        """Return `_sums` from those of the row before an edit; None if digits would be lost."""
        if before.highest != self.highest:
            return None
        lost, lost_shift = _sums_of(before.scores[token_ids], self.highest)
        most = 1 - ENOUGH
        if lost > most * before.total or lost_shift < most * before.weighted_shift:
            return None
        new, new_shift = _sums_of(self.scores[token_ids], self.highest)
        return before.total - lost + new, before.weighted_shift - lost_shift + new_shift

    @cached_property
    def entropy_bits(self) -> float:
        """Shannon entropy of softmax(scores), in bits."""
        mean = self.weighted_shift / self.total
        return max(0.0, (math.log(self.total) - mean) / _LN2)

    @cached_property
    def deviation(self) -> float:
        """Population standard deviation of the scores above -inf."""
        shifted = self._shifted
        return deviation(shifted if self.count == shifted.size else shifted[shifted > -np.inf])

    def logprob(self, token_id: int) -> float:
        """Return the natural logarithm of softmax(scores) at one token."""
        return float(self.scores[token_id]) - self.highest - math.log(self.total)

    def rank(self, token_id: int) -> int:
        """Return a token's rank, 1 for the highest score; ties count the lower id first."""
        score = self.scores[token_id]
        if self.depth and score >= self.values[-1]:  # all ties with the last are sorted too
            return 1 + int(np.flatnonzero(self.ids == token_id)[0])
        above = int(np.count_nonzero(self.scores > score))
        ties = np.flatnonzero(self.scores == score)
        return 1 + above + int(np.searchsorted(ties, token_id))

    @property
    def depth(self) -> int:
        """Number of ranks sorted so far."""
        return self.ids.size

    @property
    def complete(self) -> bool:
        """Return whether every remaining token is sorted."""
        return self.depth == self.count

    def sort_to_depth(self, depth: int) -> None:
        """Sort at least the leading `depth` tokens, together with all ties with the last."""
        if depth <= self.depth or self.complete:
            return
        for step in _DEPTHS:
            if depth <= step < self.count // 4:
                self._sort(self._leading(step))
                return
        self._sort(None)

    def _leading(self, depth: int) -> np.ndarray:
        """Return ids, ascending, of at least the leading `depth` tokens and ties with the last."""
        groups = _GROUPS * depth
        length = self.scores.size // groups
        if length > 1:
            # The highest score of each group: `depth` of these reach the threshold, so at least
            # `depth` tokens do, and few more. Cheaper than a selection from the whole row.
            highest = self.scores[: length * groups].reshape(length, groups).max(axis=0)
            threshold = np.partition(highest, -depth)[-depth]
            token_ids = np.flatnonzero(self.scores >= threshold)
            if threshold > -np.inf and token_ids.size < 4 * depth:
                return token_ids
        return np.flatnonzero(self.scores >= np.partition(self.scores, -depth)[-depth])

    # Queries that a large flat row answers without a full sort.

    def at(self, rank: int) -> Place:
        """Return the `Place` at a rank, counted from 0, below `count`."""
        return self._at(rank) if self._is_sorted_to(rank + 1) else self._intervals.at(rank)

    def token_at(self, rank: int) -> int:
        """Return the id of the token at a rank, counted from 0, below `count`."""
        return int(self.ids[rank]) if rank < self.depth else self.at(rank).token_id

    def reach(self, weight_sum: float, *, side: str) -> Place:
        """Return the first rank whose running sum of weights reaches a sum, else the last rank.

        Args:
            weight_sum: the sum.
            side: ``left`` for a running sum of at least that, ``right`` for one above it.
        """
        depth = self.depth or _DEPTHS[1]  # a nucleus often has more tokens than the first has
        while not self.complete:
            if not self._is_sorted_to(depth):
                return self._intervals.reach(weight_sum, side)
            missing = weight_sum - self.cumulative[-1]
            if missing < 0 or (missing == 0 and side == "left"):
                break
            # Every further token weighs at most as much as the last one.
            least = missing / max(self.weights[-1], 1e-300)
            depth = self.depth + max(1, int(min(least, self.count)))
        rank = int(np.searchsorted(self.cumulative, weight_sum, side=side))
        return self._at(min(rank, self.count - 1))

    def count_of_weight(self, weight: float, most: int) -> int:
        """Count the tokens with at least this weight, up to `most`."""
        while self.depth < most and (not self.depth or self.weights[-1] >= weight):
            if not self._is_sorted_to(self.depth + 1):
                return min(most, self._count_of_weight(weight))
        return min(most, int(np.searchsorted(-self.weights, -weight, side="right")))

    def count_of_score(self, score: float, most: int) -> int:
        """Count the tokens with at least this score, up to `most`."""
        while self.depth < most and (not self.depth or self.values[-1] >= score):
            if not self._is_sorted_to(self.depth + 1):
                return min(most, int(np.count_nonzero(self.scores >= _float32_from(score))))
        return min(most, int(np.searchsorted(-self.values, -score, side="right")))

    def leading_ids(self, stop: int) -> np.ndarray:
        """Return the ids of the first `stop` tokens, at least one, in any order: (stop,)."""
        if self._is_sorted_to(stop):
            return self.ids[:stop]
        last = self.token_at(stop - 1)
        score = self.scores[last]
        reaching = np.flatnonzero(self.scores >= score)
        return reaching[(self.scores[reaching] > score) | (reaching <= last)]

    def _is_sorted_to(self, depth: int) -> bool:
        """Sort the leading `depth` tokens unless that is slow; return whether they are sorted."""
        if depth > self.depth and not self.complete:
            if depth > _DEPTHS[-1] and self.count >= _LARGE:
                return False
            self.sort_to_depth(depth)
        return True

    @cached_property
    def _intervals(self) -> Intervals:
        return Intervals(self.scores, self.highest)

    def _at(self, rank: int) -> Place:
        weight, reached = float(self.weights[rank]), float(self.cumulative[rank])
        return Place(rank, int(self.ids[rank]), weight, reached)

    def _count_of_weight(self, weight: float) -> int:
        if weight < _SMALLEST:
            return int(np.count_nonzero(self.all_weights >= weight))
        # Far from the edge the score decides; near it the weight itself has to be computed.
        edge = math.log(weight) + self.highest
        margin = 1e-6 * (1.0 + abs(edge))  # many times the rounding of float32 and logarithm
        with np.errstate(over="ignore"):  # beyond the largest score
            low, high = np.float32(edge - margin), np.float32(edge + margin)
        near = self.scores[(self.scores >= low) & (self.scores <= high)]
        weights = np.exp(near.astype(np.float64) - self.highest)
        return int(np.count_nonzero(self.scores > high) + np.count_nonzero(weights >= weight))

    def _sort(self, token_ids: np.ndarray | None) -> None:
        """Rank these tokens, ids ascending, which must be the leading ones; None for all."""
        if token_ids is None and self.count < self.scores.size:
            token_ids = np.flatnonzero(self.scores > -np.inf)
        scores = self.scores if token_ids is None else self.scores[token_ids]
        if scores.size <= _SMALL:
            order = np.argsort(-scores, kind="stable")  # stable: ties keep the order of ids
            self.ids = order if token_ids is None else token_ids[order]
        else:
            self.ids = _rank_many(scores, token_ids)
        self.values = self.scores[self.ids].astype(np.float64)
        self.weights = np.exp(self.values - self.highest)
        self.cumulative = np.cumsum(self.weights)


def _count(scores: np.ndarray) -> int:
    """Count the scores above -inf."""
    # The minimum is faster to find, and in most rows it settles the count.
    return scores.size if scores.min() > -np.inf else int(np.count_nonzero(scores > -np.inf))


def _sums_of(scores: np.ndarray, highest: float) -> tuple[float, float]:
    """Return the sum of these scores' weights, and that of weight times (score - highest)."""
    shifts = np.maximum(scores.astype(np.float64) - highest, _NO_WEIGHT)
    weights = np.exp(shifts)
    return float(weights.sum()), float((weights * shifts).sum())


def deviation(scores: np.ndarray) -> float:
    """Return the population standard deviation."""
    centred = scores - scores.mean()
    return math.sqrt(float(np.einsum("i,i->", centred, centred)) / scores.size)


def _float32_from(score: float) -> np.float32:
    """Return the lowest float32 number that is at least `score`."""
    with np.errstate(over="ignore"):  # a number below the float32 range becomes -inf
        number = np.float32(score)
    return number if float(number) >= score else np.nextafter(number, np.float32(np.inf))


def _rank_many(scores: np.ndarray, token_ids: np.ndarray | None) -> np.ndarray:
    """Return token ids by descending score, ties by ascending id.

    The sort keys are sorted by their lower and then by their upper half. NumPy's stable sort of
    16-bit numbers is a radix sort, several times as fast as any sort of the scores. It is stable,
    so ties keep the order of ids.
    """
    # The upper half suffices for scores that came from bf16.
    is_short = not np.any(scores.view(np.int32) & 0xFFFF)
    keys = sort_keys(scores)
    upper = (keys >> 16).astype(np.uint16)
    if is_short:
        order = np.argsort(upper, kind="stable")
    else:
        order = np.argsort(keys.astype(np.uint16), kind="stable")
        order = order[np.argsort(upper[order], kind="stable")]
    return order if token_ids is None else token_ids[order]
