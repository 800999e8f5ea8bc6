"""What a visitor may ask for at most, and whether a number that was typed is within that."""

from __future__ import annotations

from engine.errors import DecodingError, SettingError

LONGEST_PROMPT = 20_000  # characters
MOST_TOKENS = 512  # of a text on the pages that make many
MOST_SAMPLES = 200  # texts per column of a comparison
LARGEST_SEED = 2**53 - 1  # that a browser's numbers hold exactly


def checked_whole(field: str, value: float | None, lowest: int, highest: int) -> int:
    """A whole number as it was typed; a float without a fraction is one.

    Args:
        field: what the page calls it.
        value: the number, None where the field is empty.
        lowest, highest: what is allowed, both included.

    Raises:
        DecodingError: an empty field, a fraction, a number out of range.
    """
    remedy = f"use a whole number from {lowest:,} to {highest:,}"
    if value is None:
        raise DecodingError(f"{field} is empty; {remedy}.")
    if not float(value).is_integer():
        raise SettingError(field, value, "must be a whole number", remedy)
    if not lowest <= value <= highest:
        raise SettingError(field, int(value), "is out of range", remedy)
    return int(value)
