"""Measures of token counts, for comparing texts and tokenizers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.tokenizing import TokenizedText
from ui.tokens.samples import Sample
from ui.words.language import marked


@dataclass(frozen=True)
class Measure:
    """A measure of how a tokenizer splits a text.

    Attributes:
        name: its name on the page.
        of: computes it from a sample, the tokenized sample and the tokenized first sample; None if
            it has no meaning for this sample.
    """

    name: str
    of: Callable[[Sample, TokenizedText, TokenizedText], float | None]


def _words(sample: Sample, cut: TokenizedText, first: TokenizedText) -> float | None:
    return cut.tokens_per_word if sample.words else None


def _against_first(sample: Sample, cut: TokenizedText, first: TokenizedText) -> float | None:
    return len(cut.typed) / len(first.typed) if sample.is_language else None


MEASURES = {
    "tokens": Measure(marked("tokens"), lambda sample, cut, first: len(cut.typed)),
    "english": Measure(marked("times the tokens of English"), _against_first),
    "words": Measure(marked("tokens per word"), _words),
    "characters": Measure(
        marked("characters per token"), lambda sample, cut, first: cut.characters_per_token
    ),
    "bytes": Measure(marked("bytes per token"), lambda sample, cut, first: cut.bytes_per_token),
}
