"""A grid of lengths, timed in rounds: what claims on the time of input and output tokens share.

Times are processor time. A round is what is drawn again for an interval: what slows the machine
down lasts for several cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from engine.claims.experiment import AnyResult, Experiment, JudgedMeasurement, checked_range
from engine.errors import msg
from engine.measure.passes import processor_clock
from engine.measure.prefill_and_decode import (
    MOST_ROUNDS,
    MOST_TOKENS,
    PrefillAndDecode,
    PrefillAndDecodeMeasurement,
    estimated_seconds,
)
from engine.model import LanguageModel


def grid_experiment(
    model: LanguageModel,
    prompts: Sequence[int],
    outputs: Sequence[int],
    rounds: int,
    judged: Callable[[PrefillAndDecode], AnyResult],
) -> Experiment[AnyResult]:
    """Times every prompt length with every output length.

    Args:
        model: what is timed.
        prompts, outputs: lengths in tokens.
        rounds: how often each is measured.
        judged: the grid as a result with checks.

    Raises:
        SettingError: lengths or rounds out of range.
    """
    for length in prompts:
        checked_range(msg("Prompt tokens"), length, 1, MOST_TOKENS)
    for length in outputs:
        checked_range(msg("Output tokens"), length, 2, MOST_TOKENS)
    checked_range(msg("Rounds"), rounds, 1, MOST_ROUNDS)
    clock = processor_clock(model)
    measurement = PrefillAndDecodeMeasurement(model, prompts, outputs, rounds, clock)
    seconds = partial(estimated_seconds, model, prompts, outputs, rounds)
    return JudgedMeasurement(measurement, judged, seconds)
