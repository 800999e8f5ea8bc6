"""Fit of a model on a card: weights, a batch's caches and a reserve against the card's memory.

Everything here is computed; nothing is measured. A real card also needs room for activations and
for the program, which the reserve allows for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.cache_formula import IDEAL, CacheFormula, Layout
from engine.calculator.cards import Card
from engine.calculator.storages import WeightStorage
from engine.calculator.weights import Weights
from engine.checks import at_least_one
from engine.errors import SettingError, msg

FARTHEST = 2**30  # positions at which the search for the largest context ends


@dataclass(frozen=True)
class Fit:
    """A model on a card: what fits, and how fast decoding can be at most.

    Args:
        formula: formula of the model's cache.
        weights: parameters of the model.
        storage: storage of the parameters.
        card: memory and bandwidth.
        reserve: share of the memory that is left for activations and the program, 0 to below 1.
        layout: how memory for caches is set aside.

    Raises:
        SettingError: a card without memory or bandwidth, a reserve outside its range.
    """

    formula: CacheFormula
    weights: Weights
    storage: WeightStorage
    card: Card
    reserve: float
    layout: Layout

    def __post_init__(self) -> None:
        for setting, value in (
            (msg("memory of the card"), self.card.gigabytes),
            (msg("bandwidth of the card"), self.card.bandwidth),
        ):
            if not 0 < value < math.inf:
                raise SettingError(
                    setting, value, "must be above 0", "type the manufacturer's figure"
                )
        if not 0 <= self.reserve < 1:
            remedy = msg("use 0.1 to leave a tenth of the memory")
            raise SettingError("reserve", self.reserve, "must be from 0 to below 1", remedy)

    @property
    def memory(self) -> int:
        """Bytes available for weights and caches."""
        return int(self.card.gigabytes * 1e9 * (1 - self.reserve))

    @property
    def weight_bytes(self) -> int:
        """Bytes of all weights."""
        return self.weights.bytes(self.storage)

    @property
    def cache_memory(self) -> int:
        """Bytes left for caches; below 0 if the weights alone do not fit."""
        return self.memory - self.weight_bytes

    def cache_bytes(self, batch: int, positions: int) -> int:
        """Return the bytes set aside for the caches of `batch` texts of `positions` positions."""
        batch = at_least_one("batch", batch)
        return self.formula.bytes_at(at_least_one("context", positions), self.layout, batch)

    def fits(self, batch: int, positions: int) -> bool:
        """Return whether weights and caches fit together."""
        return self.cache_bytes(batch, positions) <= self.cache_memory

    def largest_batch(self, positions: int) -> int:
        """Return how many texts of `positions` positions fit; 0 if none does."""
        one = self.cache_bytes(1, positions)
        return max(0, self.cache_memory // one) if one else 0

    def largest_context(self, batch: int) -> int | None:
        """Return the maximum number of positions at which `batch` texts fit.

        0 if not even one position fits; None if the caches still fit at `FARTHEST` positions.
        """
        if not self.fits(batch, 1):
            return 0
        if self.fits(batch, FARTHEST):
            return None
        low, high = 1, FARTHEST
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.fits(batch, middle) else (low, middle)
        return low

    def bytes_read(self, batch: int, positions: int) -> int:
        """Return the bytes that a decode step reads: the weights once, and every text's cache."""
        caches = self.formula.bytes_at(positions, IDEAL, at_least_one("batch", batch))
        return self.weights.bytes_read(self.storage, batch) + caches

    def tokens_per_second(self, batch: int, positions: int) -> float:
        """Return an upper bound on the tokens per second of all texts: bandwidth / bytes per token.

        Decoding reads every weight and every cached position at each step, and memory delivers no
        more bytes per second than its bandwidth. Arithmetic, and everything else that takes time,
        is left out, so this is a bound, not a forecast.

        Pope et al. 2022, Efficiently Scaling Transformer Inference, arXiv:2211.05102.
        """
        return batch * self.card.bandwidth * 1e9 / self.bytes_read(batch, positions)
