"""The child that runs a third-party tokenizer written in Rust.

A request is one of

    {"kind": "take"}, tokenizer                     the contents of ``tokenizer.json``; with a
                                                    "post_processor", pickled, if that differs
    {"kind": "encode", "special": ..., "as_text": ...}, text
    {"kind": "plain"}, text                         without added tokens
    {"kind": "stages", "segments": [...]}, text     see `stages`
    {"kind": "tables"}                              reads its model's tables, for "makings"
    {"kind": "makings"}, pre-tokens                 the steps to their tokens; see `engine.making`

An answer of {"needs": "take"} or "tables" asks for that request first, as this process lacks its
data.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from tokenizers import PreTokenizedString, Tokenizer

from engine.errors import PanicError, panics_as_errors
from engine.guarded.child import Answer, give_back_memory, serve
from engine.making import Maker, maker_of

# Most characters or tokens that one character may become. Unicode decomposes one into at most 18,
# and each of those may be three bytes, with a token each.
MOST_OF_ONE = 64
_MOST_OF_NONE = 1_000
_INNER = ("normalizers", "pretokenizers", "decoders")  # of a Sequence of parts

Part = tuple[str, int, int, tuple[int, ...]]


class GrownError(Exception):
    """A text grew far too much; the arguments are its length and the length of the result."""


def check_growth(given: int, made: int) -> None:
    """Raise `GrownError` if `made` is too much for a text of length `given`."""
    if made > _MOST_OF_NONE + MOST_OF_ONE * given:
        raise GrownError(given, made)


def refusal(error: Exception) -> dict:
    """Return an error as an answer; re-raises a `MemoryError`."""
    if isinstance(error, MemoryError):
        raise error
    if isinstance(error, GrownError):
        return {"grown": error.args}
    if isinstance(error, PanicError):
        return {"panic": error.message.values["reason"]}
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return {"error": lines[0].strip().rstrip(".:")[:160]}


def stages(
    backend: Tokenizer, text: str, segments: Sequence[Sequence[int]]
) -> tuple[list[list[str]], list[Part]]:
    """Run the stages of a tokenizer one by one, and its model on each pre-token.

    Args:
        backend: the tokenizer.
        text: the text to tokenize.
        segments: the stretches of the text between its control tokens, as (start, end).

    Returns:
        The pieces after splitting at control tokens, after the normaliser and after the
        pre-tokenizer; and for each pre-token its text, its start and end in the whole text, and its
        token ids.
    """
    worked = PreTokenizedString(text)
    worked.split(lambda place, whole: [whole[start:end] for start, end in segments])
    steps = [_texts(worked)]
    if backend.normalizer is not None:
        worked.normalize(backend.normalizer.normalize)
    steps.append(_texts(worked))
    if backend.pre_tokenizer is not None:
        backend.pre_tokenizer.pre_tokenize(worked)
    steps.append(_texts(worked))
    pieces = worked.get_splits("original", "char")
    return steps, [(piece, *span, _ids(backend, piece)) for piece, span, _ in pieces]


def _texts(worked: PreTokenizedString) -> list[str]:
    return [piece for piece, _, _ in worked.get_splits("original", "char")]


def _ids(backend: Tokenizer, piece: str) -> tuple[int, ...]:
    return tuple(token.id for token in backend.model.tokenize(piece))


def plain(backend: Tokenizer, text: str) -> list[int]:
    """Return the token ids of a text, with added tokens as text, as transformers finds them."""
    if backend.normalizer is not None:
        text = backend.normalizer.normalize_str(text)
    pieces = [text]
    if backend.pre_tokenizer is not None:
        pieces = [piece for piece, _ in backend.pre_tokenizer.pre_tokenize_str(text)]
    return [token_id for piece in pieces for token_id in _ids(backend, piece)]


def described(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a tokenizer: its kind, names of its parts, number of merges, unknown token.

    Args:
        parts: contents of its ``tokenizer.json``.
    """
    model = parts["model"]
    kind = model["type"]
    names = {part: list(_names(parts[part])) for part in ("normalizer", "pre_tokenizer", "decoder")}
    if kind == "Unigram":
        unknown = model.get("unk_id")
    else:
        unknown = model["vocab"].get(model.get("unk_token") or "")
    merges = len(model["merges"]) if kind == "BPE" else None
    return {"kind": kind, **names, "merges": merges, "unknown": unknown}


def _names(part: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the name of a tokenizer's part, or the names of the parts that it consists of."""
    if part is None:
        return
    inner = next((part[key] for key in _INNER if isinstance(part.get(key), list)), None)
    if inner is None:
        yield part["type"]
    for one in inner or ():
        yield from _names(one)


class Cutter:
    """The tokenizer that the parent handed over; it answers the parent's requests."""

    def __init__(self) -> None:
        self._backend: Tokenizer | None = None
        self._maker: Maker | None = None

    def answer(self, request: dict, data: bytes) -> Answer:
        try:
            with panics_as_errors():
                return self._answer(request, data)
        except Exception as error:  # tokenizers fail in their own ways
            return refusal(error), b""

    def _answer(self, request: dict, data: bytes) -> Answer:
        if request["kind"] == "take":
            self._backend = Tokenizer.from_buffer(data)
            self._backend.no_truncation()
            self._backend.no_padding()
            if "post_processor" in request:
                self._backend.post_processor = pickle.loads(
                    bytes.fromhex(request["post_processor"])
                )
            give_back_memory()
            return {}, b""
        if self._backend is None:
            return {"needs": "take"}, b""
        if request["kind"] == "tables":
            self._maker = maker_of(json.loads(self._backend.to_str())["model"])
            return {}, b""
        if request["kind"] == "makings":
            if self._maker is None:
                return {"needs": "tables"}, b""
            return {}, msgspec.json.encode([self._maker.making(one) for one in json.loads(data)])
        text = data.decode("utf-8", "surrogatepass")
        if request["kind"] == "stages":
            steps, parts = stages(self._backend, text, request["segments"])
            check_growth(len(text), sum(len(piece) for step in steps for piece in step))
            return {}, json.dumps([steps, parts]).encode()
        if request["kind"] == "plain":
            ids = plain(self._backend, text)
            check_growth(len(text), len(ids))
            return {}, json.dumps(ids).encode()
        self._backend.encode_special_tokens = request["as_text"]
        encoding = self._backend.encode(text, add_special_tokens=request["special"])
        check_growth(len(text), len(encoding))
        return {}, encoding.__getstate__()


if __name__ == "__main__":
    serve(Cutter().answer)
