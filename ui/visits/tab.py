"""The visit of the tab whose page is being drawn.

The tab makes its token itself and keeps it (`ui/components/js/wire/visit.js`). An invisible
component in the header of every page passes it to Streamlit. That takes one more run of the script
on the first page of a tab. After that, the token is in the session's state. If the tab is a copy of
another one, the component keeps the new token of the copy.

With it comes the secret that all tabs of this browser share (`ui/components/js/wire/person.js`). It
identifies a person for longer than a tab lives: see `this_person`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import streamlit as st
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.components.apps import MODULES
from ui.server.served_files import address
from ui.server.visitor import this_address
from ui.visits.visits import FULL, VISITS, TooManyVisits, Visit, is_secret
from ui.words.language import say

KEY = "visit_tab"
TAB = "visit"  # in the session's state: token, document and person
PROGRAM = """
export default function ({ data, setStateValue }) {
  const wire = name => import(new URL(`{{modules}}/wire/${name}.js`, location.origin));
  Promise.all([wire('visit'), wire('person')]).then(([visit, { person }]) => {
    if (data?.keep) visit.keep(data.keep, data.instead_of);
    const { token, tab } = visit.here();
    if (data?.keep !== token) setStateValue('tab', { token, tab, person: person() });
  });
}
"""


@cache
def _component(modules: str) -> Any:
    program = PROGRAM.replace("{{modules}}", modules)
    return st.components.v2.component("decoding.visit", js=program, isolate_styles=False)


def visit_tab() -> None:
    """Mount the component, and store its answer."""
    visit_or_reason()  # this finds out whether the tab is a copy
    known = st.session_state.get(TAB)
    data = {}
    if known is not None:
        data = {"keep": known["token"], "instead_of": known.get("asked", known["token"])}
    with st.container(key="visit"):
        result = _component(address(MODULES))(key=KEY, data=data, on_tab_change=_on_tab)
    if known is None and result is not None:
        _take(getattr(result, "tab", None))


def _on_tab() -> None:
    state = st.session_state.get(KEY)
    _take(state.get("tab") if state is not None else None)


def _take(said: object) -> None:
    """Store the token, document and person from the tab's answer; ignore anything malformed."""
    if not hasattr(said, "get"):
        return
    token, tab, person = said.get("token"), said.get("tab"), said.get("person")
    if is_secret(token) and is_secret(tab):
        known = st.session_state.get(TAB)
        if known is None or (known["tab"], known["token"]) != (tab, token):
            person = person if is_secret(person) else ""
            st.session_state[TAB] = {"token": token, "tab": tab, "asked": token, "person": person}


def this_visit() -> Visit | None:
    """Return the visit of this tab; None until the tab has identified itself.

    Raises:
        TooManyVisits: there is no room for it at present.
    """
    known = st.session_state.get(TAB)
    if known is None:
        return None
    context = get_script_run_ctx()
    session = context.session_id if context else ""

    def is_there() -> bool:
        return not Runtime.exists() or Runtime.instance().is_active_session(session)

    visit = VISITS.open(known["token"], known["tab"], session, is_there, this_address())
    if visit.token != known["token"]:
        st.session_state[TAB] = {**known, "token": visit.token}
    visit.person = known.get("person", "")
    return visit


@dataclass(frozen=True)
class Person:
    """The user of this browser.

    Attributes:
        token: a secret that all tabs of the browser share.
        outlives_tab: whether the browser keeps it; if not, it belongs to the tab and ends with it.
    """

    token: str
    outlives_tab: bool


def this_person() -> Person | None:
    """Return the user of this tab; None until the tab has identified itself."""
    known = st.session_state.get(TAB)
    if known is None:
        return None
    person = known.get("person", "")
    return Person(person or known["token"], bool(person))


def somebody_there() -> Callable[[], bool]:
    """Return a function that returns True while this visit is open, for threads without a page."""
    visit = this_visit()
    return lambda: visit is None or bool(visit.tabs())


def visit_or_reason() -> tuple[Visit | None, str]:
    """Return the visit, or the reason for none, empty until the tab has identified itself."""
    try:
        return this_visit(), ""
    except TooManyVisits:
        return None, say(FULL)
