"""The place of a text in a source: the tokens that may follow, a possible end, forced bytes.

The answers depend only on the source and the tokens so far, so texts may be rewound, forked and
generated together. They come from a separate process (see `reading`), so that a source cannot block
this one. The latest answers are cached.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.errors import SettingError, msg
from engine.grammar.reading import SETTING, TABLE_SECONDS, asked
from engine.grammar.source import grammar, shortened
from engine.guarded import Child

MOST_SOURCES = 256
MOST_PLACES = 64
_numbers = itertools.count()


@dataclass(frozen=True)
class TokenTable:
    """A model's tokens in the form that a matcher needs.

    Attributes:
        tokens: the bytes of every token that the model scores; empty for one that is not text.
        special_ids: control tokens, which are not text whatever their bytes.
        eos_ids: tokens that end a text.
    """

    tokens: Sequence[bytes]
    special_ids: frozenset[int]
    eos_ids: tuple[int, ...]


@dataclass(frozen=True)
class Place:
    """The place of a text in a source, and the tokens that may follow there.

    Attributes:
        allowed: (vocab,) bool, the tokens that may come next; read-only. It includes those that end
            a text if and only if it may end.
        may_end: whether the text so far is complete.
        must_end: whether it is complete and nothing can be added.
        broken_at: index of the first token that the source does not allow, None without one. After
            it, no token is allowed.
    """

    allowed: np.ndarray
    may_end: bool = False
    must_end: bool = False
    broken_at: int | None = None

    def __post_init__(self) -> None:
        self.allowed.setflags(write=False)


class Places:
    """A lookup of the places of texts in sources, for one model's tokens.

    Args:
        table: returns the model's tokens when they are first needed; None for a model without a
            tokenizer.
        vocab_size: number of tokens that the model scores.

    May be used from any thread.
    """

    def __init__(self, table: Callable[[], TokenTable] | None, vocab_size: int) -> None:
        self.vocab_size = vocab_size
        self._table_of = table
        self._lock = threading.Lock()
        self._sources: OrderedDict[tuple[str, str], _Source] = OrderedDict()
        self._places: OrderedDict[tuple[str, str, bytes], Place] = OrderedDict()

    def at(self, language: str, source: str, token_ids: Sequence[int] | np.ndarray) -> Place:
        """Return the place of a text in a source.

        Args:
            language, source: as in `engine.grammar.source`.
            token_ids: the tokens generated since the source took effect.

        Raises:
            SettingError: the model has no tokenizer, the source is not valid, or following it
                exceeds its limits.
        """
        ids = np.ascontiguousarray(token_ids, np.int64)
        key = (language, source, ids.tobytes())
        with self._lock:
            place = self._places.get(key)
        place = place or self._place(language, source, ids)
        with self._lock:
            _keep(self._places, key, place, MOST_PLACES)
        return place

    def forced(self, language: str, source: str, token_ids: Sequence[int] | np.ndarray) -> bytes:
        """Return the bytes that must come next in any case; raises the same as `at`."""
        ids = np.ascontiguousarray(token_ids, np.int64)
        if self._tokens(source).are_ends(ids).any():
            return b""
        return self._asked(language, source, {"kind": "forced"}, ids)[1]

    def _place(self, language: str, source: str, ids: np.ndarray) -> Place:
        tokens = self._tokens(source)
        is_end = tokens.are_ends(ids)
        end = int(is_end.argmax()) if is_end.any() else None
        request = {"kind": "place", "mask": end is None}
        found, bits = self._asked(language, source, request, ids[:end])
        if found["broken_at"] is not None:
            return Place(self._none(), broken_at=found["broken_at"])
        may_end = found["may_end"]
        if end is None:
            allowed = tokens.mask(bits)
        elif may_end:  # only the end follows the end
            allowed = self._none()
            if not is_end[end:].all():
                return Place(allowed, broken_at=end + int(is_end[end:].argmin()))
        else:
            return Place(self._none(), broken_at=end)
        if not may_end:
            return Place(allowed)
        must_end = not allowed.any()
        allowed[tokens.eos_ids] = True
        return Place(allowed, may_end=True, must_end=must_end)

    def _none(self) -> np.ndarray:
        return np.zeros(self.vocab_size, bool)

    def _asked(
        self, language: str, source: str, request: dict, ids: np.ndarray
    ) -> tuple[dict, bytes]:
        """Return a process' answer about a text that has not ended."""
        key = (language, source)
        with self._lock:
            known = self._sources.get(key)
        made = known or _Source(grammar(language, source), next(_numbers))
        tokens = self._tokens(source)
        request = {**request, "table": tokens.number, "source": made.number}

        def ask(process: Child, seconds: float) -> tuple[dict, bytes, int]:
            found, data = process.ask(request, ids.tobytes(), seconds)
            while "needs" in found:
                if found["needs"] == "table":
                    tokens.tell(process)
                whole = {**request, "grammar": made.grammar}
                found, data = process.ask(whole, ids.tobytes(), seconds)
            return found, data, process.starts

        found, data, read_at = asked(shortened(source), made.read_at, ask)
        if known is None:
            made = replace(made, read_at=read_at)
        if "error" in found:
            message = found["error"].splitlines()
            said, after = message[0] if message else msg("no reason given"), found["after"]
            problem = msg("cannot be followed after {after:,} tokens ({said})", (after, said))
            raise SettingError(SETTING, shortened(source), problem, "simplify it")
        with self._lock:
            _keep(self._sources, key, made, MOST_SOURCES)
        return found, data

    def _tokens(self, source: str) -> _Tokens:
        if self._table_of is None:
            problem, remedy = (
                msg("needs the text of every token"),
                msg("choose a model with a tokenizer"),
            )
            raise SettingError(SETTING, shortened(source), problem, remedy)
        return self._known_tokens

    @cached_property
    def _known_tokens(self) -> _Tokens:
        return _Tokens(self._table_of(), self.vocab_size)


