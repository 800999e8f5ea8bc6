"""The words of each claim, from `lessons/claims.toml`, with figures inserted."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engine.claims import (
    BOOTSTRAP,
    CLOPPER_PEARSON,
    COUNTED,
    LEAST,
    NO,
    OPEN,
    RESAMPLES,
    YES,
    Cell,
    Check,
    Figure,
    Stop,
    Token,
    Verdict,
)
from engine.errors import Message
from ui.measurements.drawing import digits
from ui.words.labels import size, stop_name, token_label
from ui.words.language import Literal, localised, marked, say
from ui.words.metrics import number

FILE = Path(__file__).resolve().parents[2] / "lessons" / "claims.toml"
NAMES = {  # names of the outcomes
    "holds": marked("Holds here"),
    "fails": marked("Does not hold here"),
    "depends": marked("Depends"),
    "open": marked("Undecided here"),
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
CONDITIONS = {  # answers of the experiment's conditions
    YES: marked("met"),
    NO: marked("not met"),
    OPEN: marked("not met"),
}
METHODS = {  # methods of intervals
    CLOPPER_PEARSON: marked("Shares: the exact interval of Clopper and Pearson."),
    BOOTSTRAP: marked("Means and ratios: a bootstrap with {count} resamples."),
    COUNTED: marked("Counted in full, so there is no interval."),
}
PARTS = {  # parts of a verdict, by their answer to the claim
    YES: marked("As claimed: {parts}."),
    NO: marked("Not as claimed: {parts}."),
    OPEN: marked("Not decided: {parts}."),
}
TOO_FEW = marked("An interval takes at least {count} {each}.")
MORE = marked("If the figures stay where they are, about {count} {each} would decide it.")
TOO_CLOSE = marked(
    "A figure is so close to the claimed value that more {each} would hardly decide it."
)


def _percent(value: float) -> str:
    return f"{number(100 * value, 1 if abs(value) < 0.1 else 0)} %"


def _points(value: float) -> str:
    places = 1 if 0 < abs(value) < 0.1 else 0
    points = round(100 * value, places) + 0.0  # avoids "-0"
    return say("{count} percentage points", count=number(points, places))


def _plain(value: float) -> str:
    return number(value, digits(value) if value and math.isfinite(value) else 0)


KINDS: dict[str, Callable[[float], str]] = {
    "percent": _percent,
    "points": _points,
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
    """A figure's name, its format (a key of `KINDS`), and a sentence for an unmet condition."""

    name: str
    kind: str
    unmet: str = ""

    def said(self, value: float) -> str:
        """Format a value of the figure with its unit; a dash if it is not finite."""
        return KINDS[self.kind](value) if math.isfinite(value) else "–"


UNSTEADY = FigureName(  # for every claim about times
    marked("reference products at an unusual speed"),
    "percent",
    marked(
        "The machine's speed changed during the measurement, so the times are not "
        "comparable. Run it again when fewer other programs are running."
    ),
)


@dataclass(frozen=True)
class ClaimWords:
    """The words that present a claim.

    Attributes:
        topic: heading of its group in the list.
        name: its name in the list.
        claim: the claim as people make it, in a sentence.
        experiment: the procedure, and what to notice.
        overturned: the result that would refute it.
        measured: a sentence about the result, with placeholders for figures.
        each: the items to add if the verdict is undecided: ``prompts``.
        figures: names and formats of the figures behind the verdict.
    """

    topic: str
    name: str
    claim: str
    experiment: str
    overturned: str
    measured: str
    each: str
    figures: Mapping[str, FigureName]

    def sentence(self, verdict: Verdict) -> str:
        """Put a verdict into words, with its figures."""
        said = []
        parts = {answer: verdict.parts(answer) for answer in PARTS}
        if sum(map(bool, parts.values())) > 1:
            said += [
                say(PARTS[answer], parts=", ".join(map(self.part_said, names)))
                for answer, names in parts.items()
                if names
            ]
        marks: dict[str, str] = {}
        for check in verdict.checks:
            marks |= self._marks(check)
        said.append(say(self.measured).format_map(marks))
        said += dict.fromkeys(say(self.figures[check.name].unmet) for check in verdict.unmet)
        if verdict.outcome == OPEN and verdict.undecided:
            needed = [check.needed for check in verdict.undecided]
            words, count = MORE, max((one for one in needed if one is not None), default=0)
            if any(math.isinf(check.figure.high) for check in verdict.undecided):
                words, count = TOO_FEW, LEAST
            elif None in needed:
                words = TOO_CLOSE
            said.append(say(words, count=f"{count:,}", each=say(self.each)))
        return " ".join(said)

    def part_said(self, part: str) -> str:
        """Return the name of a part of the experiment, or of a figure that is a part of its own."""
        return say(self.figures[part].name) if part in self.figures else shown(part)

    def _marks(self, check: Check) -> dict[str, str]:
        """Return the placeholders of a figure, with its values."""
        said, found, name = self.figures[check.name].said, check.figure, check.name
        return {
            name: localised(said(found.value)),
            f"{name}_low": localised(said(found.low)),
            f"{name}_high": localised(said(found.high)),
            f"{name}_n": localised(f"{found.count:,}"),
        }


def shown(value: Cell) -> str | int | float | None:
    """Format a cell or name from `engine.claims` for reading; typed text stays unchanged."""
    if isinstance(value, tuple):
        return " ".join(map(shown, value))
    if isinstance(value, Token):
        return token_label(value)
    if isinstance(value, Stop):
        return stop_name(value)
    if isinstance(value, Message):
        return say(value)
    return Literal(value) if isinstance(value, str) else value


def answer_said(check: Check) -> str:
    """Put a figure's answer to its claim into words."""
    return say((CONDITIONS if check.is_condition else ANSWERS)[check.answer])


def method_said(method: str) -> str:
    """Explain in a sentence how an interval is computed."""
    return say(METHODS[method], count=f"{RESAMPLES:,}")


def interval(found: Figure, name: FigureName) -> str:
    """Put the interval of a figure into words."""
    if not (math.isfinite(found.low) and math.isfinite(found.high)):
        return say("too few to say")
    if found.low == found.high:
        return name.said(found.low)
    low, high = name.said(found.low), name.said(found.high)
    if low.partition(" ")[2] == high.partition(" ")[2]:  # state the same unit only once
        low = low.partition(" ")[0]
    return say("{low} to {high}", low=low, high=high)


@cache
def all_words() -> dict[str, ClaimWords]:
    """Load the words of every claim, by key."""
    data = tomllib.loads(FILE.read_text("utf-8"))
    return {
        key: ClaimWords(
            **{
                **entry,
                "figures": {name: FigureName(**one) for name, one in entry["figures"].items()}
                | {"unsteady": UNSTEADY},
            }
        )
        for key, entry in data.items()
    }
