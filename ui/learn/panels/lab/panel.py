"""A decoder page as a panel of a lesson: fields, transport, picture, experiments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NoReturn

import streamlit as st

from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.study import find_loop
from ui.labs.inputs import Inputs
from ui.labs.lab import Lab
from ui.labs.page import LabPage
from ui.learn.checks import shown_as
from ui.learn.functions import Call, Functions
from ui.learn.panels.inputs import InputsPanel, input_measures
from ui.learn.panels.panel import LoadModel
from ui.server.problems import guarded
from ui.shell.navigation import DECODERS
from ui.visits.visits import Visit
from ui.words.labels import stop_name
from ui.words.language import say

FIELDS = "fields"  # one of the parts: the inputs of the page
TASK_SECONDS = 120.0  # that an action waits for a worker

ACTIONS = Functions()


class LabPanel(InputsPanel[Lab], kw_only=True):
    """A text on a decoder page.

    Attributes in addition to those of `InputsPanel`:
        steps: number of steps when the panel begins; None for as many as on the page.
        parts: parts shown with transport and picture: ``fields``, and names of experiments.

    A kind also sets `lab_page`, its page, and `measures`.
    """

    steps: int | None = None

    lab_page: ClassVar[LabPage]
    actions: ClassVar[Functions] = ACTIONS

    @property
    def page(self) -> str:
        return DECODERS[self._file()]

    @classmethod
    def _file(cls) -> str:
        return f"pages/{cls.lab_page.lab.name}.py"

    @classmethod
    def known_parts(cls) -> Iterable[str]:
        return FIELDS, *(each.name for each in cls.lab_page.experiments)

    def usual(self) -> Inputs:
        return self.lab_page.lab.inputs_class()

    @property
    def first_steps(self) -> int:
        """The number of steps that the text begins with."""
        return self.lab_page.lab.first_steps if self.steps is None else self.steps

    # --- its state --------------------------------------------------------------------------------

    def begun(self, model: LanguageModel) -> Lab:
        return self.lab_page.lab(model, self.inputs, steps=self.first_steps)

    def restored(self, record: dict[str, Any], load: LoadModel) -> Lab:
        return self.lab_page.lab.restored(record, load)

    def begin_anew(self, live: Lab, actions: Iterable[Call] = ()) -> None:
        live.begin_with(self.inputs, self.first_steps)
        settle(live)
        for action in actions:
            action(live)
            settle(live)

    # --- on screen --------------------------------------------------------------------------------

    def draw(self, live: Lab, address: str, key: str) -> None:
        page = self.lab_page
        for sheet in page.styles:
            st.html(f"<style>{sheet.read_text('utf-8')}</style>")
        if FIELDS in self.parts:
            page.draw_fields(live)
        guarded(page.live, "the text")(live)
        for experiment in page.experiments:
            if experiment.name in self.parts:
                experiment.watched(live)

    def look_every(self, live: Lab) -> float | None:
        return live.player.look_every

    def open_page(self, live: Lab, visit: Visit) -> NoReturn:
        visit.put(live.name, live.copy())
        st.switch_page(self._file())


def settle(lab: Lab) -> None:
    """Wait until no text is growing; raises `DecodingError` if a step fails or takes too long."""
    if not lab.player.settle(TASK_SECONDS):
        seconds = f"{TASK_SECONDS:g}"
        raise DecodingError(
            say("A step took longer than {seconds} s; use fewer steps.", seconds=seconds)
        )
    if lab.error:
        raise DecodingError(lab.error)


MEASURES = Functions(input_measures(lambda lab: lab.inputs))


@MEASURES.add
def steps(lab: Lab) -> int:
    """The number of steps in the text, as its page counts them."""
    return len(lab.text.steps) if lab.text else 0


@MEASURES.add
def prompt(lab: Lab) -> str:
    """The prompt that is in force."""
    return lab.inputs.prompt


@MEASURES.add
def text(lab: Lab) -> str:
    """The text so far, as the strategy has it."""
    return lab.text.text if lab.text else ""


@MEASURES.add
@shown_as(stop_name)
def stopped_by(lab: Lab) -> str:
    """Reason the text ended: max_tokens, eos, full_pool, ...; empty while it continues."""
    if lab.text is None or lab.player.can_go_on:
        return ""
    return lab.text.stop_reason or "max_tokens"


# --- for strategies that append tokens ------------------------------------------------------------

OF_TOKENS = Functions(MEASURES)


@OF_TOKENS.add
def generated(lab: Lab) -> int:
    """The number of generated tokens; in beam search those of the best text."""
    return len(lab.text.token_ids) if lab.text else 0


@OF_TOKENS.add
def loop(lab: Lab) -> bool:
    """True if the text ends in a loop: the same stretch three times, 12 tokens at least."""
    return lab.text is not None and find_loop(list(lab.text.token_ids)) is not None


# --- actions --------------------------------------------------------------------------------------


@ACTIONS.add
def step(lab: Lab, times: int = 1) -> None:
    """Press Step."""
    for _ in range(times):
        lab.player.step()
        settle(lab)


@ACTIONS.add
def play(lab: Lab) -> None:
    """Press Play, and wait until the text has ended."""
    lab.player.speed = "Fastest"
    lab.player.play()


@ACTIONS.add
def back(lab: Lab, times: int = 1) -> None:
    """Press Back."""
    for _ in range(times):
        lab.player.back()


@ACTIONS.add
def rewind(lab: Lab) -> None:
    """Press Rewind."""
    lab.player.rewind()


@ACTIONS.add
def inputs(lab: Lab, **values: Any) -> None:
    """Change inputs of the page, by name: width = 1, prompt = "Water freezes at"."""
    lab.change(**values)
