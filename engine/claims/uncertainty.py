"""Figures with their uncertainty: 95 % intervals, exact or by the bootstrap.

A share of independent trials has the interval of Clopper and Pearson (1934), which is exact for any
number of trials. Everything else has a percentile bootstrap (Efron 1979), which draws the measured
groups, such as prompts, again with replacement. A figure that is counted or computed over the whole
population, not over a sample, has no uncertainty.
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
LEAST = 5  # groups; with fewer, a bootstrap says nothing
CLOPPER_PEARSON, BOOTSTRAP, COUNTED = "Clopper-Pearson", "bootstrap", "counted"

Group = TypeVar("Group")


@dataclass(frozen=True)
class Figure:
    """An estimate with its interval.

    Attributes:
        value: the estimate; NaN without any data.
        low, high: its 95 % interval; infinite if there is too little data.
        count: number of trials, or of resampled groups.
        method: method of the interval: `CLOPPER_PEARSON`, `BOOTSTRAP` or `COUNTED`.
    """

    value: float
    low: float
    high: float
    count: int
    method: str


def counted(value: float, count: int) -> Figure:
    """Return a figure over the whole population, without uncertainty.

    Args:
        value: the figure.
        count: size of the population.
    """
    return Figure(value, value, value, count, COUNTED)


def share(flags: Sequence[bool]) -> Figure:
    """Return the share of true flags, with its Clopper-Pearson interval."""
    count, hits = len(flags), sum(map(bool, flags))
    if not count:
        return Figure(math.nan, 0.0, 1.0, 0, CLOPPER_PEARSON)
    tail = (1 - LEVEL) / 2
    low = 0.0 if hits == 0 else _root(lambda p: 1 - _at_most(hits - 1, count, p) - tail)
    high = 1.0 if hits == count else _root(lambda p: tail - _at_most(hits, count, p))
    return Figure(hits / count, low, high, count, CLOPPER_PEARSON)


def mean(values: Sequence[float]) -> Figure:
    """Return the mean over groups, such as prompts, each of which has one value."""
    known = np.asarray(values, np.float64)
    value = float(known.mean()) if known.size else math.nan
    return _interval(value, known.size, lambda places: known[places].mean(axis=1))


def ratio(groups: Sequence[tuple[float, float]]) -> Figure:
    """Return the ratio of two sums over groups, such as hits to trials over texts."""
    parts = np.asarray(groups, np.float64).reshape(-1, 2)
    over = parts[:, 1].sum()
    value = float(parts[:, 0].sum() / over) if over else math.nan

    def drawn(places: np.ndarray) -> np.ndarray:
        above, below = parts[places].sum(axis=1).T
        return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)

    return _interval(value, len(parts), drawn)


def bootstrap(groups: Sequence[Group], statistic: Callable[[list[Group]], float]) -> Figure:
    """Return a statistic of groups, with its bootstrap interval.

    Args:
        groups: the groups to resample, each as a whole.
        statistic: a function of a list of groups, some of which may occur several times.
    """
    value = statistic(list(groups)) if groups else math.nan

    def drawn(places: np.ndarray) -> np.ndarray:
        return np.array([statistic([groups[one] for one in row]) for row in places.tolist()])

    return _interval(value, len(groups), drawn)


def _interval(value: float, count: int, drawn: Callable[[np.ndarray], np.ndarray]) -> Figure:
    """Return the figure; `drawn` maps (resamples, count) indices of groups to resampled values."""
    if count < LEAST:
        return Figure(value, -math.inf, math.inf, count, BOOTSTRAP)
    places = np.random.default_rng(SEED).integers(0, count, (RESAMPLES, count))
    values = drawn(places)
    known = values[~np.isnan(values)]
    if not known.size:
        return Figure(value, -math.inf, math.inf, count, BOOTSTRAP)
    low, high = np.percentile(known, (100 * (1 - LEVEL) / 2, 100 * (1 + LEVEL) / 2))
    return Figure(value, float(low), float(high), count, BOOTSTRAP)


def _at_most(hits: int, count: int, probability: float) -> float:
    """Return the probability of at most `hits` hits, fewer than `count`, in `count` trials."""
    if probability in (0.0, 1.0):
        return 1.0 - probability
    odds, rest = math.log(probability), math.log1p(-probability)
    ways = (
        math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
        for k in range(hits + 1)
    )
    return math.fsum(math.exp(way + k * odds + (count - k) * rest) for k, way in enumerate(ways))


def _root(rising: Callable[[float], float]) -> float:
    """Return the root of a rising function in [0, 1], by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2
