"""Tests of draws: their bounds on false alarms hold, and they find a different distribution.

Each is repeated 400 times from seed 11. With a true rate of at most 5 %, more than 40 alarms have a
probability below 1e-4 (binomial).
"""

import numpy as np
import pytest

from engine.server_check.multinomial import p_against, p_value

FLAT = np.full(50, 0.02)
STEEP = np.array([0.5, 0.2, 0.1, 0.05, 0.05, *[0.1 / 45] * 45])
REPEATS, DRAWS, LEVEL = 400, 40, 0.05


def draws(probs, count=DRAWS):
    rng = np.random.default_rng(11)
    return (rng.choice(probs.size, count, p=probs) for _ in range(REPEATS))


@pytest.mark.parametrize("probs", [FLAT, STEEP], ids=["flat", "steep"])
def test_own_distribution_is_rarely_rejected(probs):
    values = [p_value(ids, probs, LEVEL, seed) for seed, ids in enumerate(draws(probs))]
    assert sum(value <= LEVEL for value in values) <= 40
    assert min(values) > 0
    other = FLAT if probs is STEEP else STEEP
    values = [p_against(ids, probs, other) for ids in draws(probs)]
    assert sum(value <= LEVEL for value in values) <= 40


def test_other_distribution_is_found():
    """By 40 draws the goodness of fit finds it mostly, the likelihood ratio always."""
    found = [p_value(ids, STEEP, LEVEL, seed) <= LEVEL for seed, ids in enumerate(draws(FLAT))]
    assert sum(found) > 0.9 * REPEATS
    assert all(p_against(ids, STEEP, FLAT) <= LEVEL for ids in draws(FLAT))


def test_impossible_draw_rejects():
    cut = np.where(STEEP >= 0.05, STEEP, 0.0)
    cut /= cut.sum()
    assert p_value([0, 1, 49], cut, LEVEL, 0) == p_against([0, 1, 49], cut, STEEP) == 0.0
    assert p_against([0, 1, 49], STEEP, cut) == 1.0
    assert p_value([], cut, LEVEL, 0) == 1.0
