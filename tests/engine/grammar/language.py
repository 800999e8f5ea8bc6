"""Languages of bytes as plain expressions, with the bytes that may follow: they judge the masks.

The code shares nothing with llguidance. It reads an expression from left to right. Every way in
which the text could continue is kept as a stack of the parts still to match.

    >>> word = seq(text("a"), star(text("b")))
    >>> [may_follow(word, b"ab"), may_end(word, b"ab"), may_follow(word, b"ba")]
    [True, True, False]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

Expression = tuple
State = frozenset  # a set of stacks, which are tuples of expressions


# --- expressions ----------------------------------------------------------------------------------


def chars(*ranges: str | tuple[int, int]) -> Expression:
    """One byte: one of a text's ASCII characters, or one from a range."""
    found: set[int] = set()
    for each in ranges:
        found |= set(each.encode()) if isinstance(each, str) else set(range(each[0], each[1] + 1))
    return ("chars", frozenset(found))


def seq(*parts: Expression) -> Expression:
    """All these parts, in order."""
    return ("seq", *parts)


def alt(*parts: Expression) -> Expression:
    """One of these parts."""
    return ("alt", *parts)


def text(words: str) -> Expression:
    """Exactly these words."""
    return seq(*(("chars", frozenset((byte,))) for byte in words.encode()))


def maybe(part: Expression) -> Expression:
    """The part or nothing."""
    return alt(seq(), part)


def star(part: Expression) -> Expression:
    """Any number of repetitions; `part` is never empty."""
    return ("star", part)


def times(part: Expression, low: int, high: int) -> Expression:
    """From `low` to `high` repetitions."""
    more = seq()
    for _ in range(high - low):
        more = maybe(seq(part, more))
    return seq(*[part] * low, more)


def rule(make: Callable[[], Expression]) -> Expression:
    """An expression that may contain itself, except at its beginning."""
    return ("rule", make)


def characters(*excluded: int) -> Expression:
    """One UTF-8 character, without the excluded ASCII ones, surrogates and overlong forms."""
    more = (0x80, 0xBF)

    def of(*ranges: tuple[int, int]) -> Expression:
        return seq(*(chars(each) for each in ranges))

    return alt(
        ("chars", frozenset(range(0x80)) - frozenset(excluded)),
        of((0xC2, 0xDF), more),
        of((0xE0, 0xE0), (0xA0, 0xBF), more),
        of((0xE1, 0xEC), more, more),
        of((0xED, 0xED), (0x80, 0x9F), more),
        of((0xEE, 0xEF), more, more),
        of((0xF0, 0xF0), (0x90, 0xBF), more, more),
        of((0xF1, 0xF3), more, more, more),
        of((0xF4, 0xF4), (0x80, 0x8F), more, more),
    )


# --- reading --------------------------------------------------------------------------------------


@lru_cache(maxsize=100_000)
def _next(stack: tuple[Expression, ...]) -> tuple[tuple[frozenset[int], tuple], ...]:
    """(bytes, the remaining parts after one of these bytes); without bytes at the end."""
    if not stack:
        return ((frozenset(), ()),)
    (kind, *parts), rest = stack[0], stack[1:]
    if kind == "chars":
        return ((parts[0], rest),)
    if kind == "seq":
        return _next((*parts, *rest))
    if kind == "alt":
        return tuple(found for part in parts for found in _next((part, *rest)))
    if kind == "star":
        return (*_next(rest), *_next((parts[0], stack[0], *rest)))
    return _next((parts[0](), *rest))


def start(expression: Expression) -> State:
    """Return the state before the first byte."""
    return frozenset({(expression,)})


@lru_cache(maxsize=200_000)
def after(state: State, byte: int) -> State:
    """Return the state after one more byte, empty if it cannot follow."""
    return frozenset(rest for stack in state for taken, rest in _next(stack) if byte in taken)


def ends(state: State) -> bool:
    """Return True if the text may end here."""
    return any(not taken for stack in state for taken, _ in _next(stack))


def read(expression: Expression, data: bytes) -> State:
    """Return the state after all these bytes."""
    state = start(expression)
    for byte in data:
        state = after(state, byte)
    return state


def may_follow(expression: Expression, data: bytes) -> bool:
    """Return True if some text of the language begins with these bytes."""
    return bool(read(expression, data))


def may_end(expression: Expression, data: bytes) -> bool:
    """Return True if this is a text of the language."""
    return ends(read(expression, data))


# --- whole vocabularies ---------------------------------------------------------------------------


@dataclass
class Trie:
    """Tokens in a tree by their bytes."""

    ids: list[int]
    below: dict[int, Trie]

    @classmethod
    def of(cls, tokens: Sequence[bytes], no_text: frozenset[int]) -> Trie:
        """Hold all tokens except those without bytes and those in `no_text`."""
        root = cls([], {})
        for token_id, token in enumerate(tokens):
            if not token or token_id in no_text:
                continue
            node = root
            for byte in token:
                node = node.below.setdefault(byte, cls([], {}))
            node.ids.append(token_id)
        return root

    def allowed(self, state: State, size: int) -> np.ndarray:
        """(size,) bool, True for tokens whose bytes may all follow."""
        found = np.zeros(size, bool)
        todo = [(self, state)]
        while todo:
            node, here = todo.pop()
            found[node.ids] = True
            for byte, below in node.below.items():
                if there := after(here, byte):
                    todo.append((below, there))
        return found
