"""Checks: a lesson's conditions on the state of a panel, and the values measured there.

`check` names a measure of the panel. The same table contains its arguments and at least one
comparison. The words of the task may show the measured value under the name of the measure, or
under `as`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from msgspec import UNSET, UnsetType

from ui.learn.functions import KINDS, Call, Functions, call_with, result_type
from ui.learn.source import refuse
from ui.words.labels import markdown_text, token_label, with_minus
from ui.words.language import localised, say

Live = TypeVar("Live")

# Comparisons by name, one table for each type of value.
_ANY: dict[str, Callable[[Any, Any], bool]] = {
    "is": lambda measured, wanted: measured == wanted,
    "is_not": lambda measured, wanted: measured != wanted,
}
_NUMBERS: dict[str, Callable[[Any, Any], bool]] = _ANY | {
    "at_least": lambda measured, wanted: measured >= wanted,
    "at_most": lambda measured, wanted: measured <= wanted,
    "more_than": lambda measured, wanted: measured > wanted,
    "less_than": lambda measured, wanted: measured < wanted,
}
_TEXTS: dict[str, Callable[[Any, Any], bool]] = _ANY | {
    "contains": lambda measured, wanted: wanted in measured,
    "lacks": lambda measured, wanted: wanted not in measured,
    "begins_with": lambda measured, wanted: measured.startswith(wanted),
}
LONGEST = 120  # characters of a text in a sentence
COMPARISONS = {"int": _NUMBERS, "float": _NUMBERS, "str": _TEXTS, "bool": _ANY}


def shown_as(reading: Callable[[Any], str]) -> Callable[[Callable], Callable]:
    """Set the function that formats a measured value for people, such as `percent`."""

    def marked(function: Callable) -> Callable:
        function.reading = reading
        return function

    return marked


def percent(share: float) -> str:
    """Format a share in per cent: ``12.3 %``; only 0 and 1 themselves appear as 0 and 100 %."""
    if 0 < share < 1e-6:
        return "< 0.0001 %"
    if 0.9995 <= share < 1 - 1e-12:  # three digits would round it to 100
        return "> 99.99 %" if share >= 0.99995 else f"{100 * share:.2f} %"
    return f"{100 * share:.3g} %"


def bits(entropy: float) -> str:
    """Format an entropy or a loss: ``4.14 bits``."""
    if 0 < entropy < 0.005:
        return say("below {bits} bits", bits="0.01")
    return say("{bits} bits", bits=f"{entropy:.2f}")


def figure(number: float) -> str:
    """Format a number without a unit: ``1,024``, ``−0.56``."""
    return with_minus(f"{number:,}" if isinstance(number, int) else f"{number:.4g}")


def label(text: str) -> str:
    """Format a text with visible spaces: ``␣Paris``; a long one is cut short."""
    return token_label(text) if len(text) <= LONGEST else f"{token_label(text[: LONGEST - 1])}…"


_READINGS = {"int": figure, "float": figure, "str": label, "bool": {True: "yes", False: "no"}.get}


def written(measure: Call, measured: Any) -> str:
    """Return a measured value as text for people, in the form that its measure sets."""
    if measured is None:
        return "none"
    function = measure.function
    return getattr(function, "reading", _READINGS[result_type(function)])(measured)


class Check(Generic[Live]):
    """A condition on a measure of a panel.

    Args:
        measure: the measure; it returns None if there is nothing to measure yet.
        comparisons: by name, the values to compare with; all must hold.
        name: the name under which words may show the measured value.
    """

    def __init__(self, measure: Call[Live, Any], comparisons: Mapping[str, Any], name: str) -> None:
        self.measure, self.comparisons, self.name = measure, comparisons, name

    def holds(self, live: Live) -> bool:
        """Return whether the condition holds now; False if there is nothing to measure."""
        measured = self.measure(live)
        known = COMPARISONS[result_type(self.measure.function)]
        return measured is not None and all(
            known[name](measured, wanted) for name, wanted in self.comparisons.items()
        )

    def shown(self, live: Live) -> str:
        """Return the current measurement as text for a sentence."""
        return written(self.measure, self.measure(live))


def read_check(data: Any, measures: Functions) -> Check:
    """Read a check from a table.

    Raises:
        Refused: the panel has no such measure, or the comparison does not fit it.
    """
    function = measures.named(data, "check")
    kind = result_type(function)
    value = KINDS["float" if kind == "int" else kind] | UnsetType
    wanted = tuple((name, value, UNSET) for name in COMPARISONS[kind])
    own = (("check", str), ("as", str, function.__name__))
    measure, table = call_with(function, data, (*own, *wanted))
    comparisons = {
        name: value for name, _, _ in wanted if (value := getattr(table, name)) is not UNSET
    }
    if not comparisons:
        refuse("", "compares with nothing", f"add one of {', '.join(COMPARISONS[kind])}")
    return Check(measure, comparisons, getattr(table, "as"))


def all_hold(checks: Iterable[Check], live: object) -> bool:
    """Return whether every check holds."""
    return all(check.holds(live) for check in checks)


def figures(checks: Iterable[Check], live: object) -> dict[str, str]:
    """Return the current measurements by the names that words use; safe for Markdown."""
    return {check.name: markdown_text(localised(check.shown(live))) for check in checks}
