"""How far a person's values are from the model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Gap:
    """How far apart two rows of values are.

    Attributes:
        value: the distance as one number: see `total_variation` and `mean_difference`.
        largest: the largest that it could be.
        worst: the place of the largest difference, the first of several.
    """

    value: float
    largest: float
    worst: int


def total_variation(drawn: Sequence[float], truth: Sequence[float]) -> Gap:
    """Half the sum of the absolute differences: how much probability would have to move, 0 to 1.

    Args:
        drawn, truth: two distributions over the same outcomes.
    """
    differences = _differences(drawn, truth)
    return Gap(min(1.0, sum(differences) / 2), 1.0, _worst(differences))


def mean_difference(drawn: Sequence[float], truth: Sequence[float], low: float, high: float) -> Gap:
    """The mean absolute difference, in the unit of the values.

    Args:
        drawn: within `low` and `high`.
        truth: of any size; the scale is widened to hold it.
        low, high: the ends of the scale.
    """
    differences = _differences(drawn, truth)
    widest = max(high, *truth) - min(low, *truth)
    return Gap(sum(differences) / len(differences), widest, _worst(differences))


def _differences(drawn: Sequence[float], truth: Sequence[float]) -> list[float]:
    if len(drawn) != len(truth) or not drawn:
        raise ValueError(f"{len(drawn)} values cannot be compared with {len(truth)}.")
    return [abs(mine - real) for mine, real in zip(drawn, truth, strict=True)]


def _worst(differences: Sequence[float]) -> int:
    return max(range(len(differences)), key=differences.__getitem__)
