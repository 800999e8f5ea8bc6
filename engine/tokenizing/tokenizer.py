"""A tokenizer as a black box: a text in, tokens out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from transformers import ByT5Tokenizer, CanineTokenizer, PreTrainedTokenizerBase
from transformers.models.canine.tokenization_canine import SPECIAL_CODEPOINTS

from engine.errors import panics_as_errors
from engine.making import Making
from engine.model.vocabulary import Vocabulary, readable
from engine.tokenizing.spans import placed
from engine.tokenizing.tokens import PreToken, Stage, Token, TokenizedText, checked_text

_NO_STAGES = "This tokenizer has no stages that can be run one by one, so only tokens are shown."


class TextTokenizer:
    """A tokenizer used as a black box, without access to its stages.

    Args:
        vocabulary: its tokens.
        kind: its algorithm: ``Byte-level BPE``, ``WordPiece``, ``Bytes``.

    Attributes, in addition to `kind`:
        size: number of its tokens.
        notices: sentences that a person should see, such as where it comes from.
    """

    def __init__(self, vocabulary: Vocabulary, kind: str = "Program") -> None:
        self.kind = kind
        self.size = vocabulary.known
        self.notices: tuple[str, ...] = ()
        self._vocabulary = vocabulary

    def label(self, token_id: int) -> str:
        """Return a token as readable text; bytes outside a whole character become ``<0xE2>``."""
        return self._vocabulary.label(token_id)

    @panics_as_errors()
    def tokenize(self, text: str) -> TokenizedText:
        """Tokenize a text; raises `PromptError` if it is empty or far too large."""
        text = checked_text(text)
        tokenizer = self._vocabulary.tokenizer
        ids = tokenizer(text, verbose=False)["input_ids"]
        inner = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        starts = range(len(ids) - len(inner) + 1)
        start = next((one for one in starts if ids[one : one + len(inner)] == inner), 0)
        typed = range(start, start + len(inner))
        tokens = self._placed(text, [self._token(one, i in typed) for i, one in enumerate(ids)])
        ends = Stage("text", (), (text,)), Stage("ids", (), tuple(ids))
        return TokenizedText(text, tokens, (), ends, _NO_STAGES)

    def makings(self, pre_tokens: Sequence[PreToken]) -> list[Making | None]:
        """Return how each pre-token is split into tokens; None if the steps are not available."""
        return [None for _ in pre_tokens]

    def _token(self, token_id: int, is_typed: bool) -> Token:
        data = self._vocabulary.token_bytes(token_id)
        return Token(token_id, data, self._vocabulary.is_special(token_id), not is_typed)

    def _placed(self, text: str, tokens: Sequence[Token]) -> tuple[Token, ...]:
        """Return the tokens, with the positions of their bytes if these spell the text."""
        found = placed(text, [token.data for token in tokens if not token.is_inserted])
        if found is None:
            return tuple(tokens)
        places = iter(found)
        return tuple(one if one.is_inserted else _at(one, *next(places)) for one in tokens)


def _at(token: Token, start: int, end: int, first_byte: int) -> Token:
    return replace(token, start=start, end=end, first_byte=first_byte)


class CodePoints(Vocabulary):
    """Every code point of Unicode as a token, without a list of a million entries."""

    def _read(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.special_ids = frozenset(tokenizer.all_special_ids)

    def token_bytes(self, token_id: int) -> bytes:
        """Return the character as UTF-8."""
        return chr(token_id).encode("utf-8", "surrogatepass")

    def label(self, token_id: int) -> str:
        """Return the character; for a control token, its name."""
        return SPECIAL_CODEPOINTS.get(token_id) or readable(self.token_bytes(token_id))


def byte_tokenizer() -> TextTokenizer:
    """Return a tokenizer of UTF-8 bytes, as in ByT5 (Xue et al. 2022); needs no files."""
    tokenizer = ByT5Tokenizer()
    return TextTokenizer(Vocabulary(tokenizer, len(tokenizer)), "Bytes")


def code_point_tokenizer() -> TextTokenizer:
    """Return a tokenizer of characters, as in CANINE (Clark et al. 2022); needs no files."""
    tokenizer = CanineTokenizer()
    return TextTokenizer(CodePoints(tokenizer, len(tokenizer)), "Code points")
