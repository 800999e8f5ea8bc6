"""The browser's work for one Step and one movement of a slider: script, style, layout, paint.

Chromium traces the page's main thread. Each event counts without the events inside it, so the kinds
add up. A sampling profile of the same presses splits the script by file and by function.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.page.app_tab import App
from benchmarks.report import Report

CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline", "v8"]
SAMPLE_US = 100
MOST = 12  # files and functions to name
KINDS = {
    "script": ("FunctionCall", "EvaluateScript", "EventDispatch", "TimerFire", "RunMicrotasks"),
    "garbage": ("MinorGC", "MajorGC", "V8.GC_SCAVENGER", "V8.GC_MARK_COMPACTOR"),
    "style": ("UpdateLayoutTree", "RecalcStyle", "ParseAuthorStyleSheet"),
    "layout": ("Layout", "IntersectionObserverController::computeIntersections"),
    "paint": ("PrePaint", "Paint", "Layerize", "UpdateLayerTree", "Commit", "CompositeLayers"),
}
_KIND_OF = {name: kind for kind, names in KINDS.items() for name in names}
_KIND_OF |= dict.fromkeys(("FireAnimationFrame", "v8.callFunction", "V8.StackGuard"), "script")


def measure_trace(report: Report, name: str, app: App, presses: int) -> None:
    """Trace presses of Step, then movements of the temperature by the pointer."""
    app.visit()
    app.begin()
    app.steps(10)
    _measure(report, f"{name}, a Step", app, lambda: app.steps(presses), presses)
    _measure(report, f"{name}, a slider's move", app, lambda: app.drags(presses), presses)


def _measure(
    report: Report, title: str, app: App, act: Callable[[], Iterable[float]], presses: int
) -> None:
    browser, session = app.page.context.browser, app.page.context.new_cdp_session(app.page)
    browser.start_tracing(page=app.page, categories=CATEGORIES)
    act()
    events = json.loads(browser.stop_tracing())["traceEvents"]
    session.send("Profiler.enable")
    session.send("Profiler.setSamplingInterval", {"interval": SAMPLE_US})
    session.send("Profiler.start")
    act()
    profile = session.send("Profiler.stop")["profile"]
    session.detach()
    report.section(title)
    spent = self_times(events)
    for kind in KINDS:
        report.add(kind, spent[kind] / presses, "ms", detail=_calls(events, kind, presses))
    files, functions = script_times(profile)
    for what, times in (("file", files), ("function", functions)):
        for named, ms in times.most_common(MOST):
            report.add(f"script by {what}: {named}", ms / presses, "ms")


def self_times(events: list[dict[str, Any]]) -> Counter[str]:
    """Return the milliseconds of each kind on the busiest main thread, without nested events."""
    found: Counter[str] = Counter()
    open_: list[tuple[float, str]] = []  # end and kind of the events around the present one
    for event in _main(events):
        while open_ and open_[-1][0] <= event["ts"]:
            open_.pop()
        kind, ms = _KIND_OF.get(event["name"], "other"), event["dur"] / 1e3
        found[kind] += ms
        if open_:
            found[open_[-1][1]] -= ms
        open_.append((event["ts"] + event["dur"], kind))
    return found


def _main(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the complete events of the renderer's main thread with the most, outer ones first."""
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"].get("name") == "CrRendererMain"
    }
    by_thread = defaultdict(list)
    for event in events:
        if event["ph"] == "X" and (event["pid"], event["tid"]) in threads:
            by_thread[event["pid"], event["tid"]].append(event)
    busiest = max(by_thread.values(), key=len, default=[])
    return sorted(busiest, key=lambda event: (event["ts"], -event["dur"]))


def _calls(events: list[dict[str, Any]], kind: str, presses: int) -> str:
    """Return how often each event of a kind came, for one press."""
    counts = Counter(event["name"] for event in _main(events))
    names = [(name, counts[name]) for name in counts if _KIND_OF.get(name) == kind]
    return ", ".join(f"{name} {count / presses:.1f}" for name, count in sorted(names))


def script_times(profile: dict[str, Any]) -> tuple[Counter[str], Counter[str]]:
    """Return the milliseconds of a CPU profile by file, and by function."""
    frames = {node["id"]: node["callFrame"] for node in profile["nodes"]}
    files: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    for sample, delta in zip(profile["samples"], profile["timeDeltas"], strict=True):
        frame = frames[sample]
        if not frame["url"]:  # idle, the program itself, garbage
            continue
        file = "/".join(frame["url"].partition("?")[0].split("/")[-3:])
        files[file] += delta / 1e3
        function = frame["functionName"] or f"line {frame['lineNumber'] + 1}"
        functions[f"{function} ({file})"] += delta / 1e3
    return files, functions
