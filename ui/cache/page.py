"""The cache page by what is its own."""

from __future__ import annotations

from pathlib import Path

from ui.cache.sections import SECTIONS
from ui.measurements.page import MeasurementPage
from ui.words.language import marked

PAGE = MeasurementPage(
    "cache",
    marked(
        "**Cache and latency.** What the first token costs, what each later one, and what a long "
        "text. Everything is measured on this machine; what is computed or estimated says so."
    ),
    SECTIONS,
    Path(__file__).with_suffix(".css"),
)
