"""The measuring pages in a lesson: the cache page and the claims page."""

from __future__ import annotations

from typing import ClassVar

from engine.claims import judge
from ui.cache.page import PAGE as CACHE
from ui.claims.page import PAGE as CLAIMS
from ui.learn.functions import Functions
from ui.learn.panels.measurement.panel import MEASURES as ANY
from ui.learn.panels.measurement.panel import MeasurementPanel
from ui.measurements.page import MeasurementPage
from ui.measurements.state import MeasurementState


class CachePanel(MeasurementPanel, tag="cache"):
    """A section of the cache page."""

    measured_on: ClassVar[MeasurementPage] = CACHE


MEASURES = Functions(ANY)


@MEASURES.add
def outcome(state: MeasurementState) -> str:
    """The verdict: holds, fails, depends or open; empty before the claim was run."""
    result = state.held.result()
    return "" if result is None else judge(result.checks).outcome


class ClaimPanel(MeasurementPanel, tag="claim"):
    """A claim and its test."""

    measures: ClassVar[Functions] = MEASURES
    measured_on: ClassVar[MeasurementPage] = CLAIMS
