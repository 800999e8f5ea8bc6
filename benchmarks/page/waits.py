"""Waiting times of a visitor: the app against its twin and the floor, in turns."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import median

import numpy as np

from benchmarks.page.app_tab import App
from benchmarks.page.bare_tabs import Floor, Twin
from benchmarks.report import Report, at_least, at_most


@dataclass(frozen=True)
class Effort:
    """Number of repetitions of each measurement.

    Attributes:
        lengths: turns of app, floor and twin, by the initial number of tokens of the text.
        presses, twin_presses: number of presses per turn.
        seconds: duration of Play.
        ways: number of changes from page to page and back.
        crowd_steps: steps of each of 1, 5 and 20 visitors, and of one among long prompts.
        crowds: numbers of visitors who step at the same time.
        traced: presses and movements in a trace.
        starts_twice: whether the server starts once before its timed start.
    """

    lengths: dict[int, int]
    presses: int
    twin_presses: int
    seconds: float
    ways: int
    crowd_steps: int
    crowds: tuple[int, ...]
    traced: int
    starts_twice: bool


FULL = Effort({10: 3, 850: 2}, 10, 3, 3.0, 3, 20, (1, 5, 20), 30, starts_twice=True)
QUICK = Effort({2: 1}, 1, 1, 0.5, 1, 3, (1, 2), 2, starts_twice=False)


@dataclass(frozen=True)
class Three:
    """The app and the pages for comparison."""

    app: App
    twin: Twin
    floor: Floor


def percentile(times: list[float], rank: float) -> float:
    """Compute a percentile as a plain number."""
    return float(np.percentile(times, rank))


def measure_waits(
    report: Report,
    name: str,
    three: Three,
    effort: Effort,
    tokens: int,
    turns: int,
) -> None:
    """Measure Step, slider, Play and Run to end, starting from a text of `tokens` tokens."""
    app, twin, floor = three.app, three.twin, three.floor
    if tokens == min(effort.lengths):
        app.begin()
    rate = app.run_to(tokens)
    report.section(f"{name}, after {tokens} tokens")
    twin.open(tokens)
    floor.open(tokens)
    for tab in (app, twin, floor):
        tab.steps(1)  # the first press is slower than the others
    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(turns):
        times["step"] += app.steps(effort.presses)
        times["floor step"] += floor.steps(effort.presses)
        times["twin step"] += twin.steps(effort.twin_presses)
        times["drag"] += app.drags(effort.presses)
        times["key"] += app.keys_pressed(effort.presses)
        times["twin key"] += twin.keys_pressed(effort.twin_presses)
        times["round"] += floor.rounds(effort.presses)
        times["streamlit round"] += twin.rounds(effort.twin_presses)
    _steps(report, times, app.engine_ms()[tokens:])
    _sliders(report, times)
    report.add("received for a step and its whole row", app.whole_row(), "bytes")
    _play(report, app, twin, effort.seconds)
    if tokens == max(effort.lengths):
        engine = 1e3 / median(app.engine_ms()[:tokens])
        report.add("Run to end", rate, "tokens/s", detail=f"the engine alone {engine:.0f}")
        report.add("Run to end / the engine alone", rate / engine, "x")


def _steps(report: Report, times: dict[str, list[float]], engine_ms: list[float]) -> None:
    step, floor, twin = (median(times[name]) for name in ("step", "floor step", "twin step"))
    report.add("Step to its frame, p50", step, "ms", goal=at_most(80), ms=times["step"])
    report.add("Step to its frame, p95", percentile(times["step"], 95), "ms", goal=at_most(110))
    report.add("the same of the floor, p50", floor, "ms", ms=times["floor step"])
    report.add("the same of the twin, p50", twin, "ms", ms=times["twin step"])
    report.add("Step / the floor's", step / floor, "x", goal=at_most(1.5))
    report.add("Step / the twin's", step / twin, "x", goal=at_most(1 / 6))
    report.add("the engine's step alone", median(engine_ms), "ms")
    report.add("empty round trip, WebSocket", median(times["round"]), "ms")
    report.add("empty round trip, Streamlit", median(times["streamlit round"]), "ms")


def _sliders(report: Report, times: dict[str, list[float]]) -> None:
    key, twin = median(times["key"]), median(times["twin key"])
    report.add("slider by pointer to its frame, p50", median(times["drag"]), "ms", ms=times["drag"])
    p95 = percentile(times["drag"], 95)
    report.add("slider by pointer to its frame, p95", p95, "ms", goal=at_most(1000 / 30))
    report.add("slider by key to its frame, p50", key, "ms", ms=times["key"])
    report.add("the same of the twin, p50", twin, "ms", ms=times["twin key"])
    report.add("slider by key / the twin's", key / twin, "x", goal=at_most(1 / 20))


def _play(report: Report, app: App, twin: Twin, seconds: float) -> None:
    tokens, charts = app.play(seconds)
    pictures = twin.play(seconds)
    report.add("Play, tokens", tokens, "/ s", goal=at_least(24))
    report.add("Play, charts", charts, "/ s", goal=at_least(12))
    report.add("Play of the twin", pictures, "/ s")
    if pictures:
        report.add("Play / the twin's", tokens / pictures, "x", goal=at_least(8))
    else:
        report.note("the twin drew no step while it went on by itself")
