"""Order in which a canvas was filled, the model's confidence, and the effect of each step.

>>> order = order_of(decoder.steps)
>>> order.tau          # 1 for left to right, -1 for right to left, about 0 for any order
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.trace import DiffusionStep

# States of a canvas position after a step.
GIVEN, MASKED, NEW, COMMITTED, REMASKED = "given", "masked", "new", "committed", "re-masked"


@dataclass(frozen=True)
class Order:
    """Order in which the tokens now on the canvas were committed.

    Attributes:
        positions: gap positions that contain a token, ascending.
        steps: the step that committed each token; the last such step if it was masked again.
        tau: Kendall's tau-b of positions and steps: 1 is left to right, -1 right to left. Positions
            of one step are ties. NaN for fewer than two positions, or if all have the same step.
    """

    positions: tuple[int, ...]
    steps: tuple[int, ...]
    tau: float


def order_of(steps: Sequence[DiffusionStep]) -> Order:
    """Return the order in which these steps committed the tokens that are left on the canvas."""
    committed: dict[int, int] = {}
    for step in steps:
        for place in step.remasked:
            del committed[place]
        for place in step.unmasked:
            committed[place] = step.index
    positions = tuple(sorted(committed))
    when = tuple(committed[place] for place in positions)
    return Order(positions, when, kendall_tau(positions, when))


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Kendall's tau-b, from -1 to 1: concordant pairs minus discordant ones, normalised.

    A pair tied in both rows does not count, and a pair tied in one row lowers the measure (Kendall
    1945). NaN if a row has fewer than two values, or only equal ones.

    Raises:
        ValueError: rows of different lengths.
    """
    if len(first) != len(second):
        raise ValueError(f"Rows of {len(first)} and {len(second)} values; give one of each pair.")
    one, other = (_signs(row) for row in (first, second))
    product = int((one * other).sum())
    pairs = int(np.abs(one).sum()) * int(np.abs(other).sum())
    return product / math.sqrt(pairs) if pairs else math.nan


def _signs(row: Sequence[float]) -> np.ndarray:
    """Compare every pair: 1 if the later value is higher, -1 if lower, 0 if equal: (n, n) int64."""
    values = np.asarray(row, np.float64)
    return np.triu(np.sign(values[None, :] - values[:, None])).astype(np.int64)


@dataclass(frozen=True)
class StepCount:
    """Numbers of positions that a step changed.

    Attributes:
        index: index of the step.
        block: the block that it filled.
        committed: number of predictions that it kept.
        remasked: number of tokens that it masked again.
        masked: number of masks left after it.
    """

    index: int
    block: int
    committed: int
    remasked: int
    masked: int


def positions_per_step(steps: Sequence[DiffusionStep]) -> list[StepCount]:
    """Count the positions that each step changed."""
    return [
        StepCount(step.index, step.block, len(step.unmasked), len(step.remasked), len(step.masked))
        for step in steps
    ]


def gap_positions(steps: Sequence[DiffusionStep]) -> tuple[int, ...]:
    """Return the positions that were masked at the beginning; empty if there are no steps."""
    return steps[0].predicted_at if steps else ()


def states(step: DiffusionStep, gaps: Sequence[int]) -> tuple[str, ...]:
    """Return the state of every position of the canvas after a step.

    Args:
        step: the step.
        gaps: positions that were masked at the beginning.
    """
    found = [GIVEN] * len(step.ids_after)
    for places, state in (
        (gaps, COMMITTED),
        (step.masked, MASKED),
        (step.remasked, REMASKED),
        (step.unmasked, NEW),
    ):
        for place in places:
            found[place] = state
    return tuple(found)


def confidence_map(steps: Sequence[DiffusionStep]) -> np.ndarray:
    """Return the model's confidence before each step, 0 to 1: (gap positions, steps) float64.

    At a mask, it is the probability of the token that the step predicted. At a committed token, it
    is the probability of that token; NaN in older traces, which do not record it.
    """
    gaps = gap_positions(steps)
    table = np.full((len(gaps), len(steps)), np.nan)
    for column, step in enumerate(steps):
        standing = step.committed_confidence or (None,) * len(step.ids_before)
        for row, place in enumerate(gaps):
            value = step.confidence[place]
            value = standing[place] if value is None else value
            if value is not None:
                table[row, column] = value
    return table
