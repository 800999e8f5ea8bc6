"""What ends generation: max tokens, an end-of-text token, a stop string, the end of the context."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import SettingError

MAX_TOKENS = "max_tokens"
EOS = "eos"
STOP_STRING = "stop_string"
CONTEXT = "context"

# Where a model sets no limit of its own (recurrent models), runs are still bounded.
LONGEST_RUN = 1_000_000


@dataclass(frozen=True)
class StopStringMatch:
    """A stop string found in the generated text.

    Attributes:
        string: the stop string.
        start: character offset in the generated text at which it begins.
    """

    string: str
    start: int


def checked_stop_strings(stop_strings: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Stop strings as a tuple; raises `SettingError` for an empty one or one that is no text."""
    remedy = "give the text that ends generation, or leave it out"
    if not isinstance(stop_strings, (str, list, tuple)):
        raise SettingError("stop_strings", stop_strings, "must be text or a list of texts", remedy)
    strings = (stop_strings,) if isinstance(stop_strings, str) else tuple(stop_strings)
    for string in strings:
        if not isinstance(string, str) or not string:
            raise SettingError("stop_strings", string, "must be non-empty text", remedy)
    return strings


def checked_max_new_tokens(max_new_tokens: object, context_length: int | None) -> int:
    """`max_new_tokens` as given, or a `SettingError` naming the most that can be asked for."""
    most = LONGEST_RUN if context_length is None else context_length
    remedy = f"use a whole number from 0 to {most:,}"
    if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, int):
        raise SettingError("max_new_tokens", max_new_tokens, "must be a whole number", remedy)
    if max_new_tokens < 0:
        raise SettingError("max_new_tokens", max_new_tokens, "must not be negative", remedy)
    if max_new_tokens > most:
        holds = "the longest run" if context_length is None else "the model's whole context"
        problem = f"is more than {holds} of {most:,} tokens"
        raise SettingError("max_new_tokens", max_new_tokens, problem, remedy)
    return max_new_tokens


def find_stop_string(
    text: str, added: int, stop_strings: tuple[str, ...]
) -> StopStringMatch | None:
    """The stop string that begins first in `text` and ends in its last `added` characters.

    A stop string may begin in the middle of one token and end in the middle of another, so the
    search is over text, not tokens. Where two begin at the same place, the shorter one wins.
    """
    best: StopStringMatch | None = None
    for string in stop_strings:
        start = text.find(string, max(0, len(text) - added - len(string) + 1))
        if start >= 0:
            match = StopStringMatch(string, start)
            if best is None or (start, len(string)) < (best.start, len(best.string)):
                best = match
    return best
