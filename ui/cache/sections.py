"""The sections of the cache page, in their order; one line each."""

from __future__ import annotations

from ui.cache.bytes import section as bytes_
from ui.cache.calculator import section as calculator
from ui.cache.prefill_and_decode import section as prefill_and_decode
from ui.cache.prefix import section as prefix
from ui.cache.quantised import section as quantised
from ui.cache.roofline import section as roofline
from ui.cache.window import section as window
from ui.cache.with_and_without import section as with_and_without
from ui.measurements.section import Section

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
