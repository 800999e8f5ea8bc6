"""Lists of values as people write them: ``0.5, 0.7, 1`` or ``0.2 to 1.4 step 0.3``."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from engine.checks import typed_list
from engine.errors import SettingError
from engine.study import MOST_TEXTS
from ui.words.language import marked, say

LONGEST = 20_000  # characters
LONGEST_NUMBER = 40  # characters: more than any setting needs, and still short enough to quote
LONGEST_RANGE = 4 * LONGEST_NUMBER
LARGEST = 1e15  # up to this value, the steps of a range are exact

_REMEDY = marked("write numbers such as 0.5, 0.7, 1 or a range such as 0.2 to 1.4 step 0.3")
# Possessive (`++`, `*+`, `?+`): the regex never backtracks, so the time is linear in the text's
# length. A dot before another dot belongs to a range such as `1..5`. Optional groups are not
# possessive: Python before 3.11.5 may match half of them (CPython issue 106052).
_NUMBER = r"[-+]?+(?:\d++(?:\.(?!\.)\d*+)?|\.\d++)(?:[eE][-+]?+\d{1,3}+)?"
_ONE = re.compile(_NUMBER)
_RANGE = re.compile(
    rf"({_NUMBER})\s*+(?:to|\.\.|:)\s*+({_NUMBER})(?:\s*+(?:step|by|:)\s*+({_NUMBER}))?",
    re.IGNORECASE,
)


def parse_values(field: str, text: str) -> tuple[int | float, ...]:
    """Parse a list of numbers and ranges; returns the values in the order written.

    A range includes both ends. Whole numbers become int, as top-k requires. The running time
    depends only on the length of the text.

    Args:
        field: the page's name for the list, for error messages.
        text: parts between commas, semicolons or line breaks, each a number or a range.

    Raises:
        SettingError: a part is not a number, a range has no step, a value is repeated, or there are
            more values than any sweep allows.
    """
    if len(text) > LONGEST:
        remedy = say("use at most {longest} characters", longest=f"{LONGEST:,}")
        raise SettingError(field, text, say("are too long"), remedy)
    values: dict[int | float, None] = {}  # an ordered set
    for part in re.split(r"[,\n]", typed_list(text)):
        for value in _values(field, part.strip(), room=MOST_TEXTS - len(values)):
            if value in values:
                raise SettingError(
                    field, value, say("contain a value twice"), say("write each value once")
                )
            values[value] = None
    if not values:
        raise SettingError(field, text, say("are missing"), say(_REMEDY))
    return tuple(values)


def _values(field: str, part: str, room: int) -> list[int | float]:
    """Parse a range, or numbers separated by spaces; at most `room` values."""
    found = _RANGE.fullmatch(part) if len(part) <= LONGEST_RANGE else None
    if found:
        return _range(field, part, *found.groups(), room=room)
    words = part.split()
    if len(words) > room:
        raise _too_many(field, MOST_TEXTS - room + len(words))
    return [_plain(_number(field, word)) for word in words]


def _range(
    field: str, part: str, first: str, last: str, step: str | None, room: int
) -> list[int | float]:
    if step is None:
        remedy = say(
            "write how far apart the values are: {first} to {last} step 0.1", first=first, last=last
        )
        raise SettingError(field, part, say("contain a range without a step"), remedy)
    start, end, width = (_number(field, text) for text in (first, last, step))
    if not width:
        raise SettingError(field, part, say("contain a range with a step of 0"), say(_REMEDY))
    width = abs(width) if end >= start else -abs(width)
    count = math.floor((end - start) / width) + 1
    if count > room:
        raise _too_many(field, count)
    return [_plain(start + place * width) for place in range(count)]


def _number(field: str, text: str) -> Decimal:
    # Decimal, so that three steps of 0.1 are 0.3.
    if len(text) > LONGEST_NUMBER:
        problem = say(
            "contain a number of more than {longest_number} characters",
            longest_number=LONGEST_NUMBER,
        )
        raise SettingError(field, text, problem, say(_REMEDY))
    if not _ONE.fullmatch(text):
        raise SettingError(field, text, say("contain something that is not a number"), say(_REMEDY))
    if abs(float(text)) > LARGEST:
        remedy = say("use values up to {largest}", largest=f"{LARGEST:,.0f}")
        raise SettingError(field, text, say("contain a number too large for any setting"), remedy)
    return Decimal(text)


def _plain(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def _too_many(field: str, count: int) -> SettingError:
    remedy = say(
        "use at most {most_texts}, as a sweep takes no more texts; 5 or 6 are usual",
        most_texts=f"{MOST_TEXTS:,}",
    )
    return SettingError(field, count, say("are too many"), remedy)


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}


def unescaped(text: str) -> str:
    r"""Replace ``\n``, ``\t``, ``\r`` and ``\\`` in a one-line text with their characters."""
    return re.sub(r"\\([ntr\\])", lambda found: _ESCAPES[found.group(1)], text)
