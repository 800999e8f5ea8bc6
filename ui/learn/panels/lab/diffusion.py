"""Masked diffusion in a lesson."""

from __future__ import annotations

from typing import ClassVar

from ui.labs.diffusion.lab import DiffusionLab
from ui.labs.diffusion.page import PAGE
from ui.labs.page import LabPage
from ui.learn.checks import percent, shown_as
from ui.learn.functions import Functions
from ui.learn.panels.lab.panel import MEASURES as ANY
from ui.learn.panels.lab.panel import LabPanel

MEASURES = Functions(ANY)


@MEASURES.add
def masks_left(lab: DiffusionLab) -> int:
    """Number of masks left on the canvas."""
    if lab.text is None:
        return 0
    ids = lab.text.steps[-1].ids_after if lab.text.steps else lab.text.canvas
    return list(ids).count(lab.text.model.mask_id)


@MEASURES.add
def most_at_once(lab: DiffusionLab) -> int:
    """The most masks that one step has filled."""
    return max((len(each.unmasked) for each in lab.text.steps), default=0) if lab.text else 0


@MEASURES.add
def masked_again(lab: DiffusionLab) -> int:
    """Number of times a filled position was masked again."""
    return sum(len(each.remasked) for each in lab.text.steps) if lab.text else 0


@MEASURES.add
@shown_as(percent)
def lowest_confidence(lab: DiffusionLab) -> float | None:
    """The lowest confidence with which a step has kept a token, 0 to 1."""
    return min(_kept(lab), default=None)


@MEASURES.add
@shown_as(percent)
def mean_confidence(lab: DiffusionLab) -> float | None:
    """The mean confidence of all tokens in the step that kept them, 0 to 1."""
    kept = _kept(lab)
    return sum(kept) / len(kept) if kept else None


def _kept(lab: DiffusionLab) -> list[float]:
    """Return the confidence of each token that a step has kept."""
    steps = lab.text.steps if lab.text else ()
    return [each.confidence[place] for each in steps for place in each.unmasked]


class DiffusionPanel(LabPanel, tag="diffusion"):
    """A canvas of masks that diffusion fills."""

    measures: ClassVar[Functions] = MEASURES
    lab_page: ClassVar[LabPage] = PAGE
