"""Thinking: the part of a chat model's answer between ``<think>`` and ``</think>``.

The marks are found in the text, as not every tokenizer has them as tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import SettingError, msg

OPEN, CLOSE = "<think>", "</think>"


def tokens_thought(before: str, pieces: Sequence[str]) -> int | None:
    """Return the number of tokens since the model began to think; None if it does not think.

    Args:
        before: the text before the answer, which may end with the opening mark.
        pieces: the text of each token of the answer, special tokens included.
    """
    text = before + "".join(pieces)
    opened = text.rfind(OPEN)
    if opened < 0 or text.rfind(CLOSE) > opened:
        return None
    begin, at, count = opened + len(OPEN), len(before), 0
    for piece in pieces:
        count += at >= begin
        at += len(piece)
    return count


def checked_budget(budget: object) -> int | None:
    """Return a thinking budget in tokens, None for no limit; raises `SettingError`."""
    is_whole = isinstance(budget, int) and not isinstance(budget, bool)
    if budget is None or (is_whole and budget >= 1):
        return budget
    remedy = msg("use a whole number of tokens from 1 on, or None for no limit")
    raise SettingError("thinking_budget", budget, "must be a whole number from 1 on", remedy)
