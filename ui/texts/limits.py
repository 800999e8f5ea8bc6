"""What a visitor may ask for at most, and whether a number that was typed is within that."""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import DecodingError, SettingError

LONGEST_PROMPT = 20_000  # characters
MOST_TOKENS = 512  # of a text on the pages that make many
MOST_SAMPLES = 200  # texts per column of a comparison
LARGEST_SEED = 2**53 - 1  # that a browser's numbers hold exactly
MOST_STOP_STRINGS = 32  # every step looks for each, in the thread that all visitors' steps share
LONGEST_STOP_STRING = 200  # characters


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


def checked_stops(stop_strings: Sequence[str]) -> tuple[str, ...]:
    """Stop strings as they were typed; raises `DecodingError` where they are too many or long."""
    if len(stop_strings) > MOST_STOP_STRINGS:
        remedy = f"use at most {MOST_STOP_STRINGS}, one per line"
        raise DecodingError(f"There are {len(stop_strings):,} stop strings; {remedy}.")
    longest = max(map(len, stop_strings), default=0)
    if longest > LONGEST_STOP_STRING:
        remedy = f"use at most {LONGEST_STOP_STRING}"
        raise DecodingError(f"A stop string has {longest:,} characters; {remedy}.")
    return tuple(stop_strings)
