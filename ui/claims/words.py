"""What `lessons/claims.toml` says of each claim, and the figures put into it."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engine.claims.uncertainty import BOOTSTRAP, CLOPPER_PEARSON, COUNTED, RESAMPLES, Figure
from engine.claims.verdict import NO, OPEN, YES, Check, Verdict
from ui.measurements.measured import digits
from ui.words.labels import size
from ui.words.language import localised, marked, say
from ui.words.metrics import number

FILE = Path(__file__).resolve().parents[2] / "lessons" / "claims.toml"
NAMES = {  # of the outcomes
    "holds": marked("Holds here"),
    "fails": marked("Does not hold here"),
    "depends": marked("Depends"),
    "open": marked("Not decided here"),
}
SYMBOLS = {"holds": "✓", "fails": "✗", "depends": "◐", "open": "?"}
PREDICTIONS = {
    "holds": marked("It holds"),
    "fails": marked("It does not hold"),
    "depends": marked("It depends"),
}
ANSWERS = {
    YES: marked("as claimed"),
    NO: marked("not as claimed"),
    OPEN: marked("not decided"),
    "": marked("noted"),
}
METHODS = {  # of intervals
    CLOPPER_PEARSON: marked("Shares have the exact interval of Clopper and Pearson."),
    BOOTSTRAP: marked("Means have the interval of a bootstrap with {count} resamples."),
    COUNTED: marked("What is counted over all there is has no uncertainty."),
}
UNDECIDED = marked(
    "What was measured does not decide it: every interval holds values on both "
    "sides of what the claim says. More prompts make the intervals shorter."
)


def _percent(value: float) -> str:
    return f"{number(100 * value, 1 if abs(value) < 0.1 else 0)} %"


def _plain(value: float) -> str:
    return number(value, digits(value) if value and math.isfinite(value) else 0)


KINDS: dict[str, Callable[[float], str]] = {
    "percent": _percent,
    "number": _plain,
    "small": lambda value: f"{value:.2g}",
    "bits": lambda value: say("{count} bits", count=number(value, 2)),
    "count": lambda value: number(value, 0),
    "times": lambda value: say("{count} times", count=_plain(value)),
    "ms": lambda value: f"{_plain(value)} ms",
    "bytes": lambda value: say("{count} bytes", count=number(value, 0)),
    "rate": lambda value: say("{count} tokens/s", count=_plain(value)),
    "size": lambda value: size(round(value)),
    "nats": lambda value: say("{nats} nats", nats=number(value, 2)),
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
            return say(UNDECIDED)
        marks = {
            answer: ", ".join(map(part_said, verdict.parts(answer))) or say("none")
            for answer in ANSWERS
        }
        for check in verdict.checks:
            marks |= self._marks(check)
        return say(getattr(self, verdict.outcome)).format_map(marks)

    def _marks(self, check: Check) -> dict[str, str]:
        """The marks of a figure; of several parts of an experiment, those of the last one."""
        said, found, name = self.figures[check.name].said, check.figure, check.name
        return {
            name: localised(said(found.value)),
            f"{name}_low": localised(said(found.low)),
            f"{name}_high": localised(said(found.high)),
            f"{name}_n": localised(f"{found.count:,}"),
        }


_PARTS = (  # of experiments, as the engine names them
    marked("capitals"),
    marked("everyday"),
    marked("world"),
    marked("likelier"),
    marked("blander"),
    marked("all later tokens stay the same"),
    marked("the model goes on"),
    marked("without the cache"),
    marked("first letter"),
    marked("last letter"),
    marked("number of letters"),
    marked("in a batch of {count}"),
    marked("in {dtype}"),
    marked("{low} to {high} positions"),
    marked("{low} to {high} prompt tokens"),
    marked("{count} prompt tokens"),
    marked("T {low} to {high}"),
    marked("at most {bits} bits"),
    marked("at least {bits} bits"),
)


def part_said(part: str) -> str:
    """A part of an experiment; one that is not known, such as a kind of fact, as it stands."""
    for words in _PARTS:
        found = re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>\\S+)", words), part)
        if found is not None:
            return say(words, **found.groupdict())
    return part


def method_said(method: str) -> str:
    """How an interval comes about, in a sentence."""
    return say(METHODS[method], count=f"{RESAMPLES:,}")


def interval(found: Figure, name: FigureName) -> str:
    """The interval of a figure in words."""
    if not (math.isfinite(found.low) and math.isfinite(found.high)):
        return say("too few to say")
    if found.low == found.high:
        return name.said(found.low)
    return say("{low} to {high}", low=name.said(found.low), high=name.said(found.high))


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
