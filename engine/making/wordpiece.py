"""WordPiece: from the beginning of a word, always the longest token that fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Match:
    """The longest token that the remaining text begins with.

    Attributes:
        start, end: characters of the pre-token that it covers.
        id: the token.
        tried: number of longer prefixes that are not in the vocabulary.
    """

    start: int
    end: int
    id: int
    tried: int


@dataclass(frozen=True)
class MatchHistory:
    """The matches of a pre-token, always the longest token (WordPiece: Wu et al. 2016).

    Attributes:
        text: the pre-token.
        matches: the matches from left to right; a single unknown token if one is missing.
    """

    text: str
    matches: tuple[Match, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        """The final token ids."""
        return tuple(match.id for match in self.matches)


class LongestMatches:
    """A WordPiece tokenizer's tables; `model` as in `BytePairs`."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        self._vocab: dict[str, int] = model["vocab"]
        prefix: str = model["continuing_subword_prefix"]
        self._inner = {
            piece.removeprefix(prefix): place
            for piece, place in self._vocab.items()
            if piece.startswith(prefix)
        }
        self._longest: int = model["max_input_chars_per_word"]
        self._unknown = self._vocab[model["unk_token"]]

    def making(self, text: str) -> MatchHistory:
        """Return every match of a pre-token."""
        whole = Match(0, len(text), self._unknown, len(text))
        matches, start = [], 0
        while start < len(text) and len(text) <= self._longest:
            found = self._match(text, start)
            if found is None:
                return MatchHistory(text, (whole,))
            matches.append(found)
            start = found.end
        return MatchHistory(text, tuple(matches) or (whole,))

    def _match(self, text: str, start: int) -> Match | None:
        known = self._inner if start else self._vocab
        for tried, end in enumerate(range(len(text), start, -1)):
            found = known.get(text[start:end])
            if found is not None:
                return Match(start, end, found, tried)
        return None
