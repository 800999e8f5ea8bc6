"""The text that generated tokens spell, which grows token by token and can be rewound."""

from __future__ import annotations

from dataclasses import dataclass

from engine.model.vocabulary import Vocabulary
from engine.text import stopping
from engine.text.text_stream import TextStream


@dataclass(frozen=True)
class Piece:
    """The text that one more token would add.

    Attributes:
        token_bytes: the token's bytes; a special token's name.
        is_special: whether it is a control token, which adds nothing.
        text: the characters that it completes.
        spelled: the same, or a control token's name; stop strings are also looked for in these.
        stop_string: the stop string that ends with it, None if there is none.
        state: state of the text's `TextStream` after it.
    """

    token_bytes: bytes
    is_special: bool
    text: str
    spelled: str
    stop_string: str | None
    state: tuple[bytes, int]


def piece_after(
    vocabulary: Vocabulary,
    before: str,
    spelled: str,
    state: tuple[bytes, int],
    token_id: int,
    stop_strings: tuple[str, ...],
) -> Piece:
    """Return the piece that a token adds to a text.

    A stop string is looked for in the text and, as `generate` does, in the text with the names of
    control tokens. An end-of-text token never completes one, since it ends the text by itself.

    Args:
        vocabulary: the model's.
        before: the text.
        spelled: the text with the names of its control tokens.
        state: the state of its `TextStream`.
        token_id: the token.
        stop_strings: texts that end generation.
    """
    token_bytes = vocabulary.token_bytes(token_id)
    is_special = vocabulary.is_special(token_id)
    stream = TextStream()
    stream.restore(state)
    text = "" if is_special else stream.feed(token_bytes)
    added = token_bytes.decode("utf-8", "replace") if is_special else text
    match = None
    if stop_strings and added and token_id not in vocabulary.eos_ids:
        match = stopping.find_stop_string(before + text, len(text), stop_strings)
        match = match or stopping.find_stop_string(spelled + added, len(added), stop_strings)
    stop_string = match.string if match else None
    return Piece(token_bytes, is_special, text, added, stop_string, stream.state)


class WrittenText:
    """A text that grows by tokens and can be rewound to any length.

    Attributes:
        text: the characters so far, without special tokens and without an unfinished character.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.text = ""
        self._spelled = ""  # with the names of special tokens
        self._state = TextStream().state
        self._vocabulary = vocabulary
        # Before each token: the lengths of both texts, and the state.
        self._before: list[tuple[int, int, tuple[bytes, int]]] = []

    @property
    def pending(self) -> bytes:
        """Bytes of a character that the last tokens began but have not finished."""
        return self._state[0]

    def piece(self, token_id: int, stop_strings: tuple[str, ...] = ()) -> Piece:
        """Return the piece that a token would add, without changing the text."""
        return piece_after(
            self._vocabulary, self.text, self._spelled, self._state, token_id, stop_strings
        )

    def append(self, piece: Piece) -> None:
        """Add a piece that `piece` returned for the next token."""
        self._before.append((len(self.text), len(self._spelled), self._state))
        self.text += piece.text
        self._spelled += piece.spelled
        self._state = piece.state

    def rewind(self, length: int) -> None:
        """Keep the first `length` tokens, fewer than there are."""
        characters, spelled, self._state = self._before[length]
        self.text, self._spelled = self.text[:characters], self._spelled[:spelled]
        del self._before[length:]

    def fork(self) -> WrittenText:
        """Return an independent copy."""
        twin = WrittenText(self._vocabulary)
        twin.text, twin._spelled, twin._state = self.text, self._spelled, self._state
        twin._before = list(self._before)
        return twin
