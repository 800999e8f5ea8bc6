"""Counts of prompts that occur word for word in the training texts.

A prompt that occurs tests memory. One that does not tests whether a fact was learnt apart from its
wording.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from engine.model.vocabulary import Vocabulary
from models.training.tokenizer import END_OF_TEXT_ID

_BLOCK = 1_000_000  # tokens turned into text at a time
_BETWEEN_DOCUMENTS = b"\x00"  # no prompt contains it, so no match spans two documents


def token_pieces(vocabulary: Vocabulary) -> list[bytes]:
    """Return the bytes of every token; end-of-text becomes a mark that no prompt contains."""
    pieces = [vocabulary.token_bytes(token_id) for token_id in range(vocabulary.known)]
    pieces[END_OF_TEXT_ID] = _BETWEEN_DOCUMENTS
    return pieces


def occurrences(
    prompts: Iterable[str], shards: Mapping[str, np.ndarray], pieces: Sequence[bytes]
) -> dict[str, int]:
    """Count the occurrences of each prompt, case-sensitively; a line break counts as a space.

    Args:
        shards: name -> (tokens,), the training texts.
        pieces: bytes by token id.
    """
    wanted = {prompt: prompt.encode().replace(b"\n", b" ") for prompt in prompts}
    counts = dict.fromkeys(wanted, 0)
    for row in shards.values():
        text = _text(row, pieces)
        for prompt, data in wanted.items():
            counts[prompt] += text.count(data)
    return counts


def _text(row: np.ndarray, pieces: Sequence[bytes]) -> bytes:
    blocks = [
        b"".join(map(pieces.__getitem__, row[start : start + _BLOCK].tolist()))
        for start in range(0, len(row), _BLOCK)
    ]
    return b"".join(blocks).replace(b"\n", b" ")
