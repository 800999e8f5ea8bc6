"""Reasons to stop: max tokens, an end-of-text token, a stop string, the end of the context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.errors import SettingError, msg

if TYPE_CHECKING:
    from engine.model import LanguageModel

MAX_TOKENS = "max_tokens"
EOS = "eos"
STOP_STRING = "stop_string"
CONTEXT = "context"

# No context in use today is longer. It also bounds runs of models without a limit.
LONGEST_RUN = 1_000_000
# Remedies are made once: to format one takes longer than to check a value.
_GIVE_TEXT = msg("give the text that ends generation, or leave it out")
_GIVE_NUMBER = msg("use a whole number from 0 to {longest_run:,}", LONGEST_RUN)


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
    """Return stop strings as a tuple; raises `SettingError` for one that is empty or not text."""
    if not isinstance(stop_strings, (str, list, tuple)):
        problem = "must be text or a list of texts"
        raise SettingError("stop_strings", stop_strings, problem, _GIVE_TEXT)
    strings = (stop_strings,) if isinstance(stop_strings, str) else tuple(stop_strings)
    for string in strings:
        if not isinstance(string, str) or not string:
            raise SettingError("stop_strings", string, "must be non-empty text", _GIVE_TEXT)
    return strings


def checked_max_new_tokens(max_new_tokens: object) -> int:
    """Return `max_new_tokens` as a plain number, or raise a `SettingError` that names the range.

    It may exceed the context, whose end is a separate stop rule.
    """
    if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, (int, np.integer)):
        raise SettingError("max_new_tokens", max_new_tokens, "must be a whole number", _GIVE_NUMBER)
    if max_new_tokens < 0:
        raise SettingError("max_new_tokens", max_new_tokens, "must not be negative", _GIVE_NUMBER)
    if max_new_tokens > LONGEST_RUN:
        problem = msg("exceeds the maximum of {longest_run:,} tokens per run", LONGEST_RUN)
        raise SettingError("max_new_tokens", max_new_tokens, problem, _GIVE_NUMBER)
    return int(max_new_tokens)


def find_stop_string(
    text: str, added: int, stop_strings: tuple[str, ...]
) -> StopStringMatch | None:
    """Find the stop string that begins first in `text` and ends in its last `added` characters.

    A stop string may begin in the middle of one token and end in the middle of another, so the
    search is over text, not tokens. If two begin at the same place, the shorter one wins.
    """
    best: StopStringMatch | None = None
    for string in stop_strings:
        start = text.find(string, max(0, len(text) - added - len(string) + 1))
        if start >= 0:
            match = StopStringMatch(string, start)
            if best is None or (start, len(string)) < (best.start, len(best.string)):
                best = match
    return best


def reason(
    model: LanguageModel,
    token_id: int,
    stop_string: str | None,
    *,
    eos_ids: tuple[int, ...],
    tokens: int,
    limit: int | None,
    positions: int,
) -> str | None:
    """Return the reason that generation ends with a token; None if it continues.

    An end-of-text token or stop string takes precedence over a limit.

    Args:
        model: for the length of its context.
        token_id: the token.
        stop_string: the stop string that ends with it, if any.
        eos_ids: tokens that end the text.
        tokens: number of generated tokens, this one included.
        limit: the most tokens to generate; None for any number.
        positions: positions that the text takes in the context, prompt and this token included.
    """
    if token_id in eos_ids:
        return EOS
    if stop_string is not None:
        return STOP_STRING
    if limit is not None and tokens >= limit:
        return MAX_TOKENS
    if model.context_length is not None and positions >= model.context_length:
        return CONTEXT
    return None
