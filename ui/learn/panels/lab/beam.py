"""Beam search in a lesson."""

from __future__ import annotations

from typing import ClassVar

from ui.jobs import UNKNOWN
from ui.labs.beam.lab import BeamLab
from ui.labs.beam.page import PAGE
from ui.labs.page import LabPage
from ui.learn.functions import Functions
from ui.learn.panels.lab.panel import ACTIONS as ANY_ACTIONS
from ui.learn.panels.lab.panel import OF_TOKENS, LabPanel

MEASURES, ACTIONS = Functions(OF_TOKENS), Functions(ANY_ACTIONS)


@MEASURES.add
def logprob(lab: BeamLab) -> float | None:
    """The sum of log-probabilities of the best text, in nats; closer to 0 is likelier."""
    best = lab.text.hypotheses[:1] if lab.text else ()
    return best[0].logprob if best else None


@MEASURES.add
def finished(lab: BeamLab) -> int:
    """Number of complete texts."""
    return sum(each.is_finished for each in lab.text.hypotheses) if lab.text else 0


@MEASURES.add
def exact_search_done(lab: BeamLab) -> bool:
    """True if the exact search has ended."""
    return lab.exact is not None and lab.exact.is_done


@ACTIONS.add
def search_exactly(lab: BeamLab) -> None:
    """Begin the exact search, and wait until it has ended."""
    lab.begin_exact(UNKNOWN)
    if lab.exact is not None:
        lab.exact.wait()


class BeamPanel(LabPanel, tag="beam"):
    """A beam search."""

    measures: ClassVar[Functions] = MEASURES
    actions: ClassVar[Functions] = ACTIONS
    lab_page: ClassVar[LabPage] = PAGE
