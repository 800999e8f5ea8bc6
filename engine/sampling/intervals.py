"""Ranks and sums of a large row without sorting it.

A flat row's nucleus may hold half of the vocabulary. To sort all of that for one cut or one draw
takes ten times as long as to count it: how many tokens, and how much weight, lie in each narrow
interval of scores. Only the interval that the answer lies in is then sorted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.sampling.exponentials import fill_exponentials

_COUNT = 2**16  # of intervals


class Place(NamedTuple):
    """One rank of a row.

    Attributes:
        rank: counted from 0.
        token_id: the token there.
        weight: exp(its score - highest score of the row).
        reached: sum of the weights up to this rank, its own included.
    """

    rank: int
    token_id: int
    weight: float
    reached: float


def sort_keys(scores: np.ndarray) -> np.ndarray:
    """(n,) uint32, the smaller the higher the score; equal exactly where the scores are equal."""
    bits = (scores + np.float32(0)).view(np.int32)  # + 0 turns -0.0 into 0.0
    turned = bits >> 31  # all ones where negative: those bits stay as they are
    np.invert(turned, out=turned)
    turned &= 0x7FFF_FFFF
    bits ^= turned
    return bits.view(np.uint32)


class Intervals:
    """A row counted by the upper half of its sort keys: scores in rank order, in 65,536 intervals.

    An interval is about 1/128 of its scores wide, so a few hundred tokens of 152k share one.
    """

    def __init__(self, scores: np.ndarray, highest: float) -> None:
        """The row's scores and the highest of them."""
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
        """The first rank whose running sum of weights reaches a sum; the last one if none does.

        Args:
            weight_sum: the sum, above 0 for ``left``.
            side: ``left`` for a running sum of at least that, ``right`` for one above it.
        """
        interval = int(np.searchsorted(self._reached, weight_sum, side=side))
        last = int(np.searchsorted(self._reached, self._reached[-1], side="left"))  # with a weight
        members = self._members(min(interval, last))
        place = int(np.searchsorted(members.reached, weight_sum, side=side))
        # At most the last one: sums of the same weights in another order are rounded otherwise.
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
    """The tokens of one interval in rank order; `first` is the rank of the first of them."""

    first: int
    token_ids: np.ndarray
    weights: np.ndarray
    reached: np.ndarray

    def at(self, place: int) -> Place:
        weight, reached = float(self.weights[place]), float(self.reached[place])
        return Place(self.first + place, int(self.token_ids[place]), weight, reached)
