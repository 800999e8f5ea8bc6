"""The tokens left in a row: a contiguous run of ranks.

Every truncation rule in use keeps a contiguous run of ranks. Top-k, top-p, min-p and most others
keep a prefix, typical sampling keeps a window, and XTC drops a prefix. So a stage passes on the row
with the first and the last surviving rank.
"""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np

from engine.sampling.exponentials import fill_exponentials
from engine.sampling.intervals import Place
from engine.sampling.ranking import ENOUGH, RankedRow, deviation

_LN2 = math.log(2.0)


class Survivors:
    """The tokens left in a row: ranks `start` to `stop` (exclusive, counted from 0).

    `start` is 0 and `stop` is `row.count` until a stage cuts. The row is sorted to `start`, but
    perhaps not to `stop`. The methods sort it as far as they need.
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
        """Return whether any token of the row has been removed."""
        return self.count < self.row.count

    @property
    def mass(self) -> float:
        """Sum of the survivors' weights (relative to the row's highest score)."""
        if self._mass is None:
            self._mass = self._sum() if self.is_cut else self.row.total
        return self._mass

    @property
    def _lacks_only_leading(self) -> bool:
        """Return whether only the ranks before `start` were cut, and enough mass remains.

        Then the tail need not be sorted: its sums are those of the row minus the few removed.
        """
        row = self.row
        if not self.start or self.stop < row.count:
            return False
        return row.total - float(row.cumulative[self.start - 1]) > ENOUGH * row.total

    @property
    def _is_window(self) -> bool:
        """Return whether the row's sums are too imprecise for the survivors."""
        return self.start > 0 and not self._lacks_only_leading

    def _sum(self) -> float:
        row = self.row
        if not self.count:
            return 0.0
        if self._lacks_only_leading:
            return row.total - float(row.cumulative[self.start - 1])
        if self._is_window:  # a difference of running sums would lose small weights
            return float(self.weights.sum())
        return row.at(self.stop - 1).reached

    @property
    def scores(self) -> np.ndarray:
        """Scores with removed tokens at -inf; shared, not to be modified: (vocab,) float32."""
        row = self.row
        if not self.is_cut:
            return row.scores
        if self._lacks_only_leading:
            cut = row.scores.copy()
            cut[row.ids[: self.start]] = -np.inf
            return cut
        cut = np.full_like(row.scores, -np.inf)
        kept = self._any_order
        cut[kept] = row.scores[kept]
        return cut

    @property
    def _any_order(self) -> np.ndarray:
        """Token ids, in rank order or not, whichever costs less: (count,)."""
        if self.start:
            return self.ids
        return self.row.leading_ids(self.stop)

    @property
    def ids(self) -> np.ndarray:
        """Token ids in rank order: (count,)."""
        self.row.sort_to_depth(self.stop)
        return self.row.ids[self.start : self.stop]

    @property
    def values(self) -> np.ndarray:
        """Scores in rank order: (count,) float64."""
        self.row.sort_to_depth(self.stop)
        return self.row.values[self.start : self.stop]

    @property
    def weights(self) -> np.ndarray:
        """Weights in rank order: (count,) float64."""
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
        """Distribution over the survivors, 0 for all others: (vocab,) float64."""
        row = self.row
        if self.is_cut and not self._lacks_only_leading:
            probs = np.zeros(row.scores.size)
            kept = self._any_order
            weights = np.exp(row.scores[kept].astype(np.float64) - row.highest)
            probs[kept] = weights / weights.sum()
            return probs
        weights = row.scores.astype(np.float64)
        weights -= row.highest
        fill_exponentials(weights, weights)
        weights[row.ids[: self.start]] = 0.0
        return weights / weights.sum()

    @property
    def entropy(self) -> float:
        """Shannon entropy of the distribution over the survivors, in nats."""
        row, start = self.row, self.start
        if not self.is_cut:
            return row.entropy_bits * _LN2
        if not self.count:
            return 0.0
        if self._lacks_only_leading:
            cut = row.weights[:start] * (row.values[:start] - row.highest)
            shift = row.weighted_shift - float(cut.sum())
        else:
            shifts = row.scores[self._any_order].astype(np.float64) - row.highest
            shift = float((np.exp(shifts) * shifts).sum())
        return max(0.0, math.log(self.mass) - shift / self.mass)

    @property
    def entropy_bits(self) -> float:
        """Shannon entropy of the distribution over the survivors, in bits."""
        return self.entropy / _LN2 if self.is_cut else self.row.entropy_bits

    @property
    def deviation(self) -> float:
        """Population standard deviation of the survivors' scores."""
        if not self.is_cut:
            return self.row.deviation
        return deviation(self.row.scores[self._any_order].astype(np.float64))

    def __contains__(self, token_id: int) -> bool:
        """Return whether a token is left."""
        return bool(self._are_left(np.array([token_id]))[0])

    def _are_left(self, token_ids: np.ndarray) -> np.ndarray:
        """Return which tokens are left, by comparison with the last survivor: (n,) bool."""
        row = self.row
        scores = row.scores[token_ids]
        if not self.count:
            return np.zeros(scores.shape, bool)
        left = scores > -np.inf
        if self.stop < row.count:
            last = row.token_at(self.stop - 1)
            edge = row.scores[last]
            left &= (scores > edge) | ((scores == edge) & (token_ids <= last))
        if self.start:
            left &= ~np.isin(token_ids, row.ids[: self.start])
        return left

    def probs_of(self, token_ids: np.ndarray) -> np.ndarray:
        """Return these tokens' probabilities among the survivors, 0 if removed: (n,) float64."""
        if not self.count:
            return np.zeros(token_ids.shape)
        left = self._are_left(token_ids)
        weights = np.exp(self.row.scores[token_ids].astype(np.float64) - self.row.highest)
        return np.where(left, weights / self.mass, 0.0)

    def logprob(self, token_id: int) -> float:
        """Return the natural logarithm of a survivor's probability; -inf for a removed token."""
        if token_id not in self:
            return -math.inf
        return float(self.row.scores[token_id]) - self.row.highest - math.log(self.mass)

    def ahead_of(self, later: Survivors) -> int:
        """Count the tokens that rank above the first of `later`, the survivors of a later cut."""
        if later.row is self.row:
            return later.start - self.start
        later.row.sort_to_depth(later.start + 1)
        return self.row.rank(int(later.row.ids[later.start])) - 1 - self.start

    def between(self, start: int, stop: int) -> Survivors:
        """Keep the survivors whose rank in the row is at least `start` and below `stop`."""
        self.row.sort_to_depth(start)
        return Survivors(self.row, max(self.start, start), min(self.stop, stop))

    def upto(self, stop: int) -> Survivors:
        """Keep the ranks before `stop`, at least one."""
        return self.between(self.start, max(self.start + 1, stop))

    def leading(self, count: int, *, with_ties: bool) -> Survivors:
        """Keep the `count` best; `with_ties` also keeps every token tied with the last."""
        if count >= self.count:
            return self
        last = self.start + count
        self.row.sort_to_depth(last)
        if with_ties:
            # Sorted descending: everything after the last equal score is out.
            last = int(np.searchsorted(-self.row.values, -self.row.values[last - 1], side="right"))
        return self.upto(last)

    def reaching_mass(self, fraction: float) -> Survivors:
        """Keep the smallest set of leading tokens with `fraction` of the survivors' mass."""
        if self._is_window:
            held = np.cumsum(self.weights)
            reached = int(np.searchsorted(held, fraction * held[-1], side="left"))
            return self.upto(self.start + reached + 1)
        target = self._before + fraction * self.mass
        return self.upto(self.row.reach(target, side="left").rank + 1)

    @property
    def _before(self) -> float:
        """Sum of the weights of the ranks before `start`."""
        return float(self.row.cumulative[self.start - 1]) if self.start else 0.0

    def above_ratio(self, ratio: float) -> Survivors:
        """Keep the tokens whose probability is at least `ratio` times the highest one's."""
        self.row.sort_to_depth(self.start + 1)
        return self._above_weight(ratio * float(self.row.weights[self.start]))

    def above_prob(self, prob: float) -> Survivors:
        """Keep the tokens with at least this probability; without any, the most likely one."""
        self.row.sort_to_depth(self.start + 1)
        return self._above_weight(prob * self.mass)

    def _above_weight(self, weight: float) -> Survivors:
        return self.upto(self.row.count_of_weight(weight, self.stop))

    def above_score(self, score: float) -> Survivors:
        """Keep the tokens with at least this score; without any, the most likely one."""
        return self.upto(self.row.count_of_score(score, self.stop))

    def around_entropy(self, fraction: float) -> Survivors:
        """Keep the tokens with surprisal nearest to the entropy, up to `fraction` of the mass.

        Surprisal, -log p, rises along the ranks. So its distance from the entropy falls and then
        rises, and the tokens within any distance are a run of ranks. The cut is at the smallest
        distance within which `fraction` of the mass lies. All tokens at that distance stay.
        """
        row = self.row
        at_entropy = math.exp(math.log(self.mass) - self.entropy)  # weight of such a token
        row.sort_to_depth(min(self.stop, row.count_of_weight(at_entropy, self.stop) + 1))
        while True:
            run = self._run_around_entropy(fraction * self.mass)
            if run is not None:
                return run
            if min(self.stop, row.count) <= row.depth:
                return self  # the total misses the mass by rounding
            row.sort_to_depth(row.depth + 1)

    def _run_around_entropy(self, mass: float) -> Survivors | None:
        """Return the run of `around_entropy` in the sorted ranks; None if it may reach deeper."""
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
        # Tokens not sorted yet are farther away than the last sorted one.
        if reach == math.inf or (stop < self.stop and reach >= distance[-1]):
            return None
        first, last = run(reach)
        return self.between(self.start + first, self.start + last)

    def place_at(self, u: float) -> Place:
        """Return the place where the cumulative probability first exceeds `u`.

        Its `rank` is the rank in the row, while `reached` sums from the first survivor on.
        """
        if self._is_window:
            weights = self.weights
            held = np.cumsum(weights)
            place = min(int(np.searchsorted(held, u * held[-1], side="right")), self.count - 1)
            token_id, rank = int(self.ids[place]), self.start + place
            return Place(rank, token_id, float(weights[place]), float(held[place]))
        before = self._before
        found = self.row.reach(before + u * self.mass, side="right")
        if not self.start <= found.rank < self.stop:  # by rounding
            found = self.row.at(self.start if found.rank < self.start else self.stop - 1)
        return found._replace(reached=found.reached - before)
