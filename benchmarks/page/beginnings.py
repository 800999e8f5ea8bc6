"""Time until a page is usable: after the server starts, and from page to page."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.page.app_tab import App
from benchmarks.page.servers import Server
from benchmarks.report import Report, at_most

START_SECONDS = 4.0
COMPARE_IS_USABLE = (
    "() => document.title.startsWith('Compare') && [...document.querySelectorAll('button')]"
    ".some(button => button.innerText.trim() === 'Play' && !button.disabled)"
)


def measure_start(report: Report, server: Server, app: App) -> None:
    """Time the start of a server, with files already read, to charts, table and buttons."""
    app.visit()
    seconds = time.perf_counter() - server.began
    report.add("start of the server to a usable page", seconds, "s", goal=at_most(START_SECONDS))
    began = time.perf_counter()
    app.visit()
    report.add("reload to a usable page", time.perf_counter() - began, "s")


def measure_ways(report: Report, app: App, times: int) -> None:
    """Time the press of a link to a usable page, from Step to Compare and back."""
    link = {
        name: app.page.get_by_role("link", name=name, exact=True) for name in ("Step", "Compare")
    }
    there, back = [], []
    for _ in range(times):
        there.append(app.press(link["Compare"], COMPARE_IS_USABLE))
        back.append(app.press(link["Step"], app.is_usable))
    report.add("Step to Compare, the first time", there[0], "ms")
    if times > 1:
        report.add("Step to Compare, later", float(np.median(there[1:])), "ms")
    report.add("Compare to Step", float(np.median(back)), "ms")
