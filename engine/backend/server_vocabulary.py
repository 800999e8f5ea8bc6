"""The tokens of a server that keeps its tokenizer."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from engine.backend.dialect import Dialect
from engine.errors import TokenizerError
from engine.grammar import TokenTable
from engine.model.vocabulary import Vocabulary, checked_text, readable

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class ServerVocabulary(Vocabulary):
    """The tokens of a server that keeps its tokenizer: their bytes are here, it encodes texts.

    Args:
        dialect: the server.
        name: the model's name.
        tokens: the bytes of every token, control tokens by their names.
        special_ids: ids of control tokens.
        eos_ids: ids that end a text.
    """

    def __init__(
        self,
        dialect: Dialect,
        name: str,
        tokens: list[bytes],
        special_ids: frozenset[int],
        eos_ids: tuple[int, ...],
    ) -> None:
        super().__init__(None, len(tokens), eos_ids)
        self.known = len(tokens)
        self.special_ids = special_ids | frozenset(eos_ids)
        self._dialect = dialect
        self._name = name
        self._tokens = tokens
        self._line_break_ids = tuple(dialect.encode("\n")[-1:])

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes of a token; for a special token, those of its name."""
        return self._tokens[token_id] if 0 <= token_id < len(self._tokens) else b""

    def label(self, token_id: int) -> str:
        """Return a token as readable text; bytes outside a whole character become ``<0xE2>``."""
        return readable(self.token_bytes(token_id)) or f"<id {token_id}>"

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a prompt, with those that the server's tokenizer adds.

        Raises:
            PromptError: the text is empty or too large to be any model's prompt.
            ServerError: the server does not answer.
        """
        return self._dialect.encode(checked_text(text), adds_special=True)

    @property
    def line_break_ids(self) -> tuple[int, ...]:
        """The last token of an encoded line break; empty if there is none."""
        return self._line_break_ids

    def token_table(self, eos_ids: tuple[int, ...]) -> TokenTable:
        """Return the tokens for use in constraints."""
        return TokenTable(self._tokens, self.special_ids, eos_ids)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the bytes of all tokens."""
        digest = hashlib.sha256()
        for token in self._tokens:
            digest.update(len(token).to_bytes(4, "big") + token)
        return digest.hexdigest()

    def _tokenizer(self) -> PreTrainedTokenizerBase:
        raise TokenizerError(
            "The tokenizer of {name} is on its server; connect with a copy of it here.", self._name
        )
