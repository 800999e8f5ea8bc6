"""The text that generated tokens spell, character by character, and back again."""

from __future__ import annotations

from dataclasses import dataclass

from engine.model.vocabulary import TextStream, Vocabulary
from engine.text import stopping


@dataclass(frozen=True)
class Piece:
    """What one more token would add to a text.

    Attributes:
        token_bytes: the token's bytes; a special token's name.
        is_special: whether it is a control token, which adds nothing.
        text: the characters that it completes.
        stop_string: the stop string that ends with it, None where there is none.
        state: where the text's `TextStream` then stands.
    """

    token_bytes: bytes
    is_special: bool
    text: str
    stop_string: str | None
    state: tuple[bytes, int]


class WrittenText:
    """A text that grows by tokens and can be taken back to any length.

    Attributes:
        text: the characters so far, without special tokens and without an unfinished character.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.text = ""
        self._vocabulary = vocabulary
        self._stream = TextStream()
        self._before: list[tuple[int, tuple[bytes, int]]] = []  # by token: characters, state

    @property
    def pending(self) -> bytes:
        """Bytes of a character that the last tokens began and none has finished yet."""
        return self._stream.pending

    def piece(self, token_id: int, stop_strings: tuple[str, ...] = ()) -> Piece:
        """What a token would add; the text stays as it is."""
        before = self._stream.state
        token_bytes = self._vocabulary.token_bytes(token_id)
        is_special = self._vocabulary.is_special(token_id)
        text = "" if is_special else self._stream.feed(token_bytes)
        after = self._stream.state
        self._stream.restore(before)
        match = stopping.find_stop_string(self.text + text, len(text), stop_strings)
        stop_string = match.string if match else None
        return Piece(token_bytes, is_special, text, stop_string, after)

    def append(self, piece: Piece) -> None:
        """Add what `piece` gave for the next token."""
        self._before.append((len(self.text), self._stream.state))
        self.text += piece.text
        self._stream.restore(piece.state)

    def rewind(self, length: int) -> None:
        """Keep the first `length` tokens; at least one must go."""
        characters, state = self._before[length]
        self.text = self.text[:characters]
        self._stream.restore(state)
        del self._before[length:]

    def fork(self) -> WrittenText:
        """An independent copy."""
        twin = WrittenText(self._vocabulary)
        twin.text = self.text
        twin._stream.restore(self._stream.state)
        twin._before = list(self._before)
        return twin
