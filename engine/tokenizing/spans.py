"""Spans of tokens in a text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Span = tuple[int, int]


def placed(text: str, data: Sequence[bytes]) -> list[tuple[int, int, int]] | None:
    """Return the characters and the first byte of each piece of a text.

    Args:
        text: the text.
        data: its bytes as UTF-8, in pieces.

    Returns:
        For each piece, its first character, the one after its last, and its first byte. Pieces of
        one character share it. None if the pieces do not spell the text.
    """
    if b"".join(data) != text.encode():
        return None
    owners = [place for place, character in enumerate(text) for _ in character.encode()]
    owners.append(len(text))
    found, first = [], 0
    for piece in data:
        last = first + len(piece)
        start = owners[first]
        found.append((start, owners[last - 1] + 1 if piece else start, first))
        first = last
    return found


def between(length: int, taken: Iterable[Span]) -> list[Span]:
    """Return the gaps between ordered spans in a text of `length` characters."""
    left, end = [], 0
    for start, stop in taken:
        left.append((end, start))
        end = stop
    left.append((end, length))
    return [(start, stop) for start, stop in left if start < stop]
