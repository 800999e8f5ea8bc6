"""A grid of lengths, timed in rounds, for claims about the time of input and output tokens.

Times are processor time. The bootstrap resamples whole rounds, because a slow spell of the machine
lasts for several cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from engine.claims.experiment import AnyResult, Experiment, judged_measurement
from engine.claims.inputs import Whole, Wholes
from engine.errors import msg
from engine.measure.measurement import MOST_POSITIONS
from engine.measure.prefill_and_decode import (
    MOST_ROUNDS,
    PrefillAndDecode,
    PrefillAndDecodeMeasurement,
)
from engine.model import LanguageModel
from engine.runner.turns import processor_clock


def prompt_lengths(first: str, least: int = 1) -> Wholes:
    """Return the input for the lengths of prompts, in tokens."""
    return Wholes("prompts", msg("Prompt tokens"), first, low=1, high=MOST_POSITIONS, least=least)


def rounds(first: int) -> Whole:
    """Return the input for the number of measurements of each length."""
    return Whole("rounds", msg("Rounds"), first, low=1, high=MOST_ROUNDS)


def grid_experiment(
    model: LanguageModel,
    prompts: Sequence[int],
    outputs: Sequence[int],
    rounds: int,
    judged: Callable[[PrefillAndDecode], AnyResult],
) -> Experiment[AnyResult]:
    """Time every combination of prompt length and output length, each `rounds` times."""
    clock = processor_clock(model)
    measurement = PrefillAndDecodeMeasurement(model, prompts, outputs, rounds, clock)
    seconds = partial(
        PrefillAndDecodeMeasurement.estimated_seconds, model, prompts, outputs, rounds
    )
    return judged_measurement(measurement, judged, seconds)
