"""The steps by which a tokenizer's model splits a pre-token into tokens.

The code needs no library, so that it also runs in a guarded process.

bpe         every merge of byte pair encoding
wordpiece   the longest matches of WordPiece
unigram     the best segmentations of a Unigram model
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
    """Return the tables of a tokenizer's model, given that part of its ``tokenizer.json``."""
    return KINDS[model["type"]][0](model)
