"""Speculative decoding in a lesson."""

from __future__ import annotations

from typing import ClassVar

from ui.jobs import UNKNOWN
from ui.labs.page import LabPage
from ui.labs.speculative.lab import SpeculativeLab
from ui.labs.speculative.page import PAGE
from ui.learn.checks import percent, shown_as
from ui.learn.functions import Functions
from ui.learn.panels.lab.panel import ACTIONS as ANY_ACTIONS
from ui.learn.panels.lab.panel import OF_TOKENS, LabPanel

MEASURES, ACTIONS = Functions(OF_TOKENS), Functions(ANY_ACTIONS)


def _counts(lab: SpeculativeLab) -> tuple[int, int, int]:
    """Count proposed tokens, accepted ones, and rounds."""
    rounds = lab.text.steps if lab.text else []
    proposed = sum(len(each.proposed) for each in rounds)
    drawn = sum(each.drawn is not None for each in rounds)
    appended = sum(len(each.token_ids) for each in rounds)
    return proposed, appended - drawn, len(rounds)


@MEASURES.add
@shown_as(percent)
def accepted(lab: SpeculativeLab) -> float | None:
    """The share of proposed tokens that were accepted, 0 to 1."""
    proposed, taken, _ = _counts(lab)
    return taken / proposed if proposed else None


@MEASURES.add
def tokens_per_pass(lab: SpeculativeLab) -> float | None:
    """Tokens appended per round, which is one pass of the target."""
    _, _, rounds = _counts(lab)
    return sum(len(each.token_ids) for each in lab.text.steps) / rounds if rounds else None


@MEASURES.add
def trial_done(lab: SpeculativeLab) -> bool:
    """True if the speed trial has ended."""
    return lab.work is not None and lab.work.is_done


@ACTIONS.add
def try_speed(lab: SpeculativeLab) -> None:
    """Begin the speed trial, and wait until it has ended."""
    lab.begin(UNKNOWN)
    if lab.work is not None:
        lab.work.wait()


class SpeculativePanel(LabPanel, tag="speculative"):
    """Rounds of a draft model and its target model."""

    measures: ClassVar[Functions] = MEASURES
    actions: ClassVar[Functions] = ACTIONS
    lab_page: ClassVar[LabPage] = PAGE
