"""What all strategies have in common that append one token per step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar

from engine.decoding.one_text import OneText
from engine.decoding.token_sequence import Addition
from engine.text import stopping


class TokenStep(Protocol):
    """What the text needs to know of a step."""

    token_id: int
    stop_reason: str | None


AnyTokenStep = TypeVar("AnyTokenStep", bound=TokenStep)


class Autoregressive(OneText[AnyTokenStep]):
    """One text whose steps are its tokens, and when generation ends."""

    @property
    def tokens_left(self) -> int | None:
        """How many more tokens the context takes, None where the model sets no limit."""
        return self._sequence.positions_left

    def run(self, max_new_tokens: int = 64) -> Iterator[AnyTokenStep]:
        """Step until a stop rule fires; yields every step, the last one included.

        Rules: `max_new_tokens` (all generated tokens count, also those from before this call), an
        end-of-text token, a stop string, the end of the context. The earliest wins and is named in
        `stop_reason`; on the same token an end-of-text token or stop string comes before a limit.
        Where there are as many tokens already, nothing is yielded.

        Raises:
            SettingError: `max_new_tokens` is negative or beyond any run.
        """
        return super().run(stopping.checked_max_new_tokens(max_new_tokens))

    def _goes_on(self, most: int | None) -> bool:
        has_room = self.tokens_left != 0  # an earlier limit may have been the context too
        goes_on = self.stop_reason in (None, stopping.MAX_TOKENS)
        return goes_on and has_room and (most is None or len(self.steps) < most)

    def _addition(self, token_id: int, limit: int | None) -> Addition:
        return self._sequence.addition(token_id, self._stop_strings, limit)
