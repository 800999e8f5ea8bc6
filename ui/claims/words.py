"""What `lessons/claims.toml` says of each claim, and the figures put into it."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engine.claims.uncertainty import BOOTSTRAP, CLOPPER_PEARSON, COUNTED, RESAMPLES, Figure
from engine.claims.verdict import NO, OPEN, YES, Check, Verdict
from ui.measurements.measured import digits
from ui.words.labels import size
from ui.words.metrics import number

FILE = Path(__file__).resolve().parents[2] / "lessons" / "claims.toml"
NAMES = {  # of the outcomes
    "holds": "Holds here",
    "fails": "Does not hold here",
    "depends": "Depends",
    "open": "Not decided here",
}
SYMBOLS = {"holds": "✓", "fails": "✗", "depends": "◐", "open": "?"}
PREDICTIONS = {"holds": "It holds", "fails": "It does not hold", "depends": "It depends"}
ANSWERS = {YES: "as claimed", NO: "not as claimed", OPEN: "not decided", "": "noted"}
METHODS = {  # of intervals
    CLOPPER_PEARSON: "Shares have the exact interval of Clopper and Pearson.",
    BOOTSTRAP: f"Means have the interval of a bootstrap with {RESAMPLES:,} resamples.",
    COUNTED: "What is counted over all there is has no uncertainty.",
}
UNDECIDED = (
    "What was measured does not decide it: every interval holds values on both sides of what the "
    "claim says. More prompts make the intervals shorter."
)


def _percent(value: float) -> str:
    return f"{number(100 * value, 1 if abs(value) < 0.1 else 0)} %"


def _plain(value: float) -> str:
    return number(value, digits(value) if value and math.isfinite(value) else 0)


KINDS: dict[str, Callable[[float], str]] = {
    "percent": _percent,
    "number": _plain,
    "small": lambda value: f"{value:.2g}",
    "bits": lambda value: f"{number(value, 2)} bits",
    "count": lambda value: number(value, 0),
    "times": lambda value: f"{_plain(value)} times",
    "ms": lambda value: f"{_plain(value)} ms",
    "bytes": lambda value: f"{number(value, 0)} bytes",
    "rate": lambda value: f"{_plain(value)} tokens/s",
    "size": lambda value: size(round(value)),
    "nats": lambda value: f"{number(value, 2)} nats",
}


@dataclass(frozen=True)
class FigureName:
    """What a figure is called, and how it is written: a key of `KINDS`."""

    name: str
    kind: str

    def said(self, value: float) -> str:
        """The figure in its unit; a dash where there is none."""
        return KINDS[self.kind](value) if math.isfinite(value) else "–"


@dataclass(frozen=True)
class ClaimWords:
    """What is said of a claim.

    Attributes:
        topic: heading that it is listed under.
        name: in the list.
        claim: the sentence that people say.
        experiment: what is done, and what to notice.
        holds, fails, depends: the sentence of each verdict, with marks for figures.
        figures: what the verdict stands on, by name.
    """

    topic: str
    name: str
    claim: str
    experiment: str
    holds: str
    fails: str
    depends: str
    figures: Mapping[str, FigureName]

    def sentence(self, verdict: Verdict) -> str:
        """The words of a verdict, with its figures."""
        if verdict.outcome == OPEN:
            return UNDECIDED
        marks = {answer: ", ".join(verdict.parts(answer)) or "none" for answer in ANSWERS}
        for check in verdict.checks:
            marks |= self._marks(check)
        return getattr(self, verdict.outcome).format_map(marks)

    def _marks(self, check: Check) -> dict[str, str]:
        """The marks of a figure; of several parts of an experiment, those of the last one."""
        said, figure, name = self.figures[check.name].said, check.figure, check.name
        return {
            name: said(figure.value),
            f"{name}_low": said(figure.low),
            f"{name}_high": said(figure.high),
            f"{name}_n": f"{figure.count:,}",
        }


def interval(figure: Figure, name: FigureName) -> str:
    """The interval of a figure in words."""
    if not (math.isfinite(figure.low) and math.isfinite(figure.high)):
        return "too few to say"
    if figure.low == figure.high:
        return name.said(figure.low)
    return f"{name.said(figure.low)} to {name.said(figure.high)}"


@cache
def all_words() -> dict[str, ClaimWords]:
    """The words of every claim, by key."""
    data = tomllib.loads(FILE.read_text("utf-8"))
    return {
        key: ClaimWords(
            **{
                **entry,
                "figures": {name: FigureName(**one) for name, one in entry["figures"].items()},
            }
        )
        for key, entry in data.items()
    }
