"""The claims, in the order of the page; one line each. Those of a topic stand together."""

from __future__ import annotations

from ui.claims import greedy_loops, no_plan
from ui.measurements.section import Section

CLAIMS: tuple[Section, ...] = (
    no_plan.SECTION,
    greedy_loops.SECTION,
)
