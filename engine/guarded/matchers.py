"""The child that matches texts against grammars, for `engine.grammar.allowed_tokens`.

A request is one of

    {"grammar": ..., "kind": "check"}           whether the grammar is valid
    {"grammar": ..., "kind": "begins", "texts": [...]}      for each, whether it may begin a text
    {"table": n, "special": [...]}, tokens      the tokens of a model, with a number
    {"table": n, "source": m, "kind": "place", "ids": ..., "mask": true}
    {"table": n, "source": m, "kind": "forced", "ids": ...}

An answer of {"needs": "table"} or {"needs": "grammar"} asks for data that this process lacks.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from typing import TypeVar

from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from engine.guarded.child import Answer, serve

MOST_TABLES = 4
MOST_MATCHERS = 8  # of each table
_NO_WAY_ON = "NoExtensionBias"
_END = b"<end of text>"
Value = TypeVar("Value")


def limits() -> LLParserLimits:
    """Return the limits on compiling a source and on a step in it; beyond them it is refused.

    A lexer state takes some 2 kB, so that a matcher stays below 50 MB. Some costs, such as
    intersections, are not counted; the limits of this process cover those.
    """
    return LLParserLimits(
        initial_lexer_fuel=1_000_000,
        step_lexer_fuel=200_000,
        step_max_items=50_000,
        max_lexer_states=25_000,
        max_grammar_size=200_000,
        verbose_errors=False,
    )


class _GivenUpError(Exception):
    """The matcher cannot continue; the arguments are the number of tokens read and its message."""

    def __init__(self, after: int, said: str) -> None:
        super().__init__(after, said)


class _Tokens:
    """A model's tokens in the form that llguidance accepts.

    One extra entry represents the end of the text, so that models without an end-of-text token, or
    with several, are treated alike.
    """

    is_tokenizer_wrapper = True  # llguidance recognises it by this
    bos_token_id = None

    def __init__(self, tokens: list[bytes], special_ids: list[int]) -> None:
        self.eos_token_id = len(tokens)
        self.tokens = [*tokens, _END]
        self.special_token_ids = [*special_ids, self.eos_token_id]

    def __call__(self, text: str | bytes) -> list[int]:
        raise NotImplementedError("texts become tokens in the other process")


class Table:
    """The tokens of a model, and the matchers over them."""

    def __init__(self, tokens: list[bytes], special_ids: list[int]) -> None:
        end = len(tokens)
        made = _Tokens(tokens, special_ids)
        self._tokenizer = LLTokenizer(made, n_vocab=end + 1, eos_token=[end])
        self._readers: OrderedDict[int, _Reader] = OrderedDict()

    def reader(self, number: int, grammar: str | None) -> _Reader | None:
        """Return the reader of a source; None if it is new and comes without its grammar."""
        reader = self._readers.get(number)
        if reader is None and grammar is not None:
            reader = _Reader(self._tokenizer, grammar)
        return reader and _kept(self._readers, number, reader, MOST_MATCHERS)


class _Reader:
    """One source's matcher, and the tokens that it has read."""

    def __init__(self, tokenizer: LLTokenizer, grammar: str) -> None:
        self._tokenizer, self._grammar = tokenizer, grammar
        self._matcher: LLMatcher | None = None
        self._read: list[int] = []

    def place(self, ids: list[int], with_mask: bool) -> Answer:
        broken_at = self._go_to(ids)
        if broken_at is not None:
            return {"broken_at": broken_at}, b""
        found = {"broken_at": None, "may_end": self._matcher.is_accepting()}
        if not with_mask:
            return found, b""
        bits = self._matcher.compute_bitmask()
        if self._matcher.is_error() and self._matcher.get_error().startswith(_NO_WAY_ON):
            self._matcher = None  # no token fits: not an error, but a dead end
            return found, b""
        self._refuse_error()
        return found, bytes(bits)

    def forced(self, ids: list[int]) -> Answer:
        if self._go_to(ids) is not None:
            return {}, b""
        found = self._matcher.compute_ff_bytes()
        self._refuse_error()
        return {}, found

    def _go_to(self, ids: list[int]) -> int | None:
        """Move the matcher to after these tokens; returns the index of one it rejects, or None."""
        if self._matcher is None:
            self._matcher = LLMatcher(self._tokenizer, self._grammar, log_level=0, limits=limits())
            self._read = []
            self._refuse_error()
        common = 0
        while common < min(len(ids), len(self._read)) and ids[common] == self._read[common]:
            common += 1
        if common < len(self._read):
            if not self._matcher.rollback(len(self._read) - common):
                self._refuse_error()
            del self._read[common:]
        if common == len(ids):
            return None
        taken = self._matcher.try_consume_tokens(ids[common:])
        self._refuse_error()
        self._read += ids[common : common + taken]
        return common + taken if common + taken < len(ids) else None

    def _refuse_error(self) -> None:
        """Raise `_GivenUpError` if the matcher has an error; the next call makes a new matcher."""
        if self._matcher.is_error():
            said, after = self._matcher.get_error(), len(self._read)
            self._matcher, self._read = None, []
            raise _GivenUpError(after, said)


class Matchers:
    """The token tables that the parent handed over, with their matchers."""

    def __init__(self) -> None:
        self._tables: OrderedDict[int, Table] = OrderedDict()

    def answer(self, request: dict, data: bytes) -> Answer:
        try:
            return self._answer(request, data)
        except _GivenUpError as error:
            after, said = error.args
            return {"after": after, "error": said}, b""

    def _answer(self, request: dict, data: bytes) -> Answer:
        kind, number = request["kind"], request.get("table")
        if kind == "check":
            return {"problem": problem(request["grammar"])}, b""
        if kind == "begins":
            return {"begins": begins(request["grammar"], request["texts"])}, b""
        if kind == "table":
            table = Table(_cut(data, request["lengths"]), request["special"])
            _kept(self._tables, number, table, MOST_TABLES)
            return {}, b""
        if number not in self._tables:
            return {"needs": "table"}, b""
        table = _kept(self._tables, number, self._tables[number], MOST_TABLES)
        reader = table.reader(request["source"], request.get("grammar"))
        if reader is None:
            return {"needs": "grammar"}, b""
        ids = [each for (each,) in struct.iter_unpack("<q", data)]
        return reader.forced(ids) if kind == "forced" else reader.place(ids, request["mask"])


def problem(grammar: str) -> str:
    """Return llguidance's objection to a grammar; empty if it has none."""
    is_error, messages = LLMatcher.validate_grammar_with_warnings(grammar, limits=limits())
    return messages[0] if is_error else ""


def begins(grammar: str, texts: list[str]) -> list[bool]:
    """Return for each text whether the grammar allows it as a beginning.

    All are True if llguidance refuses the grammar.
    """
    matcher = LLMatcher(LLTokenizer("byte"), grammar, log_level=0, limits=limits())
    found = []
    for data in map(str.encode, texts):
        found.append(matcher.is_error() or matcher.try_consume_tokens(list(data)) == len(data))
        matcher.reset()
    return found


def _kept(held: OrderedDict[int, Value], number: int, value: Value, most: int) -> Value:
    held[number] = value
    held.move_to_end(number)
    if len(held) > most:
        held.popitem(last=False)
    return value


def _cut(data: bytes, lengths: list[int]) -> list[bytes]:
    parts, start = [], 0
    for length in lengths:
        parts.append(data[start : start + length])
        start += length
    return parts


if __name__ == "__main__":
    serve(Matchers().answer)
