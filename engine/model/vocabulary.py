"""Tokens as bytes and as text.

A token is a sequence of bytes, not of characters: one character may span several tokens.
`Vocabulary` has the bytes of every id. `TextStream` decodes bytes to text as they arrive, and holds
back those of an unfinished character.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import transformers

from engine.errors import PanicError, PromptError, TokenizerError, msg, panics_as_errors
from engine.grammar import TokenTable
from engine.model import chat_template
from engine.values import ChatMessage

if TYPE_CHECKING:
    from tokenizers.decoders import Decoder
    from transformers import PreTrainedTokenizerBase

# A longer prompt is refused before it reaches the tokenizer. It would fit no context in use today,
# and tokenizing it would take seconds and hundreds of megabytes.
MAX_PROMPT_BYTES = 4_000_000
# Messages of a conversation, each with a role and a content.
Turns = Sequence[Mapping[str, str]]
THE_PROMPT = msg("The prompt")  # subject of a refusal; guidance substitutes its own


class ChatIds(list[int]):
    """Token ids of a conversation in a chat template, up to the start of the next answer.

    Attributes:
        messages: the conversation.
    """

    def __init__(self, ids: Iterable[int], messages: Iterable[ChatMessage]) -> None:
        super().__init__(ids)
        self.messages = tuple(messages)


_BYTE_PIECE = re.compile("<0x[0-9A-F]{2}>")


class Vocabulary:
    """The tokens that a model scores: their bytes, their labels, and the encoding of text.

    Ids that the model scores but the tokenizer lacks (padding of the output layer) have no bytes
    and are labelled ``<id 50300>``. Without a tokenizer, all ids are of that kind.

    Attributes:
        size: number of tokens that the model scores, V.
        known: number of entries in the tokenizer (0 without one).
        eos_ids: ids that end a text.
        special_ids: ids of control tokens, including all `eos_ids`, flagged or not.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase | None,
        size: int,
        eos_ids: tuple[int, ...] = (),
    ) -> None:
        self.tokenizer = tokenizer
        self.size = size
        self.eos_ids = eos_ids
        self.known = 0 if tokenizer is None else len(tokenizer)
        self.special_ids: frozenset[int] = frozenset(eos_ids)
        self._pieces: list[str | None] = []
        self._names: dict[int, str] = {}  # of special tokens
        self._added: frozenset[int] = frozenset()
        self._to_bytes = self._added_to_bytes = _literal_bytes
        if tokenizer is not None:
            self._read(tokenizer)

    @panics_as_errors()
    def _read(self, tokenizer: PreTrainedTokenizerBase) -> None:
        # Ids may have gaps, so the highest can be above the number of entries.
        highest = max(tokenizer.get_vocab().values(), default=-1)
        self._pieces = tokenizer.convert_ids_to_tokens(list(range(highest + 1)))
        added = getattr(tokenizer, "added_tokens_decoder", {})
        self._added = frozenset(added)
        special = {i for i, token in added.items() if token.special}
        self.special_ids |= special | set(tokenizer.all_special_ids)
        self._names = {i: added[i].content for i in self._added & self.special_ids}
        self._to_bytes, self._added_to_bytes = _decoders(tokenizer)

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes of a token; for a special token, those of its name."""
        if not 0 <= token_id < len(self._pieces):
            return b""
        if token_id in self._names:
            return _literal_bytes(self._names[token_id])
        piece = self._pieces[token_id]
        if piece is None:
            return b""
        return self._added_to_bytes(piece) if token_id in self._added else self._to_bytes(piece)

    def label(self, token_id: int) -> str:
        """Return a token as readable text; bytes outside a whole character become ``<0xE2>``."""
        if not 0 <= token_id < len(self._pieces) or self._pieces[token_id] is None:
            return f"<id {token_id}>"
        return readable(self.token_bytes(token_id))

    def is_special(self, token_id: int) -> bool:
        """Return whether a token is a control token that adds nothing to the text."""
        return token_id in self.special_ids

    def has_tokens_of(self, other: Vocabulary) -> bool:
        """Return whether shared ids name the same tokens; False if only one knows its tokens."""
        if (self.known == 0) != (other.known == 0):
            return False
        pairs: Iterable[tuple[object, object]] = zip(self._pieces, other._pieces, strict=False)
        if self.tokenizer is None or other.tokenizer is None:  # that of a server gives bytes alone
            shared = range(min(self.known, other.known))
            pairs = (
                (self.token_bytes(each) or None, other.token_bytes(each) or None) for each in shared
            )
        return all(one == two or one is None or two is None for one, two in pairs)

    @panics_as_errors()
    def encode(self, text: str) -> list[int]:
        """Return the token ids of a prompt, with the special tokens that the tokenizer adds.

        Raises:
            PromptError: the text is empty or too large to be any model's prompt.
            TokenizerError: there is no tokenizer.
            PanicError: the tokenizer panics on this text.
        """
        return list(self._tokenizer()(checked_text(text), verbose=False)["input_ids"])

    @panics_as_errors()
    def encode_inside(self, text: str) -> list[int]:
        """Return the tokens of a text that follows another, without special tokens around it.

        Raises:
            PromptError: the text is empty or too large.
            TokenizerError: there is no tokenizer, or its tokens would spell a different text.
        """
        tokenizer, wanted = self._tokenizer(), checked_text(text).encode()
        for before in ("", "\n", "a"):  # some tokenizers put a space before a text
            first, ids = (
                list(tokenizer(each, add_special_tokens=False, verbose=False)["input_ids"])
                for each in (before, before + text)
            )
            ids = ids[len(first) :]
            if b"".join(map(self.token_bytes, ids)) == wanted:
                return ids
        raise TokenizerError(
            "The tokenizer spells {text} differently inside a text; change more of the text.",
            repr(text[:40]),
        )

    @cached_property
    def line_break_ids(self) -> tuple[int, ...]:
        """The last token of an encoded line break, as in text-generation-webui; empty if none."""
        if self.tokenizer is None:
            return ()
        try:
            with panics_as_errors():
                ids = self.tokenizer("\n", add_special_tokens=False, verbose=False)["input_ids"]
        except (PanicError, TokenizerError):
            return ()
        return tuple(ids[-1:])

    def token_table(self, eos_ids: tuple[int, ...]) -> TokenTable:
        """Return the tokens for use in constraints; raises `TokenizerError` without a tokenizer."""
        self._tokenizer()
        tokens = [self.token_bytes(token_id) for token_id in range(self.size)]
        return TokenTable(tokens, self.special_ids, eos_ids)

    @property
    def has_chat_template(self) -> bool:
        """True if the tokenizer has a chat template."""
        return chat_template.has_chat_template(self.tokenizer)

    def chat(self, message: str | Turns) -> str:
        """Return a user's message, or a conversation, in the chat template up to the next answer.

        Templates are Jinja programs that come with the model; they run in a sandbox, in a process
        with limits on time and memory.

        Raises:
            PromptError: the message is empty or too large, or one has no role or no text.
            TokenizerError: there is no template, or it cannot be applied to this message.
        """
        return chat_template.render(self._chat_tokenizer(), turns_of(message), MAX_PROMPT_BYTES)

    @panics_as_errors()
    def chat_ids(self, message: str | Turns) -> ChatIds:
        """Return the token ids of `chat`; only the template writes special tokens.

        Control tokens in the message are encoded as plain text: typing ``<|im_end|>`` does not end
        a turn.
        """
        turns = turns_of(message)
        ids = chat_template.encode(self._chat_tokenizer(), turns, MAX_PROMPT_BYTES)
        return ChatIds(ids, turns)

    def chat_messages(self, message: str | Turns) -> list[dict[str, str]]:
        """Return the messages that `chat` lays out, the template's own system message first."""
        return chat_template.messages(self._chat_tokenizer(), turns_of(message), MAX_PROMPT_BYTES)

    def _chat_tokenizer(self) -> PreTrainedTokenizerBase:
        tokenizer = self._tokenizer()
        if not self.has_chat_template:
            raise TokenizerError(
                "This model has no chat template; start from plain text, or choose a model made "
                "for chat."
            )
        return tokenizer

    def _tokenizer(self) -> PreTrainedTokenizerBase:
        if self.tokenizer is None:
            raise TokenizerError("This model has no tokenizer; give the prompt as token ids.")
        return self.tokenizer


