"""Figures that a curve may show, by the names that lessons write."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.model import LanguageModel
from engine.sampling import Distribution
from engine.trace import Step
from ui.learn.prediction.prediction import Unit
from ui.words.language import marked

SHARE = Unit("%")
TOKENS = Unit(marked("tokens"), one=marked("token"))


Of = Callable[[Step, Distribution, LanguageModel], float]


@dataclass(frozen=True)
class Figure:
    """A quantity measured at every step.

    Attributes:
        label: its name, marked.
        unit: the unit of its values.
        high: the end of its scale; None if each lesson must set it.
        of: computes it from a step, its distribution under the settings, and the model.
        follows_settings: whether it depends on the settings, given the same logits.
    """

    label: str
    unit: Unit
    high: float | None
    of: Of
    follows_settings: bool = True


def _kept_share(step: Step, row: Distribution, model: LanguageModel) -> float:
    weights = row.raw.all_weights
    return float(weights[row.final_scores > -np.inf].sum() / weights.sum())


def _end_probability(step: Step, row: Distribution, model: LanguageModel) -> float:
    return sum(math.exp(row.raw.logprob(token_id)) for token_id in model.eos_ids)


FIGURES: dict[str, Figure] = {
    "entropy": Figure(
        marked("Uncertainty (entropy)"),
        Unit(marked("bits"), 1),
        None,
        lambda step, row, model: row.final_entropy_bits,
    ),
    "tokens_kept": Figure(
        marked("Tokens kept"),
        TOKENS,
        None,
        lambda step, row, model: float(row.survivors),
    ),
    "kept_share": Figure(marked("Share of the probability that is kept"), SHARE, 1.0, _kept_share),
    "top_probability": Figure(
        marked("Probability of the top token"),
        SHARE,
        1.0,
        lambda step, row, model: row.probability(row.candidates(1)[0].token_id),
    ),
    "chosen_probability": Figure(
        marked("Probability of the chosen token"),
        SHARE,
        1.0,
        lambda step, row, model: step.probability,
        False,
    ),
    "model_probability": Figure(
        marked("The model's own probability of the chosen token"),
        SHARE,
        1.0,
        lambda step, row, model: math.exp(step.logprob),
        False,
    ),
    "end_probability": Figure(
        marked("Probability of the end of the text"), SHARE, 1.0, _end_probability, False
    ),
    "milliseconds": Figure(
        marked("Time of the forward pass"),
        Unit("ms", 1),
        None,
        lambda step, row, model: step.forward_ms,
        False,
    ),
}