@dataclass(frozen=True)
class _Source:
    """A source in the form that the processes receive.

    Attributes:
        grammar: the grammar in the form that llguidance accepts.
        number: the number that identifies it.
        read_at: `starts` of the first process when it compiled the source; None before that.
    """

    grammar: str
    number: int
    read_at: int | None = None


class _Tokens:
    """A model's tokens in the form that a separate process receives."""

    def __init__(self, table: TokenTable, vocab_size: int) -> None:
        self.number = next(_numbers)
        self.eos_ids = np.array([i for i in table.eos_ids if i < vocab_size], np.int64)
        tokens = list(table.tokens[:vocab_size])
        special = table.special_ids | set(self.eos_ids.tolist())
        self._special = sorted(i for i in special if i < vocab_size)
        self._lengths = list(map(len, tokens))
        self._data = b"".join(tokens)
        # Tokens without bytes are not text but padding of the output layer. `Places` decides on the
        # end of a text.
        self._is_text = np.array(self._lengths) > 0
        self._is_text[self.eos_ids] = False

    def are_ends(self, ids: np.ndarray) -> np.ndarray:
        """Return which of the tokens end a text: (n,) bool."""
        return (ids[:, None] == self.eos_ids).any(1)

    def tell(self, process: Child) -> None:
        """Send the tokens to a process that does not have them."""
        request = {"kind": "table", "table": self.number, "special": self._special}
        process.ask(request | {"lengths": self._lengths}, self._data, TABLE_SECONDS)

    def mask(self, bits: bytes) -> np.ndarray:
        """Unpack a mask, without tokens that are not text; all False if empty: (vocab,) bool."""
        size = self._is_text.size
        if not bits:
            return np.zeros(size, bool)
        found = np.unpackbits(np.frombuffer(bits, np.uint8), count=size, bitorder="little")
        return found.astype(bool) & self._is_text


def _keep(held: OrderedDict, key: tuple, value: object, most: int) -> None:
    held[key] = value
    held.move_to_end(key)
    if len(held) > most:
        held.popitem(last=False)
