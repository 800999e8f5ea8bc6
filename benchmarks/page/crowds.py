"""Visitors' waiting times and the server's costs when many step at once."""

from __future__ import annotations

from functools import partial

from benchmarks.page.models import BUNDLED
from benchmarks.page.servers import Server
from benchmarks.page.texts import SETTINGS
from benchmarks.page.visitors import Plan, Seen, measure_visitors
from benchmarks.page.waits import Effort, percentile
from benchmarks.report import Report, at_most

LONG_PROMPT = "once upon a time " * 225  # 900 tokens: the bundled model reads 1,024


def measure_crowds(report: Report, name: str, server: Server, effort: Effort) -> None:
    """Measure flat out, once a second, and with long prompts; one visitor for large models."""
    report.section(f"{name}, over the live channel")
    plan = partial(Plan, server.url, SETTINGS, steps=effort.crowd_steps)
    for visitors in effort.crowds if name == BUNDLED else (1,):
        seen, cpu = measure_visitors(plan(visitors), server.cpu_ms)
        label = "1 visitor" if visitors == 1 else f"{visitors} visitors"
        costs(report, f"{label} flat out", seen, cpu)
    if name != BUNDLED:
        return
    most = effort.crowds[-1]
    calm, _ = measure_visitors(plan(most, steps=effort.crowd_steps // 3, every=1.0), server.cpu_ms)
    p95 = percentile(calm.ms, 95)
    report.add(f"{most} visitors, a step a second, p95", p95, "ms", goal=at_most(250), ms=calm.ms)
    beside, _ = measure_visitors(plan(1, prompt=LONG_PROMPT), server.cpu_ms)
    p95 = percentile(beside.ms, 95)
    report.add(
        "1 visitor beside prompts of 900 tokens, p95",
        p95,
        "ms",
        goal=at_most(100),
        detail=f"{beside.prompts} prompts",
        ms=beside.ms,
    )


def costs(report: Report, label: str, seen: Seen, cpu_ms: float | None) -> None:
    """Report rate, waiting times and costs of visitors' steps."""
    steps = len(seen.ms)
    p50, p95 = percentile(seen.ms, 50), percentile(seen.ms, 95)
    report.add(f"{label}: steps a second", steps / seen.seconds, "/ s", ms=seen.ms)
    report.add(f"{label}: step, p50", p50, "ms", detail=f"p95 {p95:.0f} ms")
    report.add(f"{label}: received for a step", round(seen.received / steps), "bytes")
    if cpu_ms is not None:
        report.add(f"{label}: server's processor time for a step", cpu_ms / steps, "ms")
