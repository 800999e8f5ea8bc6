"""From figures to a verdict: each figure against what the claim says of it, with its interval.

    >>> share = Figure(0.9, 0.7, 0.98, 20, EXACT_INTERVAL)
    >>> judge([Check("loops", share, ABOVE, 0.5)]).outcome
    'holds'

A check says yes when the whole interval lies on the claimed side of the bound, no when none of it
does, and is open when the bound lies within. Checks of the same part of an experiment belong
together: the part says yes when all of them do, no when one does. A check without a part is a part
by itself. A claim holds when every part says yes. It depends only when at least one says yes and
one says no. Without any yes, one no is enough: it does not hold. All else is not decided.

A condition says nothing of the claim: it is what the experiment needs to tell anything, such as a
control. If it is not met, its part is open, and without a part all of them are.
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
NOTED = ""  # shown beside the others, and decides nothing
_SIDES = {ABOVE: operator.gt, BELOW: operator.lt, AT_LEAST: operator.ge, AT_MOST: operator.le}
MOST_NEEDED = 10_000  # from which more trials are no advice


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
        is_condition: whether the experiment needs it, and the claim does not say it.
    """

    name: str
    figure: Figure
    side: str
    bound: float
    part: str = ""
    is_condition: bool = False

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

    @property
    def needed(self) -> int | None:
        """Estimate the trials or groups that would decide an open check, if its value stays.

        An interval shrinks with the root of their number. None if the value is too close to the
        bound, or has no interval yet.
        """
        value, low, high = self.figure.value, self.figure.low, self.figure.high
        if value == self.bound or not math.isfinite(value + high - low):
            return None
        edge = low if value > self.bound else high
        needed = math.ceil(self.figure.count * ((value - edge) / (value - self.bound)) ** 2)
        return max(needed, self.figure.count + 1) if needed <= MOST_NEEDED else None


def noted(name: str, figure: Figure, part: str = "") -> Check:
    """A figure that is shown beside the others, and decides nothing."""
    return Check(name, figure, NOTED, 0.0, part)


@dataclass(frozen=True)
class Verdict:
    """Verdict that follows from some checks.

    Attributes:
        outcome: `HOLDS`, `FAILS`, `DEPENDS` or `OPEN`.
        checks: what it follows from.
    """

    outcome: str
    checks: tuple[Check, ...]

    def parts(self, answer: str) -> list[str]:
        """The parts of the experiment with this answer; a check without a part by its name."""
        return [part for part, own in _parts(self.checks).items() if own == answer]

    @property
    def unmet(self) -> list[Check]:
        """The conditions that are not met."""
        return [check for check in self.checks if check.is_condition and check.answer != YES]

    @property
    def undecided(self) -> list[Check]:
        """Open checks that more trials may decide; of a value that is NaN, they may not."""
        closed = [check.part for check in self.unmet]
        open_checks = [c for c in self.checks if c.answer == OPEN and not c.is_condition]
        known = [c for c in open_checks if not math.isnan(c.figure.value)]
        return [] if "" in closed else [c for c in known if c.part not in closed]


def judge(checks: Sequence[Check]) -> Verdict:
    """Draw the verdict from the checks of a claim, at least one of which is not just noted."""
    answers = set(_parts(checks).values())
    if answers == {YES}:
        outcome = HOLDS
    elif {YES, NO} <= answers:
        outcome = DEPENDS
    else:
        outcome = FAILS if NO in answers else OPEN
    return Verdict(outcome, tuple(checks))


def _parts(checks: Sequence[Check]) -> dict[str, str]:
    """Each part of the experiment, and what its checks say together."""
    answers: dict[str, set[str]] = {}
    unmet = {check.part for check in checks if check.is_condition and check.answer != YES}
    for check in checks:
        if check.side != NOTED and not check.is_condition:
            answers.setdefault(check.part or check.name, set()).add(check.answer)
    order = (NO, OPEN, YES)  # the first one that any check says
    return {
        part: OPEN if unmet & {part, ""} else min(own, key=order.index)
        for part, own in answers.items()
    }
