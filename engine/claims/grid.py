"""A grid of lengths, timed in rounds: what claims on the time of input and output tokens share.

Times are processor time. A round is what is drawn again for an interval: what slows the machine
down lasts for several cells.
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
    """The lengths of prompts, in tokens."""
    return Wholes("prompts", msg("Prompt tokens"), first, low=1, high=MOST_POSITIONS, least=least)


def rounds(first: int) -> Whole:
    """The number of times that each length is measured."""
    return Whole("rounds", msg("Rounds"), first, low=1, high=MOST_ROUNDS)


def grid_experiment(
    model: LanguageModel,
    prompts: Sequence[int],
    outputs: Sequence[int],
    rounds: int,
    judged: Callable[[PrefillAndDecode], AnyResult],
) -> Experiment[AnyResult]:
    """Times every prompt length with every output length, each `rounds` times."""
    clock = processor_clock(model)
    measurement = PrefillAndDecodeMeasurement(model, prompts, outputs, rounds, clock)
    seconds = partial(
        PrefillAndDecodeMeasurement.estimated_seconds, model, prompts, outputs, rounds
    )
    return judged_measurement(measurement, judged, seconds)
