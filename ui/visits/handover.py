"""From another page to the step page: a text that it is to begin with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import streamlit as st

from ui.skeleton.page import HOME
from ui.visits.in_hand import Prompt
from ui.visits.visits import Visit

if TYPE_CHECKING:
    from engine.model import LanguageModel
    from engine.sampling import SamplingSettings
    from ui.step.session import Session
    from ui.texts.texts import Beginning

STEP = "step"


@dataclass(frozen=True)
class HandedOver:
    """What another page wants the step page to begin with.

    Attributes:
        model: the model; another one than the step page has replaces that.
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
        """The prompt that other pages take from it."""
        return Prompt(self.beginning.prompt, self.beginning.chat)


def open_in_step_page(visit: Visit, handed: HandedOver | Session) -> NoReturn:
    """Go to the step page; the text before is kept there.

    Args:
        visit: whose page it is.
        handed: what a new text begins with, or a session whose text goes on there; that must be a
            copy, which nobody else uses.
    """
    visit.handed[STEP] = handed
    st.switch_page(HOME)
