"""Constrained decoding in a lesson."""

from __future__ import annotations

from typing import ClassVar

from ui.labs.constrained.lab import ConstrainedLab
from ui.labs.constrained.page import PAGE
from ui.labs.page import LabPage
from ui.learn.checks import bits, percent, shown_as
from ui.learn.functions import Functions
from ui.learn.panels.lab.panel import ACTIONS as ANY_ACTIONS
from ui.learn.panels.lab.panel import OF_TOKENS, LabPanel

MEASURES, ACTIONS = Functions(OF_TOKENS), Functions(ANY_ACTIONS)


@MEASURES.add
def whole(lab: ConstrainedLab) -> bool:
    """True if an independent parser accepts the text as complete and valid."""
    return lab.text is not None and lab.verdict.is_valid is True


@MEASURES.add
@shown_as(bits)
def price(lab: ConstrainedLab) -> float | None:
    """Cost of the constraint in bits: -log2 of the allowed share, summed over all steps."""
    return sum(each.price_bits for each in lab.figures) if lab.text and lab.text.steps else None


@MEASURES.add
@shown_as(percent)
def smallest_share(lab: ConstrainedLab) -> float | None:
    """The smallest probability that the allowed tokens of a step held together, 0 to 1."""
    if lab.text is None or not lab.text.steps:
        return None
    return min(each.allowed_mass for each in lab.figures)


@MEASURES.add
def without_choice(lab: ConstrainedLab) -> int:
    """Number of steps in which only one token was allowed."""
    return sum(each.is_forced for each in lab.figures) if lab.text else 0


@MEASURES.add
def broken(lab: ConstrainedLab) -> bool:
    """True if a refused token was forced in the experiment and the text continued without rules."""
    return lab.broken is not None


@ACTIONS.add
def force_wrong(lab: ConstrainedLab, step: int) -> None:
    """Force the likeliest refused token at a step, counted from 1, in the experiment."""
    lab.break_at(step - 1, lab.figures[step - 1].wanted[0].token_id)


class ConstrainedPanel(LabPanel, tag="constrained"):
    """A text under a constraint."""

    measures: ClassVar[Functions] = MEASURES
    actions: ClassVar[Functions] = ACTIONS
    lab_page: ClassVar[LabPage] = PAGE
