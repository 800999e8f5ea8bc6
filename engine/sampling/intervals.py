"""Ranks and sums of a large row without sorting it.

A flat row's nucleus may contain half of the vocabulary. Sorting all of that for one cut or one draw
takes ten times as long as counting it. A count finds the number of tokens, and their weight, in
each narrow interval of scores. Then only the interval that contains the answer is sorted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.sampling.exponentials import fill_exponentials

_COUNT = 2**16  # of intervals


class Place(NamedTuple):
    """One rank of a row, with its token, its weight and the sum of weights up to it.

    Attributes:
        rank: counted from 0.
        token_id: the token there.
        weight: exp(its score - highest score of the row).
        reached: sum of the weights up to and including this rank.
    """

    rank: int
    token_id: int
    weight: float
    reached: float


def sort_keys(scores: np.ndarray) -> np.ndarray:
    """Return sort keys, smaller for higher scores, equal exactly for equal ones: (n,) uint32."""
    bits = (scores + np.float32(0)).view(np.int32)  # + 0 turns -0.0 into 0.0
    turned = bits >> 31  # all ones if negative: those bits stay unchanged
    np.invert(turned, out=turned)
    turned &= 0x7FFF_FFFF
    bits ^= turned
    return bits.view(np.uint32)


class Intervals:
    """A row counted by the upper half of its sort keys: 65,536 intervals in rank order.

    An interval's width is about 1/128 of its scores, so a few hundred tokens of 152k share one.
    """

    def __init__(self, scores: np.ndarray, highest: float) -> None:
        """Count a row, given its scores and the highest one."""
        self._scores = scores
        self._highest = highest
        self._of_token = (sort_keys(scores) >> 16).astype(np.uint16)
        counts = np.bincount(self._of_token, minlength=_COUNT)
        all_weights = scores.astype(np.float64)
        all_weights -= highest
        fill_exponentials(all_weights, all_weights)
        weights = np.bincount(self._of_token, weights=all_weights, minlength=_COUNT)
        self._ranks = np.cumsum(counts)  # up to the end of each interval
        self._reached = np.cumsum(weights)

    def reach(self, weight_sum: float, side: str) -> Place:
        """Return the first rank whose running sum of weights reaches a sum, else the last rank.

        Args:
            weight_sum: the sum, above 0 for ``left``.
            side: ``left`` for a running sum of at least that, ``right`` for one above it.
        """
        interval = int(np.searchsorted(self._reached, weight_sum, side=side))
        last = int(np.searchsorted(self._reached, self._reached[-1], side="left"))  # with a weight
        members = self._members(min(interval, last))
        place = int(np.searchsorted(members.reached, weight_sum, side=side))
        # At most the last one: sums of the same weights in a different order round differently.
        return members.at(min(place, members.token_ids.size - 1))

    def at(self, rank: int) -> Place:
        """Return the `Place` at a rank, counted from 0."""
        members = self._members(int(np.searchsorted(self._ranks, rank, side="right")))
        return members.at(rank - members.first)

    def _members(self, interval: int) -> _Members:
        token_ids = np.flatnonzero(self._of_token == interval)
        token_ids = token_ids[np.argsort(-self._scores[token_ids], kind="stable")]
        weights = self._weights(self._scores[token_ids])
        before = self._reached[interval - 1] if interval else 0.0
        first = int(self._ranks[interval]) - token_ids.size
        return _Members(first, token_ids, weights, before + np.cumsum(weights))

    def _weights(self, scores: np.ndarray) -> np.ndarray:
        return np.exp(scores.astype(np.float64) - self._highest)


class _Members(NamedTuple):
    """The tokens of one interval in rank order; `first` is the rank of the first one."""

    first: int
    token_ids: np.ndarray
    weights: np.ndarray
    reached: np.ndarray

    def at(self, place: int) -> Place:
        weight, reached = float(self.weights[place]), float(self.reached[place])
        return Place(self.first + place, int(self.token_ids[place]), weight, reached)
