"""The definition of the cache page."""

from __future__ import annotations

from pathlib import Path

from ui.cache import bytes as bytes_
from ui.cache import prefix, window, with_and_without
from ui.cache.calculator import section as calculator
from ui.cache.prefill_and_decode import section as prefill_and_decode
from ui.cache.quantised import section as quantised
from ui.cache.roofline import section as roofline
from ui.measurements.page import MeasurementPage
from ui.measurements.section import Section
from ui.words.language import marked

SECTIONS: tuple[Section, ...] = (
    with_and_without.SECTION,
    prefill_and_decode.SECTION,
    bytes_.SECTION,
    window.SECTION,
    roofline.SECTION,
    quantised.SECTION,
    prefix.SECTION,
    calculator.SECTION,
)


PAGE = MeasurementPage(
    "cache",
    marked(
        "**Cache and latency.** The cost of the first token, of each later one, and of a long "
        "text. Everything is measured on this machine; a computed or estimated figure says so."
    ),
    SECTIONS,
    Path(__file__).with_suffix(".css"),
)
