"""Tests of whether draws come from a distribution; their bounds hold for any number of draws.

`p_value` is for any other distribution. Its statistic is Pearson's chi-square over cells, whose
distribution is simulated: if the draws do come from the distribution, the observed statistic is as
likely as any simulated one to be the largest (Monte Carlo test, Barnard 1963).

`p_against` is for one alternative, and needs fewer draws. The likelihood ratio of the alternative
has the mean 1 under the hypothesis, so it exceeds 1/a with a probability of at most a.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

LEAST_EXPECTED = 5.0  # draws in a cell of its own
MOST_SIMULATED = 200_000
_MOST_VALUES = 20_000_000  # cells of simulated samples
_LEAST_SIMULATED = 1_000


def p_value(drawn: Sequence[int], probs: np.ndarray, level: float, seed: int) -> float:
    """Return the probability of draws at least this unusual, if `probs` is their distribution.

    Args:
        drawn: (n,) token ids.
        probs: (vocab,) probabilities that sum to 1.
        level: the level of significance; enough samples are simulated to fall below it.
        seed: of the simulation.

    Returns:
        0 if a drawn token is impossible; otherwise a value that is at most x with probability at
        most x, for every x, if the draws come from `probs`.
    """
    ids = np.asarray(drawn, np.int64)
    if not ids.size:
        return 1.0
    if (probs[ids] <= 0).any():
        return 0.0
    cells, expected = _cells(probs, ids.size)
    counts = np.bincount(cells[ids], minlength=expected.size)
    wanted = math.ceil(4 / level)
    most = max(_LEAST_SIMULATED, min(MOST_SIMULATED, _MOST_VALUES // expected.size))
    count = min(max(wanted, _LEAST_SIMULATED), most)
    simulated = np.random.default_rng(seed).multinomial(
        ids.size, expected / expected.sum(), size=count
    )
    # Equal statistics may round differently, so the tolerance counts them as equal.
    least = _statistic(counts, expected) * (1 - 1e-9)
    return float((1 + np.count_nonzero(_statistic(simulated, expected) >= least)) / (1 + count))


def p_against(drawn: Sequence[int], probs: np.ndarray, other: np.ndarray) -> float:
    """Return the inverse likelihood ratio of an alternative, at most 1: a p-value of `probs`.

    Args:
        drawn: (n,) token ids.
        probs: (vocab,) probabilities of the hypothesis.
        other: (vocab,) probabilities of the alternative.
    """
    ids = np.asarray(drawn, np.int64)
    if (probs[ids] <= 0).any():
        return 0.0
    if (other[ids] <= 0).any():
        return 1.0
    log = float((np.log(probs[ids]) - np.log(other[ids])).sum())
    return math.exp(min(0.0, log))


def _cells(probs: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each token's cell, and the expected draws in each: likely tokens have their own."""
    likely = np.flatnonzero(probs * count >= LEAST_EXPECTED)
    cells = np.full(probs.size, likely.size)
    cells[likely] = np.arange(likely.size)
    expected = np.bincount(cells, probs * count, likely.size + 1)
    return cells, expected


def _statistic(counts: np.ndarray, expected: np.ndarray) -> np.ndarray:
    held = np.maximum(expected, 1e-12)
    return ((counts - expected) ** 2 / held).sum(axis=-1)
