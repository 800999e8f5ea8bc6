"""A text as tokens, and how a tokenizer came to them.

>>> tokenizer = text_tokenizer(model.vocabulary)
>>> text = tokenizer.tokenize("a strawberry")
>>> [tokenizer.making(one) for one in text.pre_tokens]

tokens      what a text becomes: tokens, pre-tokens, stages
tokenizer   any tokenizer, and two that need no files: bytes, and code points
staged      a tokenizer whose stages can be run one by one
bpe         every merge of byte pair encoding
wordpiece   the longest matches of WordPiece
unigram     the best cuts of a Unigram model
sources     tokenizers of folders and hub ids, without weights
"""

from engine.tokenizing.bpe import Merge, MergeHistory
from engine.tokenizing.sources import cached_tokenizers, load_tokenizer
from engine.tokenizing.staged import StagedTokenizer, text_tokenizer
from engine.tokenizing.tokenizer import (
    Making,
    TextTokenizer,
    byte_tokenizer,
    code_point_tokenizer,
)
from engine.tokenizing.tokens import PreToken, Stage, Token, TokenizedText
from engine.tokenizing.unigram import BestCuts, Cut, ScoredToken
from engine.tokenizing.wordpiece import Match, MatchHistory

__all__ = [
    "BestCuts",
    "Cut",
    "Making",
    "Match",
    "MatchHistory",
    "Merge",
    "MergeHistory",
    "PreToken",
    "ScoredToken",
    "Stage",
    "StagedTokenizer",
    "TextTokenizer",
    "Token",
    "TokenizedText",
    "byte_tokenizer",
    "cached_tokenizers",
    "code_point_tokenizer",
    "load_tokenizer",
    "text_tokenizer",
]
