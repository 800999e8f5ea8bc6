"""The child that reads third-party tokenizers, so that their files are parsed only here.

It also runs those that transformers runs in Python. A request is one of

    {"kind": "read", "folder": ..., "most": ...}    facts and contents; see `_read_out`
    {"kind": "take", "folder": ...}                 reads it again, and keeps it
    {"kind": "tokenize", "options": {...}}, text

An answer of {"needs": "take"} asks for that request first, as this process lacks the tokenizer.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import re
import sys
from collections.abc import Sequence

if __name__ == "__main__":
    sys.modules["torch"] = None  # transformers works without it, and loads in half the time

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from engine.errors import panics_as_errors
from engine.guarded.child import Answer, give_back_memory, serve
from engine.guarded.cutting import check_growth, described, refusal

_PER_LINE = 2_000  # entries that the other process parses at once, in a millisecond or two
_TEXT = "Once upon a time"
# Attributes with the contents of its files, which a tokenizer keeps only for saving.
_FILES = ("vocab", "merges", "_vocab", "_merges", "added_tokens_decoder")


class Reader:
    """The handler of the parent's requests, with the tokenizer that it runs."""

    def __init__(self) -> None:
        self._tokenizer: PreTrainedTokenizerBase | None = None

    def answer(self, request: dict, data: bytes) -> Answer:
        try:
            with panics_as_errors():
                return self._answer(request, data)
        except Exception as error:  # tokenizer classes fail in their own ways
            return refusal(error), b""
        finally:
            if "folder" in request:
                give_back_memory()

    def _answer(self, request: dict, data: bytes) -> Answer:
        if request["kind"] == "read":
            return _read_out(_read(request["folder"]), request["most"])
        if request["kind"] == "take":
            self._tokenizer = _read(request["folder"])
            return {}, b""
        if self._tokenizer is None:
            return {"needs": "take"}, b""
        text = data.decode("utf-8", "surrogatepass")
        pieces = self._tokenizer.tokenize(text, **request["options"])
        check_growth(len(text), sum(map(len, pieces)))
        return {}, json.dumps(pieces).encode()


def _read(folder: str) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)


def _read_out(tokenizer: PreTrainedTokenizerBase, most: int) -> Answer:
    """Return the facts about a tokenizer and, if it is written in Rust, its contents.

    Args:
        tokenizer: the tokenizer.
        most: if the highest id is this or more, only the facts are returned.

    Returns:
        The length of its longest token in characters, its number of entries and its highest id. For
        a tokenizer written in Rust, also its sizes and its hash, and four parts in a row with their
        `lengths`: its pieces in the order of ids, and its added tokens, both as lines of JSON; the
        rest of the transformers tokenizer, pickled; and the whole ``tokenizer.json``.
    """
    highest = max(tokenizer.get_vocab().values(), default=-1)
    found = {"longest": _try_out(tokenizer), "entries": len(tokenizer), "highest": highest}
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or highest >= most:
        return found, b""
    backend.no_truncation()
    backend.no_padding()
    whole = backend.to_str()
    data = whole.encode()
    added = [
        (number, one.content, one.single_word, one.lstrip, one.rstrip, one.normalized, one.special)
        for number, one in backend.get_added_tokens_decoder().items()
    ]
    settings = {
        "decoder": backend.decoder,
        "described": described(json.loads(whole)),
        "encode_special_tokens": backend.encode_special_tokens,
        "post_processor": backend.post_processor,
    }
    tokenizer._tokenizer = None
    for kept in (vars(tokenizer), tokenizer.init_kwargs):
        for name in _FILES:
            kept.pop(name, None)
    pieces = [backend.id_to_token(number) for number in range(highest + 1)]
    parts = _lines(pieces), _lines(added), pickle.dumps((tokenizer, settings)), data
    return {
        **found,
        "entries_of_model": backend.get_vocab_size(with_added_tokens=False),
        "hash": hashlib.sha256(data).hexdigest(),
        "lengths": list(map(len, parts)),
    }, b"".join(parts)


def _lines(entries: Sequence[object]) -> bytes:
    starts = range(0, len(entries), _PER_LINE)
    return b"\n".join(json.dumps(entries[start : start + _PER_LINE]).encode() for start in starts)


def _try_out(tokenizer: PreTrainedTokenizerBase) -> int:
    """Decode every token; returns the length of the longest text in characters."""
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
    # Chat templates compile such a pattern to find control tokens in a message.
    re.compile("|".join(map(re.escape, tokenizer.added_tokens_encoder)))
    return longest


if __name__ == "__main__":
    serve(Reader().answer)
