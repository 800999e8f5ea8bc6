"""A text as tokens: ids, bytes, and the characters that each of them stands for."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import PromptError
from engine.model.vocabulary import MAX_PROMPT_BYTES

STAGES = ("text", "control tokens", "normalised", "pre-tokens", "ids")


@dataclass(frozen=True)
class Token:
    """A token of a text.

    Attributes:
        id: its id in the vocabulary.
        data: the bytes it stands for; a control token's are those of its name.
        is_special: whether it is a control token.
        is_inserted: whether the tokenizer added it around the text, rather than a person typing it.
        is_unknown: whether it stands for text that no token of the vocabulary spells; its bytes are
            then those of its own name.
        start, end: characters of the text that its bytes belong to. Tokens that share a character
            have it in common; of one that stands for none both are equal.
        first_byte: place of its first byte in the text as UTF-8; None where the tokenizer changes
            the text before it cuts it.
        pre_token: number of the pre-token that it is cut from; None where it is none of the text.
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
    """A stretch of text that is cut into tokens by itself: no token crosses its ends.

    Attributes:
        text: what is cut, in the tokenizer's own alphabet: ``Ġthe`` for " the".
        start, end: its characters of the text.
        ids: the tokens that it is cut into.
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
        by: names of the parts of the tokenizer that do it, as its file has them.
        parts: what there is after it; texts in the tokenizer's own alphabet, ids at the end.
    """

    name: str
    by: tuple[str, ...]
    parts: tuple[str | int, ...]


@dataclass(frozen=True)
class TokenizedText:
    """A text as one tokenizer cuts it.

    Attributes:
        text: the text, with U+003F for what is no character, such as half a surrogate pair.
        tokens: all of it, with what the tokenizer puts around it.
        pre_tokens: in the order of the text; empty where they cannot be shown.
        stages: from text to ids; only the first and the last where the others cannot be shown.
        problem: why pre-tokens and stages cannot be shown, empty where they can.
    """

    text: str
    tokens: tuple[Token, ...]
    pre_tokens: tuple[PreToken, ...]
    stages: tuple[Stage, ...]
    problem: str = ""

    @property
    def typed(self) -> list[Token]:
        """The tokens of the text itself, without those that were put around it."""
        return [token for token in self.tokens if not token.is_inserted]

    @property
    def characters_per_token(self) -> float | None:
        """Characters of the text per token of it; None without any."""
        return len(self.text) / len(self.typed) if self.typed else None

    @property
    def bytes_per_token(self) -> float | None:
        """Bytes of the text as UTF-8 per token of it; None without any."""
        return len(self.text.encode()) / len(self.typed) if self.typed else None

    @property
    def tokens_per_word(self) -> float | None:
        """Tokens per word, where a word is what stands between spaces; None without any."""
        words = len(self.text.split())
        return len(self.typed) / words if words else None


def checked_text(text: str) -> str:
    """A text that tokenizers take in.

    Raises:
        PromptError: it is empty, or larger than any model's prompt.
    """
    if not text:
        raise PromptError("The text is empty; type at least one character.")
    data = text.encode("utf-8", "replace")  # a lone surrogate is no character
    if len(data) > MAX_PROMPT_BYTES:
        raise PromptError(
            "The text has {data:,} bytes, more than the {max_prompt_bytes:,} that are taken "
            "in; shorten it.",
            (len(data), MAX_PROMPT_BYTES),
        )
    return data.decode("utf-8")
