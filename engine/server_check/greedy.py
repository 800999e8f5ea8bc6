"""Greedy texts with the scores of every step, to compare two ways of reading the same text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.backend import Backend
from engine.runner.job import this_job
from engine.runner.runner import open_sequence

COMPARED = 1_000  # likeliest tokens of a step


@dataclass(frozen=True)
class Place:
    """The scores of one step.

    Attributes:
        best: the likeliest token.
        gap: its log-probability above that of the second, in nats; infinite if only one is listed.
        ids, logprobs: (n,) the likeliest tokens, in order.
    """

    best: int
    gap: float
    ids: np.ndarray
    logprobs: np.ndarray


def greedy(
    model: Backend, prompt: Sequence[int], length: int, forced: Sequence[int] = ()
) -> list[Place]:
    """Return the steps of a greedy text; the text ends where the model ends it.

    Args:
        model: a model here or on a server.
        prompt: its first tokens.
        length: most steps.
        forced: tokens to append instead of the likeliest ones, as far as they reach.
    """
    sequence, read, found = open_sequence(model), list(prompt), []
    for index in range(length):
        this_job().check()
        place = _place(sequence.extend(read).forward)
        found.append(place)
        token = forced[index] if index < len(forced) else place.best
        if token in model.eos_ids:
            break
        read = [token]
    return found


def _place(forward: Any) -> Place:
    if forward.scores is not None:
        ids, logprobs = forward.scores.ids, forward.scores.logprobs.astype(np.float64)
        order = np.lexsort((ids, -logprobs))[:COMPARED]
        ids, logprobs = ids[order], logprobs[order]
    else:
        row = forward.logits.astype(np.float64)
        row = row - row.max()
        row -= np.log(np.exp(row).sum())
        ids = np.argsort(-row, kind="stable")[:COMPARED]
        logprobs = row[ids]
    gap = float(logprobs[0] - logprobs[1]) if ids.size > 1 else math.inf
    return Place(int(ids[0]), gap, ids, logprobs)


def largest(one: Place, other: Place) -> float:
    """Return the largest difference of a log-probability that both list, in nats."""
    _, here, there = np.intersect1d(one.ids, other.ids, assume_unique=True, return_indices=True)
    if not here.size:
        return 0.0
    values, others = one.logprobs[here], other.logprobs[there]
    are_known = np.isfinite(values) & np.isfinite(others)
    return float(np.abs(values - others)[are_known].max(initial=0.0))


def first_difference(one: Sequence[Place], other: Sequence[Place]) -> int | None:
    """Return the first step at which two texts choose different tokens; None if there is none."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a.best != b.best), None)
