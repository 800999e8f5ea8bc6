"""A generated text that a person has edited, as the tokens to keep and those to force."""

from __future__ import annotations

from collections.abc import Sequence

from engine.model import Vocabulary
from engine.trace import Step


def edited(steps: Sequence[Step], text: str, vocabulary: Vocabulary) -> tuple[int, list[int]]:
    """Return how many steps of a text stay, and the tokens that follow them.

    Args:
        steps: the steps of the text.
        text: the new text; special tokens are not part of it.
        vocabulary: that of the model.

    Raises:
        PromptError, TokenizerError: as in `Vocabulary.encode_inside`.
    """
    data, kept, at = text.encode(), 0, 0
    for step in steps:
        piece = _spelled(step)
        if data[at : at + len(piece)] != piece:
            break
        kept, at = kept + 1, at + len(piece)
    if at == len(data):
        return kept, []
    # Not within a character, nor after an end of text.
    while kept and (data[at] & 0xC0 == 0x80 or steps[kept - 1].is_special):
        kept, at = kept - 1, at - len(_spelled(steps[kept - 1]))
    if kept and (before := _spelled(steps[kept - 1])) and _is_whole(before):
        token_ids = vocabulary.encode_inside(data[at - len(before) :].decode())
        if token_ids[0] == steps[kept - 1].token_id:
            return kept, token_ids[1:]
        return kept - 1, token_ids
    return kept, vocabulary.encode_inside(data[at:].decode())


def _spelled(step: Step) -> bytes:
    return b"" if step.is_special else step.token_bytes


def _is_whole(data: bytes) -> bool:
    """Return whether bytes begin at a character: after an unfinished one they would not decode."""
    return data[0] & 0xC0 != 0x80
