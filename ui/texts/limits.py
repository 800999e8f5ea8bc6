"""Limits on a visitor's requests, and checks of typed numbers against them."""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import DecodingError, SettingError
from ui.words.language import say

LONGEST_PROMPT = 20_000  # characters
MOST_MESSAGES = 200  # of a conversation
MOST_TOKENS = 512  # per text, on pages that generate many
MOST_SAMPLES = 200  # texts per column of a comparison
LARGEST_SEED = 2**53 - 1  # the largest integer that is exact in a browser
MOST_STOP_STRINGS = 32  # every step searches for each, in the thread that all visitors share
LONGEST_STOP_STRING = 200  # characters


def checked_whole(field: str, value: float | None, lowest: int, highest: int) -> int:
    """Return a typed whole number; a float without a fraction is accepted.

    Args:
        field: label of the field, for error messages.
        value: the number; None if the field is empty.
        lowest, highest: the allowed range, both ends included.

    Raises:
        DecodingError: the field is empty, or the number is a fraction or out of range.
    """
    remedy = say("use a whole number from {low} to {high}", low=f"{lowest:,}", high=f"{highest:,}")
    if value is None:
        raise DecodingError(say("{field} is empty; {remedy}.", field=field, remedy=remedy))
    if not float(value).is_integer():
        raise SettingError(field, value, say("must be a whole number"), remedy)
    if not lowest <= value <= highest:
        raise SettingError(field, int(value), say("is out of range"), remedy)
    return int(value)


def checked_stops(stop_strings: Sequence[str]) -> tuple[str, ...]:
    """Return typed stop strings; raises `DecodingError` if they are too many or too long."""
    if len(stop_strings) > MOST_STOP_STRINGS:
        raise DecodingError(
            say(
                "There are {count} stop strings; use at most {most}, one per line.",
                count=f"{len(stop_strings):,}",
                most=MOST_STOP_STRINGS,
            )
        )
    longest = max(map(len, stop_strings), default=0)
    if longest > LONGEST_STOP_STRING:
        raise DecodingError(
            say(
                "A stop string has {count} characters; use at most {most}.",
                count=f"{longest:,}",
                most=LONGEST_STOP_STRING,
            )
        )
    return tuple(stop_strings)
