"""A text that another page hands over to the step page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ui.visits.in_hand import Prompt

if TYPE_CHECKING:
    from engine.model import LanguageModel
    from engine.sampling import SamplingSettings
    from ui.texts.texts import Beginning

STEP = "step"


@dataclass(frozen=True)
class HandedOver:
    """The model, text and settings that another page hands over to the step page.

    Attributes:
        model: the model; if it differs from the step page's, it replaces that.
        beginning: prompt, guidance, strategy.
        settings: how tokens are chosen, seed included.
        max_tokens, stop_strings: the stop rules.
    """

    model: LanguageModel
    beginning: Beginning
    settings: SamplingSettings
    max_tokens: int = 64
    stop_strings: tuple[str, ...] = ()

    @property
    def prompt(self) -> Prompt:
        """The prompt, for other pages that continue from this text."""
        begun = self.beginning
        return Prompt(begun.prompt, begun.chat, before=begun.before)
