"""Base classes of strategies that write one text, and of those that append a token per step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Protocol, TypeVar

from engine.backend import Backend
from engine.decoding.generation import AnyStep, Generation
from engine.decoding.token_sequence import Addition, TokenSequence
from engine.errors import ContextFullError
from engine.text import stopping
from engine.trace import Trace
from engine.values import ChatMessage, TokenBytes


class OneText(Generation[AnyStep]):
    """A generation of one text: a prompt, the tokens after it, and their text.

    Attributes, in addition to those of `Generation`:
        prompt_ids: token ids of the prompt.
        messages: the conversation in `prompt_ids`; empty if the prompt is plain text.
    """

    model: Backend

    def __init__(
        self,
        model: Backend,
        prompt_ids: Sequence[int],
        stop_strings: tuple[str, ...],
        longest_prompt: int = 0,
    ) -> None:
        super().__init__(model)
        self.prompt_ids = list(prompt_ids)
        self.messages: tuple[ChatMessage, ...] = getattr(prompt_ids, "messages", ())
        self._stop_strings = stop_strings
        self._sequence = TokenSequence(model, prompt_ids, longest_prompt)

    @property
    def stop_strings(self) -> tuple[str, ...]:
        """Strings that end generation; a change applies to later tokens."""
        return self._stop_strings

    @stop_strings.setter
    def stop_strings(self, stop_strings: str | Sequence[str]) -> None:
        self._stop_strings = stopping.checked_stop_strings(stop_strings)

    @property
    def token_ids(self) -> list[int]:
        """Ids of the generated tokens."""
        return self._sequence.ids[len(self.prompt_ids) :].tolist()

    @property
    def text(self) -> str:
        """The generated text, without special tokens and without an unfinished character."""
        return self._sequence.text

    @property
    def pending_bytes(self) -> bytes:
        """Bytes of a character that the last tokens have begun but not completed."""
        return self._sequence.pending_bytes

    @property
    def stop_reason(self) -> str | None:
        """Reason that the last step ended generation; None while it continues."""
        return self.steps[-1].stop_reason if self.steps else None

    def _check_room(self) -> None:
        left = self._sequence.positions_left
        if left is not None and left <= 0:
            raise ContextFullError(
                "The context of {context_length:,} tokens is full; rewind, or start "
                "from a shorter prompt.",
                self.model.context_length,
            )

    def _prompt_text(self) -> str:
        token_bytes = self.model.vocabulary.token_bytes
        prompt = b"".join(token_bytes(token_id) for token_id in self.prompt_ids)
        return prompt.decode("utf-8", "replace")

    def _take_past(self, other: Any) -> None:
        super()._take_past(other)
        self.messages = other.messages
        self._sequence = other._sequence.fork()


class TokenStep(Protocol):
    """The fields that the step of an `Autoregressive` strategy must have."""

    token_id: int
    stop_reason: str | None


AnyTokenStep = TypeVar("AnyTokenStep", bound=TokenStep)


class Autoregressive(OneText[AnyTokenStep]):
    """A generation of one text that appends one token per step, with the rules that end it."""

    @property
    def tokens_left(self) -> int | None:
        """Number of tokens that still fit in the context; None if the model sets no limit."""
        return self._sequence.positions_left

    def run(self, max_new_tokens: int = 64) -> Iterator[AnyTokenStep]:
        """Step until a stop rule fires; yields every step, the last one included.

        The rules are `max_new_tokens` (all generated tokens count, including those from before this
        call), an end-of-text token, a stop string, and the end of the context. The first to fire is
        named in `stop_reason`. On the same token, an end-of-text token or stop string wins over a
        limit. If `max_new_tokens` is already reached, nothing is yielded.

        Raises:
            SettingError: `max_new_tokens` is negative or too large for any run.
        """
        return super().run(stopping.checked_max_new_tokens(max_new_tokens))

    def trace(self) -> Trace:
        trace = self.outline()
        steps = (step.ids for step in trace.steps)
        negative = trace.guidance.negative_prompt_ids if trace.guidance else ()
        named = sorted(set(chain(trace.prompt_ids, negative, *steps)))
        token_bytes = self.model.vocabulary.token_bytes
        return replace(trace, tokens={each: TokenBytes(token_bytes(each)) for each in named})

    @abstractmethod
    def outline(self) -> Trace:
        """Return the trace without the bytes of its tokens."""

    def _goes_on(self, most: int | None) -> bool:
        has_room = self.tokens_left != 0  # an earlier limit may have been the context too
        goes_on = self.stop_reason in (None, stopping.MAX_TOKENS)
        return goes_on and has_room and (most is None or len(self.steps) < most)

    def _addition(self, token_id: int, limit: int | None) -> Addition:
        return self._sequence.addition(token_id, self._stop_strings, limit)
