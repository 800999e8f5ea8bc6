"""The cache page in a lesson."""

from __future__ import annotations

from typing import ClassVar

from ui.cache.page import PAGE
from ui.learn.panels.measurement.panel import MeasurementPanel
from ui.measurements.page import MeasurementPage


class CachePanel(MeasurementPanel):
    """A section of the cache page."""

    measured_on: ClassVar[MeasurementPage] = PAGE
