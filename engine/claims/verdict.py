"""Verdict on a claim: the interval of each figure against the claim's prediction.

    >>> share = Figure(0.9, 0.7, 0.98, 20, EXACT_INTERVAL)
    >>> judge([Check("loops", share, ABOVE, 0.5)]).outcome
    'holds'

A check says yes if the whole interval lies on the claimed side of the bound, and no if none of the
interval does. It is open if the bound lies within. Checks of the same part of an experiment belong
together: the part says yes if all its checks do, and no if one does. A check without a part is a
separate part. A claim holds if every part says yes. It depends only if at least one part says yes
and one says no. Without any yes, one no is enough: the claim does not hold. All other cases are
undecided.

A condition, such as a control, says nothing about the claim, but unless it is met, the experiment
shows nothing. Its part is then open. If it has no part, all parts are.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass

from engine.claims.uncertainty import Figure

HOLDS, FAILS, DEPENDS, OPEN = "holds", "fails", "depends", "open"
YES, NO = "yes", "no"

ABOVE, BELOW, AT_LEAST, AT_MOST = ">", "<", "≥", "≤"
NOTED = ""  # shown with the others, but decides nothing
_SIDES = {ABOVE: operator.gt, BELOW: operator.lt, AT_LEAST: operator.ge, AT_MOST: operator.le}
MOST_NEEDED = 10_000  # advice to run more trials than this is useless


@dataclass(frozen=True)
class Check:
    """A figure, and the claim's prediction for it.

    Attributes:
        name: name of the figure; the claim's wording explains it.
        figure: the measured figure.
        side: the claimed side of the bound: `ABOVE`, `BELOW`, `AT_LEAST` or `AT_MOST`; or `NOTED`,
            if the claim says nothing about the figure.
        bound: bound in the figure's unit; 0 for a noted one.
        part: its part of the experiment, such as ``T = 1.5``; empty if the check covers the
            whole experiment and is a separate part.
        is_condition: whether it is a condition of the experiment rather than of the claim.
    """

    name: str
    figure: Figure
    side: str
    bound: float
    part: str = ""
    is_condition: bool = False

    @property
    def answer(self) -> str:
        """The figure's answer to the claim, `YES`, `NO` or `OPEN`; empty for a noted one."""
        if self.side == NOTED:
            return ""
        is_there = _SIDES[self.side]
        low, high = is_there(self.figure.low, self.bound), is_there(self.figure.high, self.bound)
        if low and high:
            return YES
        return OPEN if low or high else NO

    @property
    def needed(self) -> int | None:
        """Estimated number of trials or groups that would decide the check if its value stayed.

        An interval shrinks with the square root of that number. None if the value is too close to
        the bound, or has no interval yet.
        """
        value, low, high = self.figure.value, self.figure.low, self.figure.high
        if value == self.bound or not math.isfinite(value + high - low):
            return None
        edge = low if value > self.bound else high
        needed = math.ceil(self.figure.count * ((value - edge) / (value - self.bound)) ** 2)
        return max(needed, self.figure.count + 1) if needed <= MOST_NEEDED else None


def noted(name: str, figure: Figure, part: str = "") -> Check:
    """Return a check that is shown with the others but decides nothing."""
    return Check(name, figure, NOTED, 0.0, part)


@dataclass(frozen=True)
class Verdict:
    """The verdict that follows from a claim's checks.

    Attributes:
        outcome: `HOLDS`, `FAILS`, `DEPENDS` or `OPEN`.
        checks: the checks behind it.
    """

    outcome: str
    checks: tuple[Check, ...]

    def parts(self, answer: str) -> list[str]:
        """Return the parts with this answer; a check without a part is listed by its name."""
        return [part for part, own in _parts(self.checks).items() if own == answer]

    @property
    def unmet(self) -> list[Check]:
        """The conditions that are not met."""
        return [check for check in self.checks if check.is_condition and check.answer != YES]

    @property
    def undecided(self) -> list[Check]:
        """Open checks that more trials may decide; checks without a value are left out."""
        closed = [check.part for check in self.unmet]
        open_checks = [c for c in self.checks if c.answer == OPEN and not c.is_condition]
        known = [c for c in open_checks if not math.isnan(c.figure.value)]
        return [] if "" in closed else [c for c in known if c.part not in closed]


def judge(checks: Sequence[Check]) -> Verdict:
    """Return the verdict on a claim; at least one check must decide something."""
    answers = set(_parts(checks).values())
    if answers == {YES}:
        outcome = HOLDS
    elif {YES, NO} <= answers:
        outcome = DEPENDS
    else:
        outcome = FAILS if NO in answers else OPEN
    return Verdict(outcome, tuple(checks))


def _parts(checks: Sequence[Check]) -> dict[str, str]:
    """Return each part of the experiment with the joint answer of its checks."""
    answers: dict[str, set[str]] = {}
    unmet = {check.part for check in checks if check.is_condition and check.answer != YES}
    for check in checks:
        if check.side != NOTED and not check.is_condition:
            answers.setdefault(check.part or check.name, set()).add(check.answer)
    order = (NO, OPEN, YES)  # the first one that any check says wins
    return {
        part: OPEN if unmet & {part, ""} else min(own, key=order.index)
        for part, own in answers.items()
    }
