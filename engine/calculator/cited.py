"""Citations of published figures, in words."""

from __future__ import annotations

from datetime import date


def citation(source: str, address: str, checked: date) -> str:
    """Return a citation: the source, its address, and the day the figure was found there."""
    return f"{source}, {address}, checked on {checked.day} {checked:%B %Y}"
