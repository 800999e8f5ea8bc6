"""Output of every benchmark: the machine, a table with goals, and one JSON line at the very end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from engine.measure import PACKAGES, Machine, versions


@dataclass(frozen=True)
class Goal:
    """A limit on a figure: a maximum or a minimum."""

    limit: float
    at_least: bool

    def met(self, value: float) -> bool:
        """Tell whether a figure is within the limit."""
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.limit:g}"


def at_most(limit: float) -> Goal:
    """Return a goal that larger figures miss."""
    return Goal(limit, at_least=False)


def at_least(limit: float) -> Goal:
    """Return a goal that smaller figures miss."""
    return Goal(limit, at_least=True)


class Report:
    """Collects figures, prints them as they come, and ends with one JSON line.

    Args:
        name: name of the benchmark.
        packages: packages on which its figures depend.
        programs: versions of other programs on which they depend, by name.
    """

    def __init__(
        self,
        name: str,
        packages: Sequence[str] = PACKAGES,
        programs: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._machine = asdict(Machine.here())
        self._versions = versions(packages) | dict(programs or {})
        self._figures: dict[str, object] = {}
        self._goals: list[dict[str, object]] = []
        self._notes: list[str] = []
        self._section = ""
        load = ", ".join(f"{value:g}" for value in self._machine["load"])
        print(f"Benchmark: {name}")
        print(
            f"{self._machine['processor']}, {self._machine['cores']} cores, "
            f"{self._machine['memory_gib']:g} GiB, GPU: {self._machine['gpu'] or 'none'}, "
            f"load before the start {load}"
        )
        print(", ".join(f"{package} {number}" for package, number in self._versions.items()))

    def section(self, title: str) -> None:
        """Start a part; its title precedes the names of its figures in the JSON line."""
        self._section = title
        print(f"\n{title}", flush=True)

    def note(self, text: str) -> None:
        """Add a sentence that readers need to interpret the figures."""
        self._notes.append(f"{self._section}: {text}")
        print(f"  {text}", flush=True)

    def add(
        self,
        name: str,
        value: float,
        unit: str = "",
        *,
        goal: Goal | None = None,
        detail: str = "",
        **more: object,
    ) -> None:
        """Add a figure: printed with its goal, kept for the JSON line.

        Args:
            name: name of the figure.
            value: the figure to which the goal applies.
            unit: its unit.
            goal: the limit, if there is one.
            detail: further figures in words, printed after it.
            more: further figures, for the JSON line only.
        """
        key = f"{self._section} | {name}"
        self._figures[key] = {"value": value, "unit": unit, **more}
        verdict = ""
        if goal is not None:
            met = goal.met(value)
            verdict = f"goal {goal}: {'met' if met else 'NOT MET'}"
            self._goals.append({"figure": key, "value": value, "goal": str(goal), "met": met})
        shown = f"{number(value)} {unit}".rstrip()
        print(f"  {name:<54} {shown:>14}  {verdict:<24} {detail}".rstrip(), flush=True)

    def table(self, header: Sequence[str], lines: Sequence[tuple]) -> None:
        """Print figures that were added one by one again side by side; not in the JSON line.

        Args:
            header: names of the columns; the first one's entries are text.
            lines: a text and its figures per line.
        """
        width = max(len(header[0]), *(len(line[0]) for line in lines))
        print()
        print("  ".join([f"  {header[0]:<{width}}", *(f"{name:>16}" for name in header[1:])]))
        for name, *figures in lines:
            print("  ".join([f"  {name:<{width}}", *(f"{number(f):>16}" for f in figures)]))
        print(flush=True)

    def finish(self) -> dict[str, object]:
        """Print all goals again, then the JSON line; returns the content of that line."""
        print("\nGoals")
        for entry in self._goals:
            verdict = "met" if entry["met"] else "NOT MET"
            print(
                f"  {entry['figure']:<86} {number(entry['value']):>9} {entry['goal']:>9} {verdict}"
            )
        if not self._goals:
            print("  none of the figures has a goal")
        result = {
            "benchmark": self.name,
            "machine": self._machine,
            "versions": self._versions,
            "figures": self._figures,
            "goals": self._goals,
            "notes": self._notes,
        }
        print(json.dumps(result, default=_plain), flush=True)
        return result


def number(value: float) -> str:
    """Format a number with its significant digits: 1.034, 12.3, 608k as 608,256."""
    if isinstance(value, bool) or not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    size = abs(value)
    digits = 3 if size < 10 else 1 if size < 1000 else 0
    return f"{value:,.{digits}f}"


def _plain(value: object) -> object:
    return value.item() if hasattr(value, "item") else str(value)
