"""From figures to a verdict: each figure against what the claim says of it, with its interval.

    >>> share = Figure(0.9, 0.7, 0.98, 20, EXACT_INTERVAL)
    >>> verdict([Check("loops", share, ABOVE, 0.5)]).outcome
    'holds'

A check says yes where the whole interval lies on the claimed side of the bound, no where none of it
does, and is open where the bound lies within. Checks of the same part of an experiment stand
together: the part says yes where all of them do, no where one does. A claim holds where every part
says yes. Where some do and others do not, it depends. Where none does and one says no, it does not
hold.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

from engine.claims.uncertainty import Figure

HOLDS, FAILS, DEPENDS, OPEN = "holds", "fails", "depends", "open"
OUTCOMES = (HOLDS, FAILS, DEPENDS, OPEN)
YES, NO = "yes", "no"

ABOVE, BELOW, AT_LEAST, AT_MOST = ">", "<", "≥", "≤"
NOTED = ""  # shown beside the others, and decides nothing
_SIDES = {
    ABOVE: operator.gt,
    BELOW: operator.lt,
    AT_LEAST: operator.ge,
    AT_MOST: operator.le,
}


@dataclass(frozen=True)
class Check:
    """A figure against what the claim says of it.

    Attributes:
        name: of the figure; the words of the claim say what it is.
        figure: what was measured.
        side: where the claim puts it: `ABOVE`, `BELOW`, `AT_LEAST` or `AT_MOST` the bound; or
            `NOTED`, where the claim says nothing of it.
        bound: in the figure's unit; 0 for one that is noted.
        part: of the experiment that it is of, such as ``T = 1.5``; empty where it is of all, and is
            a part by itself.
    """

    name: str
    figure: Figure
    side: str
    bound: float
    part: str = ""

    @property
    def answer(self) -> str:
        """`YES`, `NO` or `OPEN`: what the figure says of the claim; empty for one that is noted."""
        if self.side == NOTED:
            return ""
        is_there = _SIDES[self.side]
        low, high = is_there(self.figure.low, self.bound), is_there(self.figure.high, self.bound)
        if low and high:
            return YES
        return OPEN if low or high else NO


def noted(name: str, figure: Figure, part: str = "") -> Check:
    """A figure that is shown beside the others, and decides nothing."""
    return Check(name, figure, NOTED, 0.0, part)


@dataclass(frozen=True)
class Verdict:
    """What follows from some checks.

    Attributes:
        outcome: `HOLDS`, `FAILS`, `DEPENDS`, or `OPEN` where no check is decided.
        checks: what it follows from.
    """

    outcome: str
    checks: tuple[Check, ...]

    def parts(self, answer: str) -> list[str]:
        """The parts of the experiment that have this answer and a name."""
        return [part for part, own in _parts(self.checks) if own == answer and part]


def verdict(checks: Sequence[Check]) -> Verdict:
    """What follows from the checks of a claim, of which at least one is not just noted."""
    answers = {answer for _, answer in _parts(checks)}
    if answers == {YES}:
        outcome = HOLDS
    elif YES in answers:
        outcome = DEPENDS
    else:
        outcome = FAILS if NO in answers else OPEN
    return Verdict(outcome, tuple(checks))


def _parts(checks: Sequence[Check]) -> list[tuple[str, str]]:
    """Each part of the experiment, and what its checks say together."""
    answers: dict[tuple[str, str], set[str]] = {}
    for check in checks:
        if check.side != NOTED:
            key = (check.part, "" if check.part else check.name)
            answers.setdefault(key, set()).add(check.answer)
    order = (NO, OPEN, YES)  # the first one that any check says
    return [(part, min(own, key=order.index)) for (part, _), own in answers.items()]
