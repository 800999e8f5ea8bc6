"""The page on how the app works: a text from `lessons/how`, samplers, the model, the glossary.

Streamlit runs this file whenever the page is drawn. A page whose state is more than its model has
a folder in `ui/`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import streamlit as st

from engine.model import LanguageModel
from engine.sampling import DEFAULT_ORDER
from ui.components.apps import mount_app
from ui.labs.state import ModelState
from ui.server.problems import guarded
from ui.shell.navigation import site
from ui.shell.page import served_glossary
from ui.shell.tables import table
from ui.visit_page import VisitPage
from ui.words.labels import counted, parameters_text, size
from ui.words.language import ENGLISH, language, marked, say

TEXTS = Path(__file__).resolve().parents[1] / "lessons" / "how"
STYLE = Path(__file__).with_suffix(".css")
SAMPLERS = "{samplers}"
ABOUT = marked(
    "**How this works.** From the prompt to a token, where every figure on screen comes from, what "
    "is not shown, and all terms."
)
PAGE = VisitPage(
    "how",
    begin=ModelState,
    restore=ModelState.restored,
    lost=marked(
        "The model of this page could not be loaded again, so the step page's model is shown "
        "instead."
    ),
    kept=marked("The model details below are those of the new one."),
    needs=("weights",),
)


def how_page() -> None:
    """Draw the whole page."""
    state = PAGE.opened(STYLE)
    if state is None:
        return
    st.caption(say(ABOUT))
    with st.container(key="how_text"):
        for section in text_of(language()):
            _section(section)
        st.fragment(guarded(_model, "the facts of the model"))(state.model)
    mount_app("glossary", "Glossary", {"site": site()}, served=served_glossary(language()))


def text_of(code: str) -> Iterator[str]:
    """Yield the sections of the text in a language, or in English if it has no translation."""
    file = TEXTS / f"{code}.md"
    text = (file if file.exists() else TEXTS / f"{ENGLISH}.md").read_text("utf-8")
    first, *others = text.split("\n## ")
    yield first
    yield from (f"## {other}" for other in others)


def _section(section: str) -> None:
    before, marker, after = section.partition(SAMPLERS)
    st.markdown(before)
    if marker:
        st.html(samplers_table())
        st.markdown(after)


def samplers_table() -> str:
    """Return a table of all samplers in the default order, as their classes describe them."""
    infos = [kind.info for kind in DEFAULT_ORDER]
    return table(
        say("Samplers, in the order in which they act"),
        [say("sampler"), say("formula"), say("what it does")],
        [(say(info.label), info.formula, say(info.about)) for info in infos],
    )


def _model(model: LanguageModel) -> None:
    st.markdown(f"## {say('The model on this page')}")
    context, formula = model.context_length, model.cache_formula
    cache = (
        say("none")
        if formula is None
        else say("{size} per position", size=size(formula.bytes_per_token))
    )
    rows = [
        (say("name"), model.name),
        (say("weights"), parameters_text(model.parameters)),
        (say("dtype, device"), f"{model.dtype}, {model.device}".replace("torch.", "")),
        (say("vocabulary V"), counted(model.vocab_size, "token")),
        (
            say("longest context"),
            say("no limit") if context is None else counted(context, "position"),
        ),
        (say("KV cache"), cache),
    ]
    st.html(table(say("Of its files and its configuration"), [say("fact"), say("value")], rows))


how_page()
