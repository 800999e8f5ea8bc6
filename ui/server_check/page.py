"""The server page: fields, verdicts, the figures behind them, files."""

from __future__ import annotations

import html
import math
from pathlib import Path

import streamlit as st

from engine.errors import Message
from engine.server_check import AS_EXPECTED, DIFFERS, OPEN, Cell, Finding, Sheet, TokenText
from ui.labs import fields
from ui.labs.page import STYLE as LABS_STYLE
from ui.measurements.drawing import cell, chart
from ui.models.chooser import model_chooser
from ui.server.problems import guarded
from ui.server_check.charts import closeness_figure
from ui.server_check.state import CheckJob, ServerState
from ui.shell.tables import table
from ui.shell.theme import is_dark
from ui.shell.work import look_every, watching, work_buttons, work_state
from ui.visit_page import VisitPage
from ui.words.errors import told
from ui.words.labels import markdown_text, token_label
from ui.words.language import Literal, localised, marked, say, with_figures

PAGE = VisitPage(
    ServerState.name,
    begin=ServerState,
    restore=ServerState.restored,
    lost=marked("Your last inputs on this page could not be read, so it starts over."),
    kept=marked("The inputs are kept; press Start to check the new model's server."),
)
ABOUT = marked(
    "**Server.** What a server does with your settings. Every verdict is computed from its answers."
)
STYLE = Path(__file__).with_suffix(".css")
TOLD = {  # a sign, a class and the name of an outcome
    AS_EXPECTED: ("✓", "good", marked("as expected")),
    DIFFERS: ("✗", "bad", marked("differs")),
    OPEN: ("?", "open", marked("not decided")),
}
SMALL = 1e-4
EXAMPLES = {
    marked("Many continuations"): "He said: my favourite animal is the",
    marked("Few continuations"): "Once upon a time",
    marked("A repetition"): "One, two, three. One, two, three. One,",
}


def server_page() -> None:
    """Draw the whole page."""
    state = PAGE.opened(LABS_STYLE, STYLE)
    if state is None:
        return
    st.caption(say(ABOUT))
    if not state.is_on_server:
        st.info(
            markdown_text(
                say(
                    "{model} runs in this app, and this page checks servers. Choose a server "
                    "under Model, or start the app with DECODING_MODEL=http://127.0.0.1:8080.",
                    model=state.model.name,
                )
            )
        )
        return
    with st.container(key="server_fields"):
        guarded(_fields, "the fields")(state)
    every = lambda: look_every(state.work)  # noqa: E731
    watching(guarded(_live, "the check"), every)(state)
    if state.work is not None and state.work.result:
        guarded(_figures, "the figures")(state.work)
    guarded(_load, "the load")(state)


def _fields(state: ServerState) -> None:
    fields.prompt(state, EXAMPLES)
    with fields.row():
        fields.whole(
            state,
            "draws",
            say("Draws"),
            help=say("For each setting, if the server does not read settings back."),
        )
        fields.whole(
            state,
            "others",
            say("Texts at once"),
            help=say("Other texts that keep the server busy."),
        )
        fields.whole(state, "length", say("Tokens"), help=say("Of each text at temperature 0."))
        model_chooser(
            state.other,
            state.choose,
            say("It reads the server's text, to compare the two."),
            name="server_other",
            label=say("Other engine"),
        )
        if state.other is not None:
            st.button(say("Remove it"), key="server_drop", on_click=state.choose, args=(None,))


def _live(state: ServerState) -> None:
    """Draw buttons, progress and verdicts, in a fragment that is redrawn during the check."""
    work = state.work
    with st.container(horizontal=True, vertical_alignment="center", key="server_buttons"):
        found = len(work.result or ()) if work is not None else 0
        work_buttons("server_check", say("Start"), work, state.begin, version=found)
        if work is not None and work.result and not work.is_running:
            _files(work)
    if state.error:
        st.error(markdown_text(state.error))
    work_state(work)
    if work is not None:
        for found in (work.result or {}).values():
            st.html(verdict_html(found))


