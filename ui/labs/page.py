"""A decoder page: fields, transport, the picture of the text, experiments below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import streamlit as st

from ui.labs.fields import Slider, slider
from ui.labs.lab import Lab
from ui.labs.transport import transport
from ui.server.problems import guarded
from ui.shell.stage import stage, staged, staged_text
from ui.shell.tables import escaped
from ui.shell.work import watching
from ui.visit_page import VisitPage
from ui.words.labels import markdown_text
from ui.words.language import marked, say

AnyLab = TypeVar("AnyLab", bound=Lab)
STYLE = Path(__file__).with_suffix(".css")


@dataclass(frozen=True)
class Experiment(Generic[AnyLab]):
    """A part of the page below the picture, in its own fragment.

    Attributes:
        name: its name in an error message: ``the exact search``.
        draw: draws it.
        every: returns the seconds until it is redrawn, None for never; called whenever the page is
            drawn.
    """

    name: str
    draw: Callable[[AnyLab], None]
    every: Callable[[AnyLab], float | None] = lambda lab: None

    def watched(self, lab: AnyLab) -> None:
        """Draw the experiment, in its fragment."""
        watching(guarded(self.draw, self.name), lambda: self.every(lab))(lab)


@dataclass(frozen=True)
class LabPage(Generic[AnyLab]):
    """The definition of a decoder page.

    Attributes:
        lab: the class of its state.
        title: the decoder's name.
        about: one sentence on what it does.
        fields: draws the fields of its inputs (see `ui.labs.fields`).
        picture: draws the text and its charts; called again after every step.
        notice: returns one sentence on what to notice, computed from the current text.
        experiments: the parts below the picture, from top to bottom.
        staged: returns the content of stage view as HTML; the text by default.
        slider: the input that stage view has a slider for.
        unit: the name of a step.
        styles: the page's own style sheet, if it has one.
    """

    lab: type[AnyLab]
    title: str
    about: str
    fields: Callable[[AnyLab], None]
    picture: Callable[[AnyLab], None]
    notice: Callable[[AnyLab], str]
    experiments: Sequence[Experiment[AnyLab]] = ()
    staged: Callable[[AnyLab], str] = lambda lab: staged_text(
        lab.inputs.prompt, escaped(lab.text.text)
    )
    slider: Slider | None = None
    unit: str = "step"
    styles: Sequence[Path] = field(default_factory=tuple)

    @property
    def visit_page(self) -> VisitPage[AnyLab]:
        """The `VisitPage` that creates, restores and pauses the page's state."""
        return VisitPage(
            self.lab.name,
            begin=self.lab,
            restore=self.lab.restored,
            lost=marked("Your last text on this page could not be read, so a new one begins."),
            kept=marked("Prompt and settings are kept; the text starts over."),
            hold=lambda lab: lab.player.stop(),
            needs=self.lab.needs,
        )

    def draw(self) -> None:
        """Draw the whole page."""
        about = f"**{say(self.title)}.** {say(self.about)}"
        lab = self.visit_page.opened(STYLE, *self.styles, about=about)
        if lab is None:
            return
        with st.container(key=f"{lab.name}_fields"):
            self.draw_fields(lab)
        watching(guarded(self.live, "the text"), lambda: lab.player.look_every)(lab)
        for experiment in self.experiments:
            experiment.watched(lab)

    def draw_fields(self, lab: AnyLab) -> None:
        """Draw the fields, and the slider of stage view."""
        guarded(self.fields, "the fields")(lab)
        if self.slider is not None:
            slider(lab, self.slider)

    def live(self, lab: AnyLab) -> None:
        """Draw transport and picture, in a fragment that reruns while the text plays."""
        lab.player.look()
        with stage():
            transport(lab, self.unit)
            if lab.text is not None:
                staged(self.staged(lab))
        if lab.error:
            st.error(markdown_text(lab.error))
        if lab.said:
            st.info(markdown_text(lab.said))
        if lab.text is None:
            return
        notice = self.notice(lab) if lab.text.steps else say("Press Step to take the first step.")
        notice_line(lab.name, notice)
        self.picture(lab)


def notice_line(name: str, notice: str) -> None:
    """Draw the line that says what to notice in the data on screen.

    Args:
        name: the name of the page.
        notice: one or two sentences of plain text.
    """
    with st.container(key=f"{name}_notice"):
        title = say("What to notice:")
        st.markdown(f"**{title}** {markdown_text(notice)}")
