"""The prompt in hand: the one that a person typed last, on any page of the visit.

Every page that has its own prompt takes it once, when it is next opened. A prompt typed there
afterwards is newer: it stays, and the other pages take it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Prompt:
    """A prompt on a page.

    Attributes:
        text: the prompt.
        chat: whether it goes through the chat template; None on a page without one.
        run: the text that began from it, on a page that begins texts on a press; else empty.
    """

    text: str
    chat: bool | None = None
    run: str = ""

    def is_same(self, other: Prompt) -> bool:
        """Return whether a page that holds this prompt would gain nothing from the other."""
        return self.text == other.text and (
            None in (self.chat, other.chat) or self.chat == other.chat
        )


class HoldsPrompt(Protocol):
    """A state, or a part of one, that follows the prompt in hand.

    Attributes:
        name: its name within the visit.
        prompt_held: its prompt; None while that belongs to its other inputs.
    """

    name: str

    @property
    def prompt_held(self) -> Prompt | None:
        """The prompt held; see above."""

    def take_prompt(self, prompt: Prompt, settings: Any = None) -> None:
        """Continue from another prompt.

        Args:
            prompt: the prompt to continue from.
            settings: the `SamplingSettings` that came with it; None to keep its own.
        """


class PromptInHand:
    """The prompts of a visit.

    Attributes:
        newest: the prompt that was typed last; None before the first.
    """

    def __init__(self) -> None:
        self.newest: Prompt | None = None
        self._held: dict[str, Prompt | None] = {}  # by holder, at the last look
        self._up_to_date: set[str] = set()  # holders that have had the newest

    def look(self, holders: Iterable[HoldsPrompt]) -> None:
        """Note the prompts of pages; one that changed since the last look was typed there."""
        for holder in holders:
            held = holder.prompt_held
            if held is not None and self._held.get(holder.name, held) != held:
                self.newest, self._up_to_date = held, {holder.name}
            self._held[holder.name] = held

    def due(self, holder: HoldsPrompt) -> Prompt | None:
        """The prompt that a holder is to take; None if it already has it or has moved on."""
        held = holder.prompt_held
        if self.newest is None or holder.name in self._up_to_date:
            return None
        return None if held is not None and held.is_same(self.newest) else self.newest

    def follow(self, holder: HoldsPrompt, prompt: Prompt, settings: Any = None) -> None:
        """Let a holder take a prompt, which does not count as typed there."""
        holder.take_prompt(prompt, settings)
        self._up_to_date.add(holder.name)
        self._held[holder.name] = holder.prompt_held


def holders_of(state: Any) -> list[HoldsPrompt]:
    """Return the parts of a page's state that follow the prompt: all, some or none."""
    parts = getattr(state, "prompt_holders", None)
    if parts is not None:
        return list(parts)
    return [state] if hasattr(state, "take_prompt") else []