def checked_text(text: str) -> str:
    """Return a text that tokenizers accept; raises `PromptError` if it is empty or too large."""
    if not text:
        raise PromptError("{the_prompt} is empty; type at least one character.", THE_PROMPT)
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_PROMPT_BYTES:
        raise PromptError(
            "{the_prompt} has {size:,} bytes, more than the {max_prompt_bytes:,} allowed; "
            "shorten it.",
            (THE_PROMPT, size, MAX_PROMPT_BYTES),
        )
    # A lone surrogate is not a character, and tokenizers refuse it.
    return text.encode("utf-8", "replace").decode("utf-8")


def turns_of(message: str | Turns) -> list[ChatMessage]:
    """Return the turns of a conversation; a text is a user's message alone.

    Raises:
        PromptError: there is no turn, or one has no role or no text.
    """
    if isinstance(message, str):
        return [{"role": "user", "content": checked_text(message)}]
    turns = list(message)
    if not turns:
        raise PromptError("The conversation is empty; give at least one message.")
    for place, turn in enumerate(turns, 1):
        given = turn if isinstance(turn, Mapping) else {}
        if not all(isinstance(given.get(name), str) for name in ("role", "content")):
            raise PromptError(
                "Message {place} of the conversation must have a role and a text, as in {example}.",
                (place, '{"role": "user", "content": "Hi"}'),
            )
    return [
        {"role": turn["role"], "content": checked_text(turn["content"]) if turn["content"] else ""}
        for turn in turns
    ]


