"""The child that reads tokenizers of other people, before this process does.

It also cuts texts by one that transformers runs in Python. A request is one of

    {"kind": "read", "folder": ...}     all that reading it takes; tells its longest token's length
    {"kind": "take", "folder": ...}     reads it again, and keeps it
    {"kind": "tokenize", "options": {...}}, text

An answer of {"needs": "tokenizer"} asks for what is not here, or no longer.
"""

from __future__ import annotations

import json
import re
import sys

if __name__ == "__main__":
    sys.modules["torch"] = None  # transformers does without it, and is there in half the time

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from engine.errors import panics_as_errors
from engine.guarded.child import Answer, give_back_memory, serve
from engine.guarded.cutting import check_growth, refusal

_TEXT = "Once upon a time"


class Reader:
    """The tokenizer that was taken in."""

    def __init__(self) -> None:
        self._tokenizer: PreTrainedTokenizerBase | None = None

    def answer(self, request: dict, data: bytes) -> Answer:
        try:
            with panics_as_errors():
                return self._answer(request, data)
        except Exception as error:  # tokenizer classes fail in ways of their own
            return refusal(error), b""
        finally:
            if "folder" in request:
                give_back_memory()

    def _answer(self, request: dict, data: bytes) -> Answer:
        if request["kind"] == "read":
            return {"longest": _try_out(_read(request["folder"]))}, b""
        if request["kind"] == "take":
            self._tokenizer = _read(request["folder"])
            return {}, b""
        if self._tokenizer is None:
            return {"needs": "tokenizer"}, b""
        text = data.decode("utf-8", "surrogatepass")
        pieces = self._tokenizer.tokenize(text, **request["options"])
        check_growth(len(text), sum(map(len, pieces)))
        return {}, json.dumps(pieces).encode()


def _read(folder: str) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)


def _try_out(tokenizer: PreTrainedTokenizerBase) -> int:
    """Find all tokens' texts; return the characters of the longest."""
    pieces = tokenizer.get_vocab()
    longest = max(map(len, pieces), default=0)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None and backend.normalizer is not None:
        check_growth(len(_TEXT), len(backend.normalizer.normalize_str(_TEXT)))
    if backend is None:
        made = (len(tokenizer.convert_tokens_to_string([piece])) for piece in pieces)
        longest = max(longest, max(made, default=0))
    elif backend.decoder is not None:
        for piece in pieces:
            made = len(backend.decoder.decode(["a", piece]))
            check_growth(len(piece), made)
            longest = max(longest, made - 1)  # the letter in front
    # As a chat template looks for control tokens in a message.
    re.compile("|".join(map(re.escape, tokenizer.added_tokens_encoder)))
    return longest


if __name__ == "__main__":
    serve(Reader().answer)
