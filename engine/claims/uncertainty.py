"""Figures with their uncertainty: 95 % intervals, exact or by the bootstrap.

A share of some trials has the interval of Clopper and Pearson (1934), which is exact for any
number of trials. Everything else has a percentile bootstrap (Efron 1979): the groups that were
measured, such as prompts, are drawn again with replacement. What is counted or computed over all
there is, not over a sample, has no uncertainty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

LEVEL = 0.95
RESAMPLES = 2000
SEED = 0  # of the resamples: the same results have the same interval
LEAST = 5  # groups below which a bootstrap says nothing
CLOPPER_PEARSON, BOOTSTRAP, COUNTED = "Clopper-Pearson", "bootstrap", "counted"

Group = TypeVar("Group")


@dataclass(frozen=True)
class Figure:
    """An estimate with its interval.

    Attributes:
        value: the estimate; NaN where there is nothing to estimate it from.
        low, high: its 95 % interval; infinite where there is too little to have one.
        count: trials, or groups that were drawn again.
        method: how the interval was made: `CLOPPER_PEARSON`, `BOOTSTRAP` or `COUNTED`.
    """

    value: float
    low: float
    high: float
    count: int
    method: str


def counted(value: float, count: int) -> Figure:
    """A figure over all there is: it has no uncertainty.

    Args:
        value: the figure.
        count: of how many it is.
    """
    return Figure(value, value, value, count, COUNTED)


def share(flags: Sequence[bool]) -> Figure:
    """The share of trials that came out true."""
    count, hits = len(flags), sum(map(bool, flags))
    if not count:
        return Figure(math.nan, 0.0, 1.0, 0, CLOPPER_PEARSON)
    tail = (1 - LEVEL) / 2
    low = 0.0 if hits == 0 else _root(lambda p: 1 - _at_most(hits - 1, count, p) - tail)
    high = 1.0 if hits == count else _root(lambda p: tail - _at_most(hits, count, p))
    return Figure(hits / count, low, high, count, CLOPPER_PEARSON)


def mean(values: Sequence[float]) -> Figure:
    """The mean of one value for each group, such as a prompt."""
    return bootstrap(list(values), lambda drawn: float(np.mean(drawn)))


def bootstrap(groups: Sequence[Group], statistic: Callable[[list[Group]], float]) -> Figure:
    """A statistic of some groups.

    Args:
        groups: what is drawn again, each as a whole.
        statistic: of a list of groups, in which some may come several times.
    """
    count = len(groups)
    value = statistic(list(groups)) if count else math.nan
    if count < LEAST:
        return Figure(value, -math.inf, math.inf, count, BOOTSTRAP)
    rng = np.random.default_rng(SEED)
    drawn = rng.integers(0, count, (RESAMPLES, count))
    values = [statistic([groups[place] for place in places]) for places in drawn.tolist()]
    edges = 100 * (1 - LEVEL) / 2, 100 * (1 + LEVEL) / 2
    low, high = np.percentile(values, edges)
    return Figure(value, float(low), float(high), count, BOOTSTRAP)


def _at_most(hits: int, count: int, probability: float) -> float:
    """The probability of at most so many hits in `count` trials."""
    terms = (
        math.comb(count, k) * probability**k * (1 - probability) ** (count - k)
        for k in range(hits + 1)
    )
    return math.fsum(terms)


def _root(rising: Callable[[float], float]) -> float:
    """Where a rising function of 0 to 1 is zero, by halving."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2
