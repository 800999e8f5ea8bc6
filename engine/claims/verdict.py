"""From figures to a verdict: each figure against what the claim says of it, with its interval.

    >>> share = Figure(0.9, 0.7, 0.98, 20, EXACT_INTERVAL)
    >>> verdict([Check("loops", share, ABOVE, 0.5)]).outcome
    'holds'

A check says yes where the whole interval lies on the claimed side of the bound, no where none of it
does, and is open where the bound lies within. A claim holds where every check says yes. Where some
do and others do not, it depends. Where none does and one says no, it does not hold.
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
        side: where the claim puts it: `ABOVE`, `BELOW`, `AT_LEAST` or `AT_MOST` the bound.
        bound: in the figure's unit.
        cell: the part of the experiment that it is of, such as ``T = 1.5``; empty for all of it.
    """

    name: str
    figure: Figure
    side: str
    bound: float
    cell: str = ""

    @property
    def answer(self) -> str:
        """`YES`, `NO` or `OPEN`: what the figure says of the claim."""
        is_there = _SIDES[self.side]
        low, high = is_there(self.figure.low, self.bound), is_there(self.figure.high, self.bound)
        if low and high:
            return YES
        return OPEN if low or high else NO


@dataclass(frozen=True)
class Verdict:
    """What follows from some checks.

    Attributes:
        outcome: `HOLDS`, `FAILS`, `DEPENDS`, or `OPEN` where no check is decided.
        checks: what it follows from.
    """

    outcome: str
    checks: tuple[Check, ...]

    def named(self, answer: str) -> list[Check]:
        """The checks with this answer."""
        return [check for check in self.checks if check.answer == answer]


def verdict(checks: Sequence[Check]) -> Verdict:
    """What follows from the checks of a claim, at least one."""
    answers = {check.answer for check in checks}
    if answers == {YES}:
        outcome = HOLDS
    elif YES in answers:
        outcome = DEPENDS
    else:
        outcome = FAILS if NO in answers else OPEN
    return Verdict(outcome, tuple(checks))
