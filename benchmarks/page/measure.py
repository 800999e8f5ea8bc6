"""Measure waiting times on the step page in Chromium, and their cost to the server.

    python -m benchmarks page [--models bundled,152k-bf16,152k-f32] [--quick] [--trace]

The app is started as `make run` starts it. It runs next to two other pages. The twin is the same
step on an ordinary Streamlit page. The floor is the same step on the smallest page that draws both
charts. They take turns, so that ratios also hold on a busy machine. A time runs from the press, as
the browser dates it, to the end of the first frame with the new token, the table and both charts.
The drawing of the twin's table cannot be observed, so only its three charts count.

With --trace, only the app is measured: what the browser does for one Step and one slider movement,
split into script, style, layout and paint, and the script by file and function.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import BrowserContext, sync_playwright

from benchmarks.page.app_tab import App
from benchmarks.page.bare_tabs import Floor, Twin
from benchmarks.page.beginnings import measure_start, measure_ways
from benchmarks.page.crowds import measure_crowds
from benchmarks.page.models import BUNDLED, LARGE, NAMES, save_model
from benchmarks.page.servers import APP, BARE, free_port, served
from benchmarks.page.trace import measure_trace
from benchmarks.page.waits import FULL, QUICK, Effort, Three, measure_waits
from benchmarks.report import PACKAGES, Report
from tests.browser.chromium import REMEDY, find

WINDOW = {"width": 1440, "height": 900}


def measure_model(
    report: Report,
    name: str,
    scratch: str,
    context: BrowserContext,
    effort: Effort,
    *,
    is_traced: bool,
) -> None:
    """Measure all figures of one model."""
    model = None if name == BUNDLED else name
    if name in LARGE:
        model = save_model(name, Path(scratch) / name)
    port = free_port()
    if is_traced:
        with served(APP, model, port) as server:
            measure_trace(report, name, App(context, server.url), effort.traced)
        return
    if name == BUNDLED and effort.starts_twice:
        with served(APP, model, port) as server:
            App(context, server.url).visit()
    with ExitStack() as stack:
        server = stack.enter_context(served(APP, model, port))
        app = App(context, server.url)
        report.section(name)
        measure_start(report, server, app)
        if name == BUNDLED:
            measure_ways(report, app, effort.ways)
        bare = stack.enter_context(served(BARE, model))
        three = Three(app, Twin(context, bare.url), Floor(context, bare.url))
        for tokens, turns in effort.lengths.items():
            measure_waits(report, name, three, effort, tokens, turns)
        for tab in (three.app, three.twin, three.floor):
            tab.page.close()
        measure_crowds(report, name, server, effort)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks page", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    known = f"of {', '.join(NAMES)}; or a model as the app takes it, such as gemma3"
    parser.add_argument("--models", default=",".join(NAMES), help=known)
    parser.add_argument("--quick", action="store_true", help="few repeats: to see that it runs")
    parser.add_argument("--trace", action="store_true", help="only what the browser's time goes to")
    options = parser.parse_args(arguments)
    options.models = options.models.split(",")
    return options


def main(arguments: Sequence[str] | None = None) -> dict[str, object]:
    """Measure, print, and return the content of the JSON line."""
    options = parse(arguments)
    executable = find()
    if executable is None:
        sys.exit(f"The benchmark found no Chromium that runs. {REMEDY}")
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    flags = ["--disable-gpu", *(["--no-sandbox"] if is_root else [])]  # no sandbox exists for root
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = playwright.chromium.launch(executable_path=executable, args=flags)
        packages = (*PACKAGES, "streamlit", "plotly", "starlette", "uvloop")
        report = Report("page", packages, {"chromium": browser.version})
        for name in options.models:
            context = browser.new_context(viewport=WINDOW)
            effort = QUICK if options.quick else FULL
            measure_model(report, name, scratch, context, effort, is_traced=options.trace)
            context.close()
        browser.close()
    return report.finish()
