"""A text as tokens, with their ids, bytes and characters."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import PromptError
from engine.model.vocabulary import MAX_PROMPT_BYTES

STAGES = ("text", "control tokens", "normalised", "pre-tokens", "ids")


@dataclass(frozen=True)
class Token:
    """A token of a text, with its bytes and its place in the text.

    Attributes:
        id: its id in the vocabulary.
        data: its bytes; for a control token, those of its name.
        is_special: whether it is a control token.
        is_inserted: whether the tokenizer added it around the text, rather than a person typing it.
        is_unknown: whether it replaces text that no token of the vocabulary spells; its bytes are
            then those of its own name.
        start, end: characters of the text that its bytes belong to. Tokens that share a character
            all include it; for a token without characters, start and end are equal.
        first_byte: position of its first byte in the text as UTF-8; None if the tokenizer changes
            the text before splitting it.
        pre_token: index of the pre-token that it comes from; None without one.
    """

    id: int
    data: bytes
    is_special: bool
    is_inserted: bool
    is_unknown: bool = False
    start: int = 0
    end: int = 0
    first_byte: int | None = None
    pre_token: int | None = None


@dataclass(frozen=True)
class PreToken:
    """A stretch of text that is tokenized on its own: no token crosses its ends.

    Attributes:
        text: the stretch in the tokenizer's own alphabet: ``Ġthe`` for " the".
        start, end: its characters in the text.
        ids: its token ids.
    """

    text: str
    start: int
    end: int
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Stage:
    """Result of one stage of the tokenizer.

    Attributes:
        name: one of `STAGES`.
        by: names of the tokenizer's parts that run it, as in its file.
        parts: pieces after the stage: texts in the tokenizer's own alphabet, or ids at the end.
    """

    name: str
    by: tuple[str, ...]
    parts: tuple[str | int, ...]


@dataclass(frozen=True)
class TokenizedText:
    """A text with the tokens that one tokenizer makes of it.

    Attributes:
        text: the text, with U+003F in place of non-characters, such as half a surrogate pair.
        tokens: all tokens, including those that the tokenizer adds around the text.
        pre_tokens: in the order of the text; empty if they cannot be shown.
        stages: from text to ids; only the first and the last if the others cannot be shown.
        problem: why pre-tokens and stages cannot be shown; empty if they can.
    """

    text: str
    tokens: tuple[Token, ...]
    pre_tokens: tuple[PreToken, ...]
    stages: tuple[Stage, ...]
    problem: str = ""

    @property
    def typed(self) -> list[Token]:
        """The tokens of the text itself, without those added around it."""
        return [token for token in self.tokens if not token.is_inserted]

    @property
    def characters_per_token(self) -> float | None:
        """Characters per token of the text; None without tokens."""
        return len(self.text) / len(self.typed) if self.typed else None

    @property
    def bytes_per_token(self) -> float | None:
        """Bytes of UTF-8 per token of the text; None without tokens."""
        return len(self.text.encode()) / len(self.typed) if self.typed else None

    @property
    def tokens_per_word(self) -> float | None:
        """Tokens per word, split at white space; None without words."""
        words = len(self.text.split())
        return len(self.typed) / words if words else None


def checked_text(text: str) -> str:
    """Return a text that tokenizers accept.

    Raises:
        PromptError: it is empty, or larger than any model's prompt.
    """
    if not text:
        raise PromptError("The text is empty; type at least one character.")
    data = text.encode("utf-8", "replace")  # a lone surrogate is not a character
    if len(data) > MAX_PROMPT_BYTES:
        raise PromptError(
            "The text has {data:,} bytes, more than the {max_prompt_bytes:,} accepted; shorten it.",
            (len(data), MAX_PROMPT_BYTES),
        )
    return data.decode("utf-8")
