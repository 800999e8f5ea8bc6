"""What a curve may show, by the name that lessons write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.sampling import Distribution
from engine.trace import Step
from ui.learn.prediction.prediction import Unit
from ui.words.language import marked

SHARE = Unit("%")


@dataclass(frozen=True)
class Figure:
    """Something that is measured at every step.

    Attributes:
        label: what it is called, marked.
        unit: of its values.
        high: the end of its scale; None where only the lesson can tell.
        of: computes it from a step and what settings made of its logits.
        follows_settings: whether other settings change it with the same logits.
    """

    label: str
    unit: Unit
    high: float | None
    of: Callable[[Step, Distribution], float]
    follows_settings: bool = True


FIGURES: dict[str, Figure] = {
    "entropy": Figure(
        marked("Uncertainty (entropy)"),
        Unit(marked("bits"), 1),
        None,
        lambda step, row: row.final_entropy_bits,
    ),
    "tokens_kept": Figure(
        marked("Tokens kept"),
        Unit(marked("tokens"), one=marked("token")),
        None,
        lambda step, row: float(row.survivors),
    ),
    "top_probability": Figure(
        marked("Probability of the top token"),
        SHARE,
        1.0,
        lambda step, row: row.probability(row.candidates(1)[0].token_id),
    ),
    "chosen_probability": Figure(
        marked("Probability of the chosen token"),
        SHARE,
        1.0,
        lambda step, row: step.probability,
        False,
    ),
    "milliseconds": Figure(
        marked("Time of the forward pass"),
        Unit("ms", 1),
        None,
        lambda step, row: step.forward_ms,
        False,
    ),
}
