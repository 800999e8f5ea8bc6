"""Rank space: one row of scores, sorted only as deep as somebody asks.

Every truncation rule in use keeps a run of neighbours in rank order (top-k, top-p, min-p and most
others keep a prefix; typical sampling a window; XTC drops a prefix). So the stages share one
`RankedRow`, which makes the softmax weights once and sorts a few hundred leading tokens, and hand
on `Survivors`: the row plus the first and last rank that are left. Nothing is approximated:
where the leading tokens do not decide a cut, the row is sorted deeper, if need be to the end.

Ties are ordered by token id, lower first. Sums run in float64 from the highest rank down.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cached_property

import numpy as np

from engine.errors import LogitsError, NoCandidatesError

# How many leading tokens are sorted at first, and at the second attempt; then the whole row. A full
# sort of 152k entries costs about as much as ten of the first.
_DEPTHS = (256, 4096)
# From this size on a threshold is guessed from a sample, which is cheaper than a selection.
_LARGE = 32_768
_STRIDE = 16
# Up to here a stable sort of the scores is faster than a sort of integers.
_SMALL = 1024
_LN2 = math.log(2.0)
# Share of the row's mass from which on a difference of sums keeps enough digits.
_ENOUGH = 1e-3


class RankedRow:
    """Scores of the whole vocabulary with their ranking.

    Attributes:
        scores: (vocab,) float32 logits as they stand; removed tokens are at -inf. Never modified.
        ids: (depth,) token ids in rank order, as far as sorted.
        values: (depth,) float64 scores of those tokens.
        weights: (depth,) float64 exp(score - highest score) of those tokens.
        cumulative: (depth,) float64 running sum of `weights`.
        highest: the highest score.
        count: number of tokens not removed (scores above -inf).
    """

    def __init__(self, scores: np.ndarray, *, highest: float | None = None) -> None:
        """`highest` saves a pass over the row where the caller knows it."""
        self.scores = scores
        self.highest = float(scores.max()) if highest is None else highest
        if not math.isfinite(self.highest):
            self._refuse()
        self.count = int(np.count_nonzero(scores > -np.inf))
        self.ids = np.empty(0, np.int64)
        self.values = self.weights = self.cumulative = np.empty(0)

    def _refuse(self) -> None:
        if self.highest == -np.inf:
            raise NoCandidatesError(
                "Every token was removed before the draw; loosen or switch off a ban, a bias or a "
                "constraint."
            )
        nans = int(np.isnan(self.scores).sum())
        infinite = int(np.isposinf(self.scores).sum())
        raise LogitsError(
            f"The model returned {nans:,} NaN and {infinite:,} infinite logits among "
            f"{self.scores.size:,}, so there is nothing to draw from; load it in another dtype "
            "(float32 instead of float16) or check its weights."
        )

    @cached_property
    def all_weights(self) -> np.ndarray:
        """(vocab,) float64 exp(score - highest score)."""
        # In float64, as `weights` are: else the two would disagree on a cut close to 1.
        return np.exp(self._shifted)

    @cached_property
    def _shifted(self) -> np.ndarray:
        return np.subtract(self.scores, self.highest, dtype=np.float64)

    @cached_property
    def total(self) -> float:
        """Sum of all weights: the softmax denominator relative to the highest score."""
        return float(self.all_weights.sum())

    @cached_property
    def weighted_shift(self) -> float:
        """Sum of weight times (score - highest score): what an entropy is made from."""
        shifted = self._shifted
        if self.count < self.scores.size:
            shifted = np.where(np.isneginf(shifted), 0.0, shifted)  # 0 log 0 counts as 0
        # Not np.dot: its threads would compete with PyTorch's, and lose milliseconds.
        return float(np.einsum("i,i->", self.all_weights, shifted))

    @cached_property
    def entropy_bits(self) -> float:
        """Shannon entropy of softmax(scores), in bits."""
        mean = self.weighted_shift / self.total
        return max(0.0, (math.log(self.total) - mean) / _LN2)

    @cached_property
    def deviation(self) -> float:
        """Population standard deviation of the scores above -inf."""
        shifted = self._shifted
        return _deviation(shifted if self.count == shifted.size else shifted[shifted > -np.inf])

    def logprob(self, token_id: int) -> float:
        """Natural logarithm of softmax(scores) at one token."""
        return float(self.scores[token_id]) - self.highest - math.log(self.total)

    def rank(self, token_id: int) -> int:
        """1 for the highest score; ties count the lower id first."""
        score = self.scores[token_id]
        above = int(np.count_nonzero(self.scores > score))
        return 1 + above + int(np.count_nonzero(self.scores[:token_id] == score))

    @property
    def depth(self) -> int:
        """How many ranks are sorted so far."""
        return self.ids.size

    @property
    def complete(self) -> bool:
        """Whether every remaining token is sorted."""
        return self.depth == self.count

    def sort_to_depth(self, depth: int) -> None:
        """Sort at least the leading `depth` tokens, together with all ties of the last."""
        if depth <= self.depth or self.complete:
            return
        for step in _DEPTHS:
            if depth <= step < self.count // 4:
                self._sort(self._leading(step))
                return
        self._sort(None)

    def _leading(self, depth: int) -> np.ndarray:
        """Ids, ascending, of at least the leading `depth` tokens and all ties of the last."""
        if self.scores.size >= _LARGE:
            sample = self.scores[::_STRIDE]
            guess = depth // _STRIDE + 2 * math.isqrt(depth // _STRIDE) + 8  # seldom too few
            token_ids = np.flatnonzero(self.scores >= np.partition(sample, -guess)[-guess])
            if depth <= token_ids.size < 4 * depth:
                return token_ids
        return np.flatnonzero(self.scores >= np.partition(self.scores, -depth)[-depth])

    def sort_to_weight(self, weight: float) -> None:
        """Sort until every token whose weight reaches `weight` is included."""
        while not self.complete and (self.depth == 0 or self.weights[-1] >= weight):
            self.sort_to_depth(self.depth + 1)

    def sort_to_value(self, value: float) -> None:
        """Sort until every token whose score reaches `value` is included."""
        while not self.complete and (self.depth == 0 or self.values[-1] >= value):
            self.sort_to_depth(self.depth + 1)

    def sort_to_mass(self, weight_sum: float) -> None:
        """Sort until the cumulative weight reaches `weight_sum`, or to the end."""
        depth = 1
        while not self.complete and (self.depth == 0 or self.cumulative[-1] < weight_sum):
            self.sort_to_depth(depth)
            # Every further token weighs at most what the last one does.
            missing = (weight_sum - self.cumulative[-1]) / max(self.weights[-1], 1e-300)
            depth = self.depth + max(1, int(min(missing, self.count)))

    def _sort(self, token_ids: np.ndarray | None) -> None:
        """Rank these tokens (ids ascending), which must be the leading ones; None for all."""
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


def _deviation(scores: np.ndarray) -> float:
    centred = scores - scores.mean()
    return math.sqrt(float(np.einsum("i,i->", centred, centred)) / scores.size)


def _rank_many(scores: np.ndarray, token_ids: np.ndarray | None) -> np.ndarray:
    """Token ids by descending score, ties by ascending id, in a single sort of integers.

    The score's bits, turned so that a higher score is a smaller number, stand above the token id,
    which settles ties.
    """
    bits = (scores + np.float32(0)).view(np.int32)  # + 0 turns -0.0 into 0.0
    bits ^= (bits >> 31) & 0x7FFF_FFFF  # now ascending as the scores do
    keys = (~bits).astype(np.int64)
    keys <<= 32
    keys |= np.arange(scores.size) if token_ids is None else token_ids
    keys.sort()
    keys &= 0xFFFF_FFFF
    return keys


class Survivors:
    """The tokens that are left: ranks `start` to `stop` (exclusive, counted from 0) of a row.

    `start` is 0 and `stop` is `row.count` until a stage cuts. The row may not be sorted that deep;
    the methods sort it as far as they need.
    """

    __slots__ = ("_mass", "row", "start", "stop")

    def __init__(self, row: RankedRow, start: int = 0, stop: int | None = None) -> None:
        self.row = row
        self.start = start
        self.stop = row.count if stop is None else stop
        self._mass: float | None = None

    @property
    def count(self) -> int:
        """Number of tokens left."""
        return self.stop - self.start

    @property
    def is_cut(self) -> bool:
        """Whether any token of the row has been cut."""
        return self.count < self.row.count

    @property
    def mass(self) -> float:
        """Sum of the survivors' weights (relative to the row's highest score)."""
        if self._mass is None:
            self._mass = self._sum() if self.is_cut else self.row.total
        return self._mass

    @property
    def _lacks_only_leading(self) -> bool:
        """Whether all that was cut is the ranks before `start`, and enough is left to subtract.

        Then the tail need not be sorted: sums over it are those of the row less the few cut.
        """
        row = self.row
        if not self.start or self.stop < row.count:
            return False
        return row.total - float(row.cumulative[self.start - 1]) > _ENOUGH * row.total

    @property
    def _is_window(self) -> bool:
        """Whether the sums of the row say too little about what is left."""
        return self.start > 0 and not self._lacks_only_leading

    def _sum(self) -> float:
        row = self.row
        if self._lacks_only_leading:
            return row.total - float(row.cumulative[self.start - 1])
        if self._is_window:  # no difference of running sums, in which small weights would drown
            return float(self.weights.sum())
        row.sort_to_depth(self.stop)
        return float(row.cumulative[self.stop - 1])

    @property
    def scores(self) -> np.ndarray:
        """(vocab,) float32 scores with everything cut at -inf; shared, not to be modified."""
        row = self.row
        if not self.is_cut:
            return row.scores
        if self._lacks_only_leading:
            cut = row.scores.copy()
            cut[row.ids[: self.start]] = -np.inf
            return cut
        cut = np.full_like(row.scores, -np.inf)
        kept = self.ids
        cut[kept] = row.scores[kept]
        return cut

    @property
    def ids(self) -> np.ndarray:
        """(count,) token ids in rank order."""
        self.row.sort_to_depth(self.stop)
        return self.row.ids[self.start : self.stop]

    @property
    def values(self) -> np.ndarray:
        """(count,) float64 scores in rank order."""
        self.row.sort_to_depth(self.stop)
        return self.row.values[self.start : self.stop]

    @property
    def weights(self) -> np.ndarray:
        """(count,) float64 weights in rank order."""
        self.row.sort_to_depth(self.stop)
        return self.row.weights[self.start : self.stop]

    @property
    def leader_score(self) -> float:
        """The highest score left."""
        self.row.sort_to_depth(self.start + 1)
        return float(self.row.values[self.start])

    @property
    def leader_prob(self) -> float:
        """The highest probability among the survivors."""
        self.row.sort_to_depth(self.start + 1)
        return float(self.row.weights[self.start]) / self.mass

    @property
    def probs(self) -> np.ndarray:
        """(vocab,) float64 distribution over the survivors, 0 for all others."""
        row = self.row
        if self.is_cut and not self._lacks_only_leading:
            probs = np.zeros(row.scores.size)
            weights = self.weights
            probs[self.ids] = weights / weights.sum()
            return probs
        weights = np.exp(row.scores.astype(np.float64) - row.highest)
        weights[row.ids[: self.start]] = 0.0
        return weights / weights.sum()

    @property
    def entropy(self) -> float:
        """Shannon entropy of the distribution over the survivors, in nats."""
        row, start = self.row, self.start
        if not self.is_cut:
            return row.entropy_bits * _LN2
        if self._lacks_only_leading:
            cut = row.weights[:start] * (row.values[:start] - row.highest)
            shift = row.weighted_shift - float(cut.sum())
        else:
            shift = float((self.weights * (self.values - row.highest)).sum())
        return max(0.0, math.log(self.mass) - shift / self.mass)

    @property
    def entropy_bits(self) -> float:
        """Shannon entropy of the distribution over the survivors, in bits."""
        return self.entropy / _LN2 if self.is_cut else self.row.entropy_bits

    @property
    def deviation(self) -> float:
        """Population standard deviation of the survivors' scores."""
        return _deviation(self.values) if self.is_cut else self.row.deviation

    def __contains__(self, token_id: int) -> bool:
        """Whether a token is left."""
        row = self.row
        if self.is_cut and not self._lacks_only_leading:
            return bool(np.any(self.ids == token_id))
        return row.scores[token_id] > -np.inf and not np.any(row.ids[: self.start] == token_id)

    def logprob(self, token_id: int) -> float:
        """Natural logarithm of a token's probability among the survivors, -inf for all others."""
        if token_id not in self:
            return -math.inf
        return float(self.row.scores[token_id]) - self.row.highest - math.log(self.mass)

    def ahead_of(self, later: Survivors) -> int:
        """How many of these rank above the first of `later`, which a cut has left of them."""
        if later.row is self.row:
            return later.start - self.start
        later.row.sort_to_depth(later.start + 1)
        return self.row.rank(int(later.row.ids[later.start])) - 1 - self.start

    def between(self, start: int, stop: int) -> Survivors:
        """Keep the ranks of the row from `start` to before `stop`, as far as they survive."""
        return Survivors(self.row, max(self.start, start), min(self.stop, stop))

    def upto(self, stop: int) -> Survivors:
        """Keep the ranks before `stop`, at least one."""
        return self.between(self.start, max(self.start + 1, stop))

    def leading(self, count: int, *, with_ties: bool) -> Survivors:
        """Keep the `count` best; `with_ties` also keeps every token equal to the last of them."""
        if count >= self.count:
            return self
        last = self.start + count
        self.row.sort_to_depth(last)
        if with_ties:
            # Sorted descending: everything after the last equal score is out.
            last = int(np.searchsorted(-self.row.values, -self.row.values[last - 1], side="right"))
        return self.upto(last)

    def reaching_mass(self, fraction: float) -> Survivors:
        """Keep the smallest set of leading tokens holding `fraction` of the survivors' mass."""
        if self._is_window:
            held = np.cumsum(self.weights)
            reached = int(np.searchsorted(held, fraction * held[-1], side="left"))
            return self.upto(self.start + reached + 1)
        before = float(self.row.cumulative[self.start - 1]) if self.start else 0.0
        target = before + fraction * self.mass
        self.row.sort_to_mass(target)
        reached = int(np.searchsorted(self.row.cumulative, target, side="left"))
        return self.upto(reached + 1)

    def above_ratio(self, ratio: float) -> Survivors:
        """Keep the tokens whose probability is at least `ratio` times the highest one's."""
        self.row.sort_to_depth(self.start + 1)
        return self._above_weight(ratio * float(self.row.weights[self.start]))

    def above_prob(self, prob: float) -> Survivors:
        """Keep the tokens of at least this probability; without any, the most likely one."""
        self.row.sort_to_depth(self.start + 1)
        return self._above_weight(prob * self.mass)

    def _above_weight(self, weight: float) -> Survivors:
        self.row.sort_to_weight(weight)
        return self.upto(int(np.searchsorted(-self.row.weights, -weight, side="right")))

    def above_score(self, score: float) -> Survivors:
        """Keep the tokens whose score is at least this; without any, the most likely one."""
        self.row.sort_to_value(score)
        return self.upto(int(np.searchsorted(-self.row.values, -score, side="right")))

    def around_entropy(self, fraction: float) -> Survivors:
        """Keep the tokens whose surprise is nearest to the entropy, until they hold `fraction`.

        Surprise, -log p, rises along the ranks; its distance to the entropy therefore falls and
        then rises, and what lies within any distance is a run of ranks. The smallest distance
        within which `fraction` of the mass lies decides; all tokens at that distance stay.
        """
        row = self.row
        row.sort_to_weight(math.exp(math.log(self.mass) - self.entropy))  # one at the entropy
        while True:
            run = self._run_around_entropy(fraction * self.mass)
            if run is not None:
                return run
            if min(self.stop, row.count) <= row.depth:
                return self  # the sum of all misses the mass by rounding
            row.sort_to_depth(row.depth + 1)

    def _run_around_entropy(self, mass: float) -> Survivors | None:
        """The run of `around_entropy` among the ranks sorted so far, None if deeper ones count."""
        row, stop = self.row, min(self.stop, self.row.depth)
        surprise = math.log(self.mass) + row.highest - row.values[self.start : stop]
        distance = surprise - self.entropy  # ascending
        centre = int(np.searchsorted(distance, 0.0))
        sides = -distance[:centre][::-1], distance[centre:]  # each ascending, from the centre
        held = np.concatenate(([0.0], np.cumsum(row.weights[self.start : stop])))

        def run(reach: float) -> tuple[int, int]:
            left, right = (int(np.searchsorted(side, reach, side="right")) for side in sides)
            return centre - left, centre + right

        def suffices(reach: float) -> bool:
            first, last = run(reach)
            return held[last] - held[first] >= mass

        reach = math.inf
        for side in sides:
            place = bisect_left(side, True, key=suffices)
            reach = min(reach, side[place]) if place < side.size else reach
        # Tokens not sorted yet are farther away than the last one that is.
        if reach == math.inf or (stop < self.stop and reach >= distance[-1]):
            return None
        first, last = run(reach)
        return self.between(self.start + first, self.start + last)

    def rank_at(self, u: float) -> int:
        """Rank (from 0, within the row) at which the cumulative probability first exceeds `u`."""
        if self._is_window:
            held = np.cumsum(self.weights)
            place = int(np.searchsorted(held, u * held[-1], side="right"))
            return self.start + min(place, self.count - 1)
        before = float(self.row.cumulative[self.start - 1]) if self.start else 0.0
        target = before + u * self.mass
        self.row.sort_to_mass(target)
        rank = int(np.searchsorted(self.row.cumulative, target, side="right"))
        return max(self.start, min(rank, self.stop - 1))
