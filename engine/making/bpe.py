"""Byte pair encoding: every merge that makes a token out of bytes or characters."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.making.fallback import byte_tokens


@dataclass(frozen=True)
class Merge:
    """A merge of two neighbouring tokens into one.

    Attributes:
        start, middle, end: the symbols that the two cover, from `start` to `middle` and from there
            to `end`.
        rank: place in the tokenizer's list of merges, from 0; the lowest rank goes first.
        left, right: ids of the two.
        id: id of the resulting token.
    """

    start: int
    middle: int
    end: int
    rank: int
    left: int
    right: int
    id: int


@dataclass(frozen=True)
class MergeHistory:
    """The merges of a pre-token (BPE: Sennrich et al. 2016; on bytes: Radford et al. 2019).

    Attributes:
        symbols: ids before the first merge: one per byte, or one per character.
        merges: the merges in order.
        is_whole: whether the vocabulary has the whole pre-token, and the tokenizer therefore skips
            the merges.
    """

    symbols: tuple[int, ...]
    merges: tuple[Merge, ...]
    is_whole: bool = False

    def ids_after(self, merges: int) -> tuple[int, ...]:
        """Return the token ids after the first `merges` merges."""
        ids: dict[int, int] = dict(enumerate(self.symbols))
        for merge in self.merges[:merges]:
            ids[merge.start] = merge.id
            del ids[merge.middle]
        return tuple(ids[start] for start in sorted(ids))

    @property
    def ids(self) -> tuple[int, ...]:
        """The final token ids."""
        return self.ids_after(len(self.merges))


class BytePairs:
    """A BPE tokenizer's tables.

    Args:
        model: the part ``model`` of its ``tokenizer.json``.
    """

    def __init__(self, model: Mapping[str, Any]) -> None:
        self._vocab: dict[str, int] = model["vocab"]
        self._prefix: str = model.get("continuing_subword_prefix") or ""
        self._suffix: str = model.get("end_of_word_suffix") or ""
        self._unknown = self._vocab.get(model.get("unk_token") or "")
        self._fuses: bool = model.get("fuse_unk", False)
        self._falls_back: bool = model.get("byte_fallback", False)
        self._takes_whole: bool = model.get("ignore_merges", False)
        self.merges: dict[tuple[int, int], tuple[int, int]] = {}
        for rank, merge in enumerate(model["merges"]):
            left, right = merge.split(" ", 1) if isinstance(merge, str) else merge
            made = left + right[len(self._prefix) :]
            self.merges[self._vocab[left], self._vocab[right]] = rank, self._vocab[made]

    def making(self, text: str) -> MergeHistory:
        """Return every merge of a pre-token."""
        if self._takes_whole and text in self._vocab:
            return MergeHistory((self._vocab[text],), (), is_whole=True)
        symbols = self._symbols(text)
        return MergeHistory(tuple(symbols), tuple(_merged(symbols, self.merges)))

    def _symbols(self, text: str) -> list[int]:
        symbols: list[int] = []
        was_unknown = False
        for place, character in enumerate(text):
            written = (self._prefix if place else "") + character
            if place == len(text) - 1:
                written += self._suffix
            ids = self._known(written)
            if ids is None and self._unknown is not None and not (was_unknown and self._fuses):
                symbols.append(self._unknown)
            was_unknown = ids is None
            symbols += ids or ()
        return symbols

    def _known(self, written: str) -> list[int] | None:
        if written in self._vocab:
            return [self._vocab[written]]
        return byte_tokens(written, self._vocab) if self._falls_back else None


def _merged(
    symbols: Sequence[int], table: Mapping[tuple[int, int], tuple[int, int]]
) -> Iterator[Merge]:
    """Yield the merges of symbols, lowest rank first; among equal ranks, leftmost first."""
    count = len(symbols)
    ids: list[int | None] = list(symbols)  # by the symbol that a token begins with
    ends = list(range(1, count + 1))
    begins = [place - 1 for place in range(count + 1)]  # of the token that ends before a symbol
    waiting: list[tuple[int, int, int]] = []

    def offer(start: int) -> None:
        if start >= 0 and ends[start] < count:
            found = table.get((ids[start], ids[ends[start]]))
            if found is not None:
                heapq.heappush(waiting, (found[0], start, found[1]))

    for start in range(count):
        offer(start)
    while waiting:
        rank, start, made = heapq.heappop(waiting)
        middle = ends[start]
        # A neighbour may have been merged since this pair was seen.
        if middle >= count or table.get((ids[start], ids[middle])) != (rank, made):
            continue
        end = ends[middle]
        yield Merge(start, middle, end, rank, ids[start], ids[middle], made)
        ids[start], ids[middle], ends[start], begins[end] = made, None, end, start
        offer(start)
        offer(begins[start])