def verdict_html(found: Finding) -> str:
    """Return a check's verdict as HTML."""
    sign, kind, name = TOLD[found.outcome]
    title = html.escape(f"{sign} {say(found.title)}: {say(name)}")
    said = "".join(f"<p>{html.escape(told(each))}</p>" for each in found.sentences)
    return f'<div class="check-verdict check-{kind}"><strong>{title}</strong>{said}</div>'


def _load(state: ServerState) -> None:
    """Draw the server's load when it was last read."""
    st.subheader(say("Load of the server"), anchor=False)
    st.button(say("Read its metrics"), key="server_load", on_click=state.read_load)
    load = state.load_read
    if load is None:
        st.caption(say("Requests, cache and times, as the server reports them."))
        return
    rows = [
        (say("requests running"), _figure(load.running, "{:.0f}")),
        (say("requests waiting"), _figure(load.waiting, "{:.0f}")),
        (say("KV cache in use"), _figure(load.cache_used, "{:.1%}")),
        (say("prompt tokens found in its cache"), _figure(load.prefix_hits, "{:.1%}")),
        (say("mean time to the first token"), _figure(load.first_token_ms, "{:,.1f} ms")),
        (say("mean time of a further token"), _figure(load.token_ms, "{:,.1f} ms")),
    ]
    with st.container(width=520):
        st.html(table(say("Metrics"), (say("metric"), say("value")), rows, "figures"))


def _figure(value: float | None, form: str) -> str:
    if value is None:
        return say("not reported")
    return with_figures(form.format(value).replace("%", "\N{NO-BREAK SPACE}%"))


def _files(work: CheckJob) -> None:
    st.download_button(
        say("Report as Markdown"),
        work.markdown,
        "server-check.md",
        "text/markdown",
        key="server_markdown",
        on_click="ignore",
        help=say("In English, for a bug report."),
    )
    st.download_button(
        say("All figures as JSON"),
        work.json,
        "server-check.json",
        "application/json",
        key="server_json",
        on_click="ignore",
    )


def _figures(work: CheckJob) -> None:
    """Draw the tables, and the chart once the check has ended."""
    found = work.result
    crowd, engines = (_steps(found.get(name)) for name in ("crowd", "engines"))
    if not work.is_running and (crowd or engines):
        chart(
            "server-check-text",
            say("Close choices at temperature 0"),
            say(
                "A choice can change if a line comes within half of its gap. Differences of 0 are "
                "drawn at the lower edge."
            ),
            closeness_figure(crowd, engines, is_dark()),
        )
    st.subheader(say("Figures"), anchor=False)
    for one in found.values():
        if one.sheets:
            with st.expander(say(one.title)):
                for sheet in one.sheets:
                    st.html(sheet_html(sheet))


def _steps(found: Finding | None) -> Finding | None:
    """Return a finding if it has steps to draw."""
    has_any = getattr(found, "steps", ()) or getattr(found, "pairs", ())
    return found if has_any else None


def sheet_html(sheet: Sheet) -> str:
    """Return a table of figures as HTML."""
    rows = [tuple(map(_cell, row)) for row in sheet.rows]
    texts = [
        all(isinstance(each, str) for each in column) for column in zip(*sheet.rows, strict=True)
    ]
    leading = next((i for i, is_text in enumerate(texts) if not is_text), 0)
    head = [say(each) for each in sheet.head]
    kind = f"figures check-figures check-texts-{leading}" if leading else ""
    return table(say(sheet.name), head, rows, kind)


def _cell(value: Cell) -> str:
    if isinstance(value, Message):
        return say(value)
    if isinstance(value, TokenText):
        return token_label(value)
    if isinstance(value, str):
        return localised(value) if value.isdigit() else Literal(value)
    if isinstance(value, float) and 0 < abs(value) < SMALL:
        return say("below {share}", share=f"{SMALL:.4f}")
    if isinstance(value, float) and math.isinf(value):
        return "∞"
    return cell(value)