def readable(data: bytes) -> str:
    """Return bytes as text; each byte outside a whole UTF-8 character becomes ``<0xE2>``."""
    return data.decode("utf-8", "visible_bytes")


def _visible_bytes(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(f"<0x{byte:02X}>" for byte in bad), error.end


codecs.register_error("visible_bytes", _visible_bytes)


def _literal_bytes(piece: str) -> bytes:
    return piece.encode("utf-8", "surrogatepass")


_ToBytes = Callable[[str], bytes]


def _decoders(tokenizer: PreTrainedTokenizerBase) -> tuple[_ToBytes, _ToBytes]:
    """Return the functions that turn the tokenizer's own and its added pieces into bytes."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if isinstance(tokenizer, transformers.ByT5Tokenizer):  # a byte has the character of that number
        return lambda piece: bytes([ord(piece)]), _literal_bytes
    if backend is None:
        own = tokenizer.convert_tokens_to_string
        return lambda piece: _literal_bytes(own([piece])), _literal_bytes
    own = _decoder(backend.decoder)
    # Byte-level tokenizers keep added words as they are, not in their alphabet.
    return own, _literal_bytes if own is _byte_level_bytes else own


def _decoder(decoder: Decoder | None) -> _ToBytes:
    if decoder is None:  # tokenizers joins such pieces with spaces
        return lambda piece: _literal_bytes(f" {piece}")
    described = json.loads(decoder.__getstate__())
    parts = described.get("decoders", [described])
    kinds = {part["type"] for part in parts}
    if "ByteLevel" in kinds:
        return _byte_level_bytes
    if "BPEDecoder" in kinds:  # it drops the mark of the last piece
        mark = next(part["suffix"] for part in parts if part["type"] == "BPEDecoder")
        return lambda piece: _literal_bytes(piece.replace(mark, " "))
    has_bytes = bool(kinds & {"Metaspace", "Replace", "ByteFallback"})
    return partial(_decoded, decoder, has_bytes)


@panics_as_errors()
def _decoded(decoder: Decoder, has_bytes: bool, piece: str) -> bytes:
    """Return the bytes that the decoder gives for a piece after another piece."""
    if has_bytes and _BYTE_PIECE.fullmatch(piece):
        return bytes([int(piece[3:5], 16)])
    return _literal_bytes(decoder.decode(["a", piece]).removeprefix("a"))


def _byte_level_bytes(piece: str) -> bytes:
    table = _byte_level_alphabet()
    try:
        return bytes(table[character] for character in piece)
    except KeyError:  # a piece outside the alphabet, as some tokenizers have for added words
        return _literal_bytes(piece)


@lru_cache(maxsize=1)
def _byte_level_alphabet() -> dict[str, int]:
    """Return the byte of each printable character of byte-level BPE (Radford et al. 2019, GPT-2).

    Printable Latin-1 bytes are their own characters; the others get those from U+0100 on, in order.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    alphabet = {chr(byte): byte for byte in printable}
    alphabet |= {chr(0x100 + place): byte for place, byte in enumerate(others)}
    return alphabet
