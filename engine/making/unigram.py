"""Unigram: of all segmentations of a word, the one with the highest total score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.making.fallback import byte_tokens

KEPT_CUTS = 3  # the best one, and the next best ones
_UNKNOWN_BELOW = 10.0  # nats by which an unknown character is below the worst token


@dataclass(frozen=True)
class ScoredToken:
    """A token of a segmentation.

    Attributes:
        start, end: characters of the pre-token that it covers.
        ids: its id; for an unknown character, those of its bytes if the tokenizer has them.
        score: its log-probability in nats, from the tokenizer.
        is_unknown: whether the vocabulary has no token for it.
    """

    start: int
    end: int
    ids: tuple[int, ...]
    score: float
    is_unknown: bool = False


@dataclass(frozen=True)
class Cut:
    """One segmentation of a pre-token.

    Attributes:
        tokens: its tokens, from left to right.
        score: the sum of their scores, in nats.
    """

    tokens: tuple[ScoredToken, ...]
    score: float


@dataclass(frozen=True)
class BestCuts:
    """The best segmentations of a pre-token; the highest score wins (Unigram: Kudo 2018).

    Attributes:
        text: the pre-token.
        cuts: the segmentations, best first.
    """

    text: str
    cuts: tuple[Cut, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        """The token ids of the best segmentation."""
        return tuple(one for token in self.cuts[0].tokens for one in token.ids)


class UnigramScores:
    """A Unigram tokenizer's tables; `model` as in `BytePairs`."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        self._scores = {
            piece: (place, score) for place, (piece, score) in enumerate(model["vocab"])
        }
        self._ids = {piece: place for piece, (place, _) in self._scores.items()}
        self._longest = max(map(len, self._scores))
        self._unknown: int | None = model.get("unk_id")
        self._falls_back: bool = model.get("byte_fallback", False)
        worst = min(score for _, score in self._scores.values())
        self._unknown_score = worst - _UNKNOWN_BELOW

    def making(self, text: str) -> BestCuts:
        """Return the best segmentations of a pre-token."""
        best: list[list[Cut]] = [[Cut((), 0.0)], *([] for _ in text)]
        for start in range(len(text)):
            for token in self._tokens_at(text, start):
                best[token.end] += [self._longer(text, cut, token) for cut in best[start]]
                best[token.end].sort(key=lambda cut: -cut.score)  # ties stay in order of arrival
                del best[token.end][KEPT_CUTS:]
        return BestCuts(text, tuple(best[-1]))

    def _tokens_at(self, text: str, start: int) -> list[ScoredToken]:
        found = []
        for end in range(start + 1, min(len(text), start + self._longest) + 1):
            known = self._scores.get(text[start:end])
            if known is not None:
                found.append(ScoredToken(start, end, (known[0],), known[1]))
        if not found or found[0].end > start + 1:
            found.append(self._unknown_token(text, start, start + 1, self._unknown_score))
        return found

    def _unknown_token(self, text: str, start: int, end: int, score: float) -> ScoredToken:
        ids = byte_tokens(text[start:end], self._ids) if self._falls_back else None
        if ids is None:
            ids = () if self._unknown is None else (self._unknown,)
        return ScoredToken(start, end, tuple(ids), score, is_unknown=True)

    def _longer(self, text: str, cut: Cut, token: ScoredToken) -> Cut:
        before, last = cut.tokens, token
        if token.is_unknown and before and before[-1].is_unknown:  # neighbours become one
            score = before[-1].score + token.score
            last = self._unknown_token(text, before[-1].start, token.end, score)
            before = before[:-1]
        return Cut((*before, last), cut.score + token.score)
