"""The cache page by what is its own."""

from __future__ import annotations

from pathlib import Path

from ui.cache.sections import SECTIONS
from ui.measurements.page import MeasurementPage
from ui.words.language import marked

PAGE = MeasurementPage(
    "cache",
    marked(
        "**Cache and latency.** Why the first token is slow, the second is cheap, and "
        "what a long text costs. Everything is measured on this machine; what is "
        "computed or estimated says so."
    ),
    SECTIONS,
    Path(__file__).with_suffix(".css"),
)
