"""Steps by which a tokenizer's model makes the tokens of a pre-token.

It needs no library, so that it also runs in a guarded process.

bpe         every merge of byte pair encoding
wordpiece   the longest matches of WordPiece
unigram     the best cuts of a Unigram model
"""

from collections.abc import Mapping
from typing import Any

from engine.making.bpe import BytePairs, Merge, MergeHistory
from engine.making.unigram import BestCuts, Cut, ScoredToken, UnigramScores
from engine.making.wordpiece import LongestMatches, Match, MatchHistory

Making = MergeHistory | MatchHistory | BestCuts
Maker = BytePairs | LongestMatches | UnigramScores
KINDS = {
    "BPE": (BytePairs, MergeHistory),
    "WordPiece": (LongestMatches, MatchHistory),
    "Unigram": (UnigramScores, BestCuts),
}

__all__ = [
    "KINDS",
    "BestCuts",
    "Cut",
    "Maker",
    "Making",
    "Match",
    "MatchHistory",
    "Merge",
    "MergeHistory",
    "ScoredToken",
    "maker_of",
]


def maker_of(model: Mapping[str, Any]) -> Maker:
    """The tables of a tokenizer's model, of one of the `KINDS`, from its ``tokenizer.json``."""
    return KINDS[model["type"]][0](model)
