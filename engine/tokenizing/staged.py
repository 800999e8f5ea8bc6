"""A tokenizer whose stages can be run one by one, and how each of its tokens was made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby

from engine.errors import TokenizerError, panics_as_errors
from engine.guarded.cutting import described, stages
from engine.making import KINDS, Maker, Making, maker_of
from engine.model.guarded_tokenizer import GuardedTokenizer
from engine.model.vocabulary import Vocabulary
from engine.tokenizing.spans import Span, between
from engine.tokenizing.tokenizer import TextTokenizer
from engine.tokenizing.tokens import STAGES, PreToken, Stage, TokenizedText, checked_text

_OTHER_TOKENS = (
    "The stages of this tokenizer, run one by one, give other tokens for this text than the "
    "tokenizer itself. So only its tokens are shown."
)


def text_tokenizer(vocabulary: Vocabulary) -> TextTokenizer:
    """Return the tokenizer of a model or a folder; raises `TokenizerError` if there is none."""
    if vocabulary.tokenizer is None:
        raise TokenizerError(
            "This model has no tokenizer to split a text with; choose another one."
        )
    backend = getattr(vocabulary.tokenizer, "backend_tokenizer", None)
    return TextTokenizer(vocabulary) if backend is None else StagedTokenizer(vocabulary)


class StagedTokenizer(TextTokenizer):
    """A tokenizer of the library ``tokenizers``, whose stages can be run one by one.

    Args:
        vocabulary: its tokens.

    Attributes:
        merges: number of merges; None if it is not a BPE tokenizer.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._backend = vocabulary.tokenizer.backend_tokenizer
        self._is_guarded = isinstance(self._backend, GuardedTokenizer)
        self._described = self._backend.described if self._is_guarded else described(self._whole())
        self._model: str = self._described["kind"]
        on_bytes = self._model == "BPE" and "ByteLevel" in self._described["decoder"]
        super().__init__(vocabulary, "Byte-level BPE" if on_bytes else self._model)
        self.merges: int | None = self._described["merges"]
        self._unknown: int | None = self._described["unknown"]
        self._added = frozenset(vocabulary.tokenizer.added_tokens_decoder)

    @panics_as_errors()
    def tokenize(self, text: str) -> TokenizedText:
        """Tokenize a text; raises `PromptError` if it is empty or far too large."""
        text = checked_text(text)
        encoding = self._vocabulary.tokenizer(text, verbose=False).encodings[0]
        ids, words, offsets = encoding.ids, encoding.word_ids, encoding.offsets  # copied each time
        cut, taken = [], []
        for group in _groups(words):
            first = group[0]
            is_added = ids[first] in self._added and len(group) == 1
            if is_added and not self._is_unknown(ids[first], text, offsets[first]):
                taken.append(offsets[first])
            else:
                cut.append(group)
        steps, pre_tokens = self._run(text, between(len(text), taken))
        is_same = [one.ids for one in pre_tokens] == [
            tuple(ids[place] for place in group) for group in cut
        ]
        owners = {place: number for number, group in enumerate(cut) for place in group}
        tokens = [
            replace(
                self._token(one, words[place] is not None),
                is_unknown=self._is_unknown(one, text, span),
                start=span[0],
                end=span[1],
                pre_token=owners.get(place) if is_same else None,
            )
            for place, (one, span) in enumerate(zip(ids, offsets, strict=True))
        ]
        return TokenizedText(
            text,
            self._placed(text, tokens),
            pre_tokens if is_same else (),
            (
                Stage("text", (), (text,)),
                *(steps if is_same else ()),
                Stage("ids", (self.kind,), tuple(ids)),
            ),
            "" if is_same else _OTHER_TOKENS,
        )

    def _is_unknown(self, token_id: int, text: str, span: Span) -> bool:
        """Return whether a token is the unknown token, in place of text other than its name."""
        if token_id != self._unknown or span[0] == span[1]:
            return False
        name = self._vocabulary.token_bytes(token_id).decode()
        return text[span[0] : span[1]].strip() != name

    def makings(self, pre_tokens: Sequence[PreToken]) -> list[Making | None]:
        """Return how each pre-token is split into tokens; None if the steps are not available.

        The steps are computed from the tokenizer's tables, and returned only if they lead to the
        same tokens. For third-party tokenizers, a process with limits computes them.

        Raises:
            TokenizerError: that exceeds its limits of time or memory.
        """
        if self._model not in KINDS or not pre_tokens:
            return [None for _ in pre_tokens]
        texts = [one.text for one in pre_tokens]
        if self._is_guarded:
            made = self._backend.makings(texts)
        else:
            made = map(self._maker.making, texts)
        pairs = zip(made, pre_tokens, strict=True)
        return [making if making.ids == one.ids else None for making, one in pairs]

    @cached_property
    def _maker(self) -> Maker:
        return maker_of(self._whole()["model"])

    def _whole(self) -> dict:
        return json.loads(self._backend.to_str())

    def _run(self, text: str, segments: Sequence[Span]) -> tuple[list[Stage], tuple[PreToken, ...]]:
        """Run the stages up to the pre-tokens; returns them, and the pre-tokens with tokens."""
        names = [(), *(tuple(self._described[kind]) for kind in ("normalizer", "pre_tokenizer"))]
        run = self._backend.stages if self._is_guarded else partial(stages, self._backend)
        texts, parts = run(text, segments)
        steps = [
            Stage(name, by, tuple(texts))
            for name, by, texts in zip(STAGES[1:4], names, texts, strict=True)
        ]
        pre_tokens = (PreToken(piece, start, end, tuple(ids)) for piece, start, end, ids in parts)
        return steps, tuple(one for one in pre_tokens if one.ids)


def _groups(words: Sequence[int | None]) -> list[list[int]]:
    """Return the indices of a text's tokens, grouped by the word that they come from."""
    places = (place for place, word in enumerate(words) if word is not None)
    return [list(group) for _, group in groupby(places, words.__getitem__)]
