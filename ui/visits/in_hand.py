"""The prompt in hand: the one that a person typed last, on any page of the visit.

Every page that has its own prompt adopts it once, when it is next opened. A prompt typed there
afterwards is newer: the page keeps it, and the other pages adopt it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ui.texts.texts import Messages


@dataclass(frozen=True)
class Prompt:
    """A prompt on a page.

    Attributes:
        text: the prompt.
        chat: whether it goes through the chat template; None on a page without one.
        before: messages of the conversation before it.
        run: the text that began from it, on a page where a press begins a text; else empty.
    """

    text: str
    chat: bool | None = None
    run: str = ""
    before: Messages = ()

    def is_same(self, other: Prompt) -> bool:
        """Return whether the prompts are equal for a page, which may have no chat template."""
        has_none = None in (self.chat, other.chat)
        mine, others = (each.before if each.chat else () for each in (self, other))
        return self.text == other.text and (
            has_none or (self.chat == other.chat and mine == others)
        )


class HoldsPrompt(Protocol):
    """A state, or a part of one, that follows the prompt in hand.

    Attributes:
        name: its name within the visit.
        prompt_held: its prompt; None if the prompt fits only its other inputs.
    """

    name: str

    @property
    def prompt_held(self) -> Prompt | None:
        """The prompt held; see the class."""

    def take_prompt(self, prompt: Prompt, settings: Any = None) -> None:
        """Continue from another prompt.

        Args:
            prompt: the prompt to continue from.
            settings: the `SamplingSettings` that came with it; None to keep its own.
        """


class PromptInHand:
    """The prompt in hand of a visit, and the pages that have adopted it.

    Attributes:
        newest: the prompt that was typed last; None before the first.
    """

    def __init__(self) -> None:
        self.newest: Prompt | None = None
        self._held: dict[str, Prompt | None] = {}  # by holder, at the last look
        self._up_to_date: set[str] = set()  # holders that have adopted the newest

    def look(self, holders: Iterable[HoldsPrompt]) -> None:
        """Note the pages' prompts; one that has changed since the last look was typed there."""
        for holder in holders:
            held = holder.prompt_held
            if held is not None and self._held.get(holder.name, held) != held:
                self.newest, self._up_to_date = held, {holder.name}
            self._held[holder.name] = held

    def due(self, holder: HoldsPrompt) -> Prompt | None:
        """Return the newest prompt if a holder has yet to adopt it, else None."""
        held = holder.prompt_held
        if self.newest is None or holder.name in self._up_to_date:
            return None
        return None if held is not None and held.is_same(self.newest) else self.newest

    def follow(self, holder: HoldsPrompt, prompt: Prompt, settings: Any = None) -> None:
        """Give a holder a prompt, without counting it as typed there."""
        holder.take_prompt(prompt, settings)
        self._up_to_date.add(holder.name)
        self._held[holder.name] = holder.prompt_held


def holders_of(state: Any) -> list[HoldsPrompt]:
    """Return the parts of a page's state that follow the prompt in hand, if any."""
    parts = getattr(state, "prompt_holders", None)
    if parts is not None:
        return list(parts)
    return [state] if hasattr(state, "take_prompt") else []
