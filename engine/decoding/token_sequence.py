"""A text as tokens: the prompt, the generated tokens, their text, and when it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from engine.backend import Backend
from engine.sampling import Distribution, Drawn, SamplingSettings
from engine.sampling.random import TextRandomness
from engine.sampling.samplers import Context
from engine.text import stopping
from engine.text.written import Piece, WrittenText


class Addition(NamedTuple):
    """Piece that one more token would add to a text, and the reason if generation ends there."""

    piece: Piece
    stop_reason: str | None

    @property
    def figures(self) -> dict[str, Any]:
        """Step fields that derive from it."""
        names = ("token_bytes", "text", "is_special", "stop_string")
        own = {name: getattr(self.piece, name) for name in names}
        return own | {"stop_reason": self.stop_reason}


class TokenSequence:
    """The tokens of one text, and the random numbers with which they are drawn.

    Args:
        model: the model.
        prompt_ids: token ids of the prompt.
        longest_prompt: tokens of the longest prompt that is read for this text, if it differs (see
            `engine.decoding.guidance`).

    Attributes:
        prompt_length: number of prompt tokens.
        length: number of tokens generated.
        eos_ids: tokens that end the text; the model's own at first.
    """

    def __init__(self, model: Backend, prompt_ids: Sequence[int], longest_prompt: int = 0) -> None:
        self._model = model
        self.prompt_length = len(prompt_ids)
        self.length = 0
        self.eos_ids = model.eos_ids
        self._longest_prompt = max(longest_prompt, self.prompt_length)
        self._ids = np.empty(self.prompt_length + 16, np.int64)  # grows by doubling
        self._ids[: self.prompt_length] = prompt_ids
        self._written = WrittenText(model.vocabulary)
        self._random = TextRandomness()

    @property
    def ids(self) -> np.ndarray:
        """Ids of all tokens, unaffected by later changes: (prompt_length + length,) int64."""
        return self._ids[: self.prompt_length + self.length]

    @property
    def text(self) -> str:
        """The generated text, without special tokens and without an unfinished character."""
        return self._written.text

    @property
    def pending_bytes(self) -> bytes:
        """Bytes of a character that the last tokens have begun but not completed."""
        return self._written.pending

    @property
    def positions(self) -> int:
        """Positions of the longest sequence that is read for this text."""
        return self._longest_prompt + self.length

    @property
    def positions_left(self) -> int | None:
        """Number of tokens that still fit in the context; None if the model sets no limit."""
        length = self._model.context_length
        return None if length is None else length - self.positions

    # --- drawing ----------------------------------------------------------------------------------

    def context(
        self,
        index: int,
        seed: int,
        states: Mapping[str, object],
        proposed: Sequence[int] = (),
    ) -> Context:
        """Return the information available to stages in addition to the logits.

        Args:
            index: index of the token to be drawn, or of the first proposed one; at most `length`.
            seed: seed of the draw.
            states: the stages' memory of the preceding tokens.
            proposed: tokens provisionally placed there; the token to be drawn follows them.
        """
        ids = self._ids[: self.prompt_length + index]
        if len(proposed):
            ids = np.append(ids, np.asarray(proposed, np.int64))
            index += len(proposed)
        return Context(
            ids,
            self.prompt_length,
            self.eos_ids,
            self._model.vocabulary.line_break_ids,
            states=states,
            uniform=partial(self._random.of_stream, seed, index),
            device=self._model.device,
            places=self._model.places,
        )

    def uniform(self, index: int, seed: int) -> float:
        """Return the uniform number with which the token at an index is drawn, 0 <= u < 1."""
        return self._random.uniform(seed, index)

    def draw(
        self, distribution: Distribution, settings: SamplingSettings
    ) -> tuple[float | None, Drawn]:
        """Draw the next token; returns the uniform number, None if greedy, and the token."""
        if settings.is_greedy:
            return None, distribution.draw(0.0)
        u = self.uniform(self.length, settings.seed)
        return u, distribution.draw(u)

    # --- growing ----------------------------------------------------------------------------------

    def addition(self, token_id: int, stop_strings: tuple[str, ...], limit: int | None) -> Addition:
        """Return the effect of appending one token, without changing the text.

        Args:
            token_id: the token.
            stop_strings: strings that end generation.
            limit: most tokens in total, None for no limit.
        """
        piece = self._written.piece(token_id, stop_strings)
        reason = stopping.reason(
            self._model,
            token_id,
            piece.stop_string,
            eos_ids=self.eos_ids,
            tokens=self.length + 1,
            limit=limit,
            positions=self.positions + 1,
        )
        return Addition(piece, reason)

    def append(self, token_id: int, piece: Piece) -> None:
        """Append a token and the piece that `addition` returned for it."""
        total = self.prompt_length + self.length
        if total == self._ids.size:
            self._ids = np.resize(self._ids, 2 * self._ids.size)
        self._ids[total] = token_id
        self._written.append(piece)
        self.length += 1

    def rewind(self, length: int) -> None:
        """Drop all generated tokens after the first `length`; there is at least one."""
        # Later tokens go into a new array, so that ids handed out earlier do not change.
        self._ids = self._ids.copy()
        self._written.rewind(length)
        self.length = length

    def fork(self) -> TokenSequence:
        """Return an independent copy."""
        twin = TokenSequence(self._model, self._ids[: self.prompt_length], self._longest_prompt)
        twin.length, twin.eos_ids = self.length, self.eos_ids
        twin._ids = self._ids.copy()
        twin._written = self._written.fork()
        return twin
