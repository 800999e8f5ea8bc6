"""A text that a shared model writes: what every way of choosing its tokens has in common."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from engine.model import LanguageModel
from engine.text import stopping
from engine.text.written import Piece, WrittenText


class Chosen(Protocol):
    """What the text needs to know of a step."""

    token_id: int
    stop_reason: str | None


AnyStep = TypeVar("AnyStep", bound=Chosen)


class OngoingText(Generic[AnyStep]):
    """Prompt, steps, what they spell, and when generation ends.

    A way of choosing tokens adds `_step(limit)`, which appends one step and returns it.

    Attributes:
        model: the model.
        prompt_ids: token ids of the prompt.
        steps: the steps so far; read-only.
    """

    def __init__(
        self, model: LanguageModel, prompt_ids: Sequence[int], stop_strings: tuple[str, ...]
    ) -> None:
        self.model = model
        self.prompt_ids = list(prompt_ids)
        self.steps: list[AnyStep] = []
        self._stop_strings = stop_strings
        self._written = WrittenText(model.vocabulary)
        self._lock = threading.RLock()

    @property
    def stop_strings(self) -> tuple[str, ...]:
        """Texts that end generation; a change holds for tokens to come."""
        return self._stop_strings

    @stop_strings.setter
    def stop_strings(self, stop_strings: str | Sequence[str]) -> None:
        self._stop_strings = stopping.checked_stop_strings(stop_strings)

    @property
    def token_ids(self) -> list[int]:
        """Ids of the generated tokens."""
        return [step.token_id for step in self.steps]

    @property
    def text(self) -> str:
        """The generated text, without special tokens and without an unfinished character."""
        return self._written.text

    @property
    def pending_bytes(self) -> bytes:
        """Bytes of a character that the last tokens began and none has finished yet."""
        return self._written.pending

    @property
    def stop_reason(self) -> str | None:
        """Why the last step ended generation, None while it goes on."""
        return self.steps[-1].stop_reason if self.steps else None

    @property
    def tokens_left(self) -> int | None:
        """How many more tokens the context takes, None where the model sets no limit."""
        length = self.model.context_length
        return None if length is None else length - self._longest

    def run(self, max_new_tokens: int = 64) -> Iterator[AnyStep]:
        """Step until a stop rule fires; yields every step, the last one included.

        Rules: `max_new_tokens` (all generated tokens count, also those from before this call), an
        end-of-text token, a stop string, the end of the context. The earliest wins and is named in
        `stop_reason`; on the same token an end-of-text token or stop string comes before a limit.
        Where there are as many tokens already, nothing is yielded.

        Raises:
            SettingError: `max_new_tokens` is negative or beyond any run.
        """
        return self._run(stopping.checked_max_new_tokens(max_new_tokens))

    def _run(self, limit: int) -> Iterator[AnyStep]:
        while True:
            with self._lock:  # so that the conditions still hold when the step is taken
                if (
                    len(self.steps) >= limit
                    or self.stop_reason not in (None, stopping.MAX_TOKENS)
                    or self.tokens_left == 0  # an earlier limit may have been the context too
                ):
                    return
                step = self._step(limit)
            yield step

    def _step(self, limit: int | None) -> AnyStep:
        raise NotImplementedError

    def _spelled(self, token_id: int, limit: int | None) -> tuple[Piece, str | None]:
        """What one more token would add to the text, and why generation would end with it."""
        piece = self._written.piece(token_id, self._stop_strings)
        reason = stopping.reason(
            self.model,
            token_id,
            piece.stop_string,
            tokens=len(self.steps) + 1,
            limit=limit,
            positions=self._longest + 1,
        )
        return piece, reason

    @property
    def _total(self) -> int:
        return len(self.prompt_ids) + len(self.steps)

    @property
    def _longest(self) -> int:
        """Positions of the longest sequence that is read for this text."""
        return self._total
