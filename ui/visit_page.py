"""Pages whose state is kept in the visit: opening, errors, and a change of model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import streamlit as st

from engine.backend import require
from engine.errors import CapabilityError, DecodingError, msg
from engine.model import LanguageModel
from ui.jobs import Owner
from ui.models.chooser import begins_alone, model_chooser
from ui.models.first_model import load_quietly
from ui.shell.page import header, opened_visit, show_notices
from ui.shell.share import share_button
from ui.step.for_others import model_of, typed_text
from ui.visits import link
from ui.visits.in_hand import holders_of
from ui.visits.tab import this_visit
from ui.visits.visits import PageState, Visit
from ui.words.errors import in_words
from ui.words.labels import markdown_text
from ui.words.language import say


class DecodingState(PageState, Protocol):
    """The state of a page that decodes.

    Attributes:
        model: the model that decodes.
        error: why the last change failed, empty if it did not.
        owner: the person it belongs to.
    """

    model: LanguageModel
    error: str
    owner: Owner

    def load(self, model: LanguageModel) -> None:
        """Continue with another model."""


State = TypeVar("State", bound=DecodingState)


@dataclass(frozen=True)
class VisitPage(Generic[State]):
    """A page, defined by how its state is created and restored.

    Attributes:
        name: the name under which a visit keeps its state.
        begin: creates a new state with a model.
        restore: restores a state from its record; its second argument returns a model by source and
            revision.
        lost: the message if a record cannot be read; marked, as is `kept`.
        kept: the sentence on what stays when another model is loaded.
        hold: stops a new state from computing before a press, for models that may take long.
        needs: capabilities that the page requires of a model (`engine.backend.CAPABILITIES`).
    """

    name: str
    begin: Callable[[LanguageModel], State]
    restore: Callable[[dict[str, Any], Callable[[str, str | None], LanguageModel]], State]
    lost: str
    kept: str
    hold: Callable[[State], None] = lambda state: None
    needs: tuple[str, ...] = ()

    def of(self, visit: Visit) -> State:
        """Return a visit's state of this page, a new one if needed, with the prompt in hand.

        Raises:
            DecodingError: not even the bundled model can be loaded, or the model in use lacks what
                the page needs.
        """

        def make() -> State:
            model, problem = model_of(visit)
            state = self.begin(self._fitted(model))
            visit.note_prompts()
            text = typed_text(visit)
            prompt = visit.in_hand.newest or (text and text.prompt)
            if prompt is not None:
                for holder in holders_of(state):
                    visit.in_hand.follow(holder, prompt, text and text.settings)
            self._hold(state)
            state.error = f"{problem} {state.error}".strip()
            return state

        def restore(data: dict[str, Any]) -> State:
            try:
                return self.restore(data, lambda *of: self._fitted(load_quietly(*of)))
            except DecodingError as error:
                visit.notices.append(f"{say(self.lost)} {in_words(error)}")
                return make()

        state = visit.page(self.name, make, restore)
        state.owner = Owner(visit.person or visit.token)
        if visit.follow(state):
            self._hold(state)
        return state

    def _fitted(self, model: LanguageModel) -> LanguageModel:
        """Return a model as the page needs it: a server may have to list all tokens."""
        if "full_row" in self.needs and "row_on_demand" in model.capabilities:
            model = model.with_whole_rows()
        require(model, msg("This page"), *self.needs)
        return model

    def _hold(self, state: State) -> None:
        if not begins_alone(state.model):
            self.hold(state)

    def opened(self, *styles: Path, about: str = "") -> State | None:
        """Draw the header and any messages; return the state, None if there is none to draw.

        Args:
            styles: the page's own style sheets.
            about: a sentence about the page, to read while its state is created.
        """
        band = header(*styles)
        if about:
            st.caption(about)
        visit = opened_visit()
        if visit is None:
            return None
        state = model = refused = problem = None
        try:
            with st.spinner(say("Opening the page")):
                state = self.of(visit)
            model = state.model
        except CapabilityError as error:
            model, refused = model_of(visit)[0], in_words(error)
        except DecodingError as error:
            problem = in_words(error)
        self._open_link(visit, state)
        show_notices(visit)
        with band:
            if hasattr(state, "link"):
                share_button(state.link)
            model_chooser(model, self._load, say(self.kept))
        if refused:
            st.info(markdown_text(refused))
        if problem:
            st.error(markdown_text(problem))
        return state

    def _open_link(self, visit: Visit, state: State | None) -> None:
        """Set the inputs of the link by which the page was opened, once."""
        text = st.query_params.get(link.PARAMETER)
        if not hasattr(state, "follow_link") or not text:
            return
        del st.query_params[link.PARAMETER]
        try:
            found = link.opened(text)
            if found.page != state.link().page:
                raise DecodingError(say("The link is for another page; copy all of it."))
            state.follow_link(found.values)
        except DecodingError as error:
            visit.notices.append(in_words(error))
        else:
            self.hold(state)
            visit.notices.append(link.said(found, state.model.name))

    def _load(self, model: LanguageModel) -> None:
        model = self._fitted(model)
        visit = this_visit()
        state = visit.present(self.name)
        if state is None:
            state = self.begin(model)
            visit.put(self.name, state)
        else:
            state.load(model)
        self._hold(state)
