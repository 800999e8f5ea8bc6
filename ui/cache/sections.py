"""The sections of the cache page, in their order; one line each."""

from __future__ import annotations

from ui.cache.section import Section

SECTIONS: tuple[Section, ...] = ()
