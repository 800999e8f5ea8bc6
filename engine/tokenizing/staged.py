"""A tokenizer whose stages can be run one by one, and how each of its tokens was made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from typing import Any

from engine.errors import TokenizerError, panics_as_errors
from engine.model.guarded_tokenizer import stages_of
from engine.model.vocabulary import Vocabulary
from engine.tokenizing.bpe import BytePairs
from engine.tokenizing.spans import Span, between
from engine.tokenizing.tokenizer import Making, TextTokenizer
from engine.tokenizing.tokens import STAGES, PreToken, Stage, TokenizedText, checked_text
from engine.tokenizing.unigram import UnigramScores
from engine.tokenizing.wordpiece import LongestMatches

_INNER = ("normalizers", "pretokenizers", "decoders")  # of a Sequence of parts
_MAKERS = {"BPE": BytePairs, "WordPiece": LongestMatches, "Unigram": UnigramScores}
_OTHER_TOKENS = (
    "The stages of this tokenizer, run one by one, give other tokens for this text than the "
    "tokenizer itself. So only its tokens are shown."
)


def text_tokenizer(vocabulary: Vocabulary) -> TextTokenizer:
    """The tokenizer of a model or a folder; raises `TokenizerError` where there is none."""
    if vocabulary.tokenizer is None:
        raise TokenizerError("This model has no tokenizer to cut a text with; choose another one.")
    backend = getattr(vocabulary.tokenizer, "backend_tokenizer", None)
    return TextTokenizer(vocabulary) if backend is None else StagedTokenizer(vocabulary)


class StagedTokenizer(TextTokenizer):
    """A tokenizer of the library ``tokenizers``, which says what its stages are.

    Args:
        vocabulary: its tokens.

    Attributes:
        merges: how many merges it has, None where it is no BPE tokenizer.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._backend = vocabulary.tokenizer.backend_tokenizer
        self._parts: dict[str, Any] = json.loads(self._backend.to_str())
        model = self._parts["model"]["type"]
        on_bytes = model == "BPE" and "ByteLevel" in _names(self._parts["decoder"])
        super().__init__(vocabulary, "Byte-level BPE" if on_bytes else model)
        self.merges = len(self._parts["model"]["merges"]) if model == "BPE" else None
        self._unknown = _unknown_id(self._parts["model"])
        self._added = frozenset(vocabulary.tokenizer.added_tokens_decoder)

    @panics_as_errors()
    def tokenize(self, text: str) -> TokenizedText:
        """A text as tokens; raises `PromptError` for an empty or far too large one."""
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
        """Whether a token stands for text that is not its name."""
        if token_id != self._unknown or span[0] == span[1]:
            return False
        name = self._vocabulary.token_bytes(token_id).decode()
        return text[span[0] : span[1]].strip() != name

    def making(self, pre_token: PreToken) -> Making | None:
        """How a pre-token became its tokens; None where this kind of tokenizer has no such steps.

        What is given was computed here from the tokenizer's tables, and led to the same tokens.
        """
        if self._maker is None:
            return None
        made = self._maker.making(pre_token.text)
        return made if made.ids == pre_token.ids else None

    @cached_property
    def _maker(self) -> BytePairs | LongestMatches | UnigramScores | None:
        maker = _MAKERS.get(self._parts["model"]["type"])
        return None if maker is None else maker(self._parts["model"])

    def _run(self, text: str, segments: Sequence[Span]) -> tuple[list[Stage], tuple[PreToken, ...]]:
        """The stages before the cut, one by one, and what the tokenizer's model makes of them."""
        names = [
            (),
            *(tuple(_names(self._parts[kind])) for kind in ("normalizer", "pre_tokenizer")),
        ]
        texts, parts = stages_of(self._backend, text, segments)
        steps = [
            Stage(name, by, tuple(texts))
            for name, by, texts in zip(STAGES[1:4], names, texts, strict=True)
        ]
        pre_tokens = (PreToken(piece, start, end, tuple(ids)) for piece, start, end, ids in parts)
        return steps, tuple(one for one in pre_tokens if one.ids)


def _unknown_id(model: Mapping[str, Any]) -> int | None:
    if model["type"] == "Unigram":
        return model.get("unk_id")
    return model["vocab"].get(model.get("unk_token") or "")


def _groups(words: Sequence[int | None]) -> list[list[int]]:
    """Places of the tokens of the text, by what they were cut from together."""
    places = (place for place, word in enumerate(words) if word is not None)
    return [list(group) for _, group in groupby(places, words.__getitem__)]


def _names(part: dict[str, Any] | None) -> list[str]:
    """Names of a part of a tokenizer, and of those that it is made of."""
    if part is None:
        return []
    inner = next((part[key] for key in _INNER if isinstance(part.get(key), list)), None)
    return [part["type"]] if inner is None else [name for one in inner for name in _names(one)]
