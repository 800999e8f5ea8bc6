"""The tokens page: a text, its tokens by two tokenizers, samples, and the cost of tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import streamlit as st

from engine.errors import DecodingError
from ui.cache.prefill_and_decode.cost import cost_fields, cost_words
from ui.cache.prefill_and_decode.prices import Cost
from ui.charts.figure import SAVED, show_figure
from ui.components.apps import mount_app
from ui.labs import fields
from ui.labs.page import STYLE as LABS_STYLE
from ui.labs.page import notice_line
from ui.measurements.drawing import sheet
from ui.models.chooser import allowed
from ui.server.problems import guarded
from ui.shell.csv_file import NOTE, spreadsheet_csv
from ui.shell.fields import bound
from ui.shell.tables import table, text_list
from ui.shell.theme import is_dark
from ui.shell.work import look_every, owner, watching, work_buttons, work_state
from ui.tokens.charts import sample_figure
from ui.tokens.measures import MEASURES
from ui.tokens.message import packed
from ui.tokens.notice import notice
from ui.tokens.samples import experiments, samples
from ui.tokens.sources import NOTHING, names
from ui.tokens.state import LONGEST, OUTPUT, Shown, TokensState
from ui.tokens.tables import (
    figures,
    price_table,
    sample_table,
    stage_rows,
    time_table,
    token_frame,
    word_rows,
)
from ui.visit_page import VisitPage
from ui.words.errors import in_words
from ui.words.labels import counted, markdown_text
from ui.words.language import ENGLISH, marked, say, speaking

PAGE = VisitPage(
    TokensState.name,
    begin=TokensState,
    restore=TokensState.restored,
    lost=marked("Your last text on this page could not be read, so it starts over."),
    kept=marked("Text and prices are kept; the text is split and timed again."),
)
ABOUT = marked(
    "**Tokens.** A model reads ids, not letters. Point at a token for its id and bytes; "
    "choose one for the merges that made it. Every merge is computed here, and the result "
    "matches the tokenizer's."
)
STYLE = Path(__file__).with_suffix(".css")


def tokens_page() -> None:
    """Draw the whole page."""
    state = PAGE.opened(LABS_STYLE, STYLE)
    if state is None:
        return
    st.caption(say(ABOUT))
    with st.container(key="tokens_fields"):
        guarded(_fields, "the fields")(state)
    if state.error:
        st.error(markdown_text(state.error))
    try:
        shown = state.shown()
    except DecodingError as error:
        st.error(markdown_text(in_words(error)))
        return
    notice_line(state.name, notice(shown))
    mount_app("tokens", "Text as tokens", {"sides": packed(shown)})
    guarded(_stages, "the stages")(shown)
    guarded(_words, "the words")(shown)
    guarded(_samples, "the samples")(state, shown)
    guarded(_cost, "the cost")(state, shown)


def _fields(state: TokensState) -> None:
    texts = {one.name: one.text for one in experiments()}
    fields.prompt(
        state,
        texts,
        label=say("Text"),
        placeholder=say("Choose a text"),
        help=say("At most {count} characters.", count=f"{LONGEST:,}"),
    )
    look = {one.text: one.look for one in experiments()}.get(state.inputs.prompt)
    if look:
        title = say("Look at this:")
        st.caption(f"**{title}** {markdown_text(say(look))}")
    inputs = state.inputs
    with fields.row():
        fields.choice(state, "first", say("Tokenizer"), names(state.model, inputs.first), width=320)
        others = {NOTHING: say("None")} | names(state.model, inputs.second)
        fields.choice(state, "second", say("Next to it"), others, width=320)
        if allowed() is None:
            _another(state)


def _another(state: TokensState) -> None:
    """Draw the field that loads a tokenizer by folder or hub id."""

    def take(typed: str) -> None:
        if typed.strip():
            state.change(second=typed.strip())

    st.text_input(
        say("Another tokenizer"),
        "",
        placeholder=say("folder, or owner/name"),
        max_chars=1000,
        width=230,
        help=say(
            "A folder with tokenizer.json, or a hub id. For a hub id, only the tokenizer's "
            "files are downloaded; what is already in the hub's cache needs no connection."
        ),
        **bound("tokens_another", "", take),
    )


def _stages(shown: Sequence[Shown]) -> None:
    with st.expander(say("Stages, from text to ids")):
        st.caption(say("Each pre-token is split on its own: no token crosses its boundaries."))
        for one in shown:
            head = (say("stage"), say("done by"), say("what comes out"))
            st.html(table(one.name, head, stage_rows(one.cut)))
            if one.cut.problem:
                st.caption(markdown_text(one.cut.problem))
        with fields.row():
            for one in shown:
                st.download_button(
                    markdown_text(say("Tokens of {name} as CSV", name=one.name)),
                    partial(_csv, one),
                    f"tokens-{_file_name(one)}.csv",
                    "text/csv",
                    key=f"tokens_csv_{one.key}",
                    on_click="ignore",
                    help=say(NOTE),
                )


def _words(shown: Sequence[Shown]) -> None:
    with st.expander(say("Words of the text, and how many tokens each takes")):
        head = (say("word"), *(say("tokens, {name}", name=one.name) for one in shown))
        st.html(table(say("Words"), head, word_rows(shown), "figures"))
        st.caption(
            say(
                "Words split into the most tokens come first. A token with a leading space "
                "belongs to its word."
            )
        )


def _csv(shown: Shown) -> bytes:
    with speaking(ENGLISH):  # saved files are always in English
        return spreadsheet_csv(token_frame(shown))


def _file_name(shown: Shown) -> str:
    return re.sub(r"\W+", "-", shown.key).strip("-").lower() or "text"


def _samples(state: TokensState, shown: Sequence[Shown]) -> None:
    st.subheader(say("Languages, numbers, code, emoji"), anchor=False)
    st.caption(say("All languages say the same two sentences. Words are separated by spaces."))
    fields.choice(
        state,
        "measure",
        say("Measure of the samples"),
        {key: say(measure.name) for key, measure in MEASURES.items()},
        width=260,
    )
    measure, text = MEASURES[state.inputs.measure], shown[0].cut.text
    rows = figures(shown, state.cut, state.inputs.measure, text)
    figure = sample_figure(say(measure.name), [one.name for one in shown], rows, is_dark())
    alt = say("{measure} of every sample", measure=say(measure.name))
    show_figure(figure, "tokens_samples", alt, config=SAVED)
    with st.expander(say("All figures, and the samples themselves")):
        sheet(sample_table(shown, state.cut, text))
        st.html(text_list(say("Samples"), "", (((say(one.name),), one.text) for one in samples())))


def _cost(state: TokensState, shown: Sequence[Shown]) -> None:
    st.subheader(say("What these tokens cost"), anchor=False)
    cost_fields(state)
    inputs = state.inputs
    sheet(price_table(shown, inputs.input_price, inputs.output_price))
    st.caption(say("An estimate: a provider counts with a tokenizer of its own."))
    state.begin_alone(owner())
    watching(guarded(_times, "the times"), lambda: look_every(state.work))(state)


def _times(state: TokensState) -> None:
    """Draw the section that times the tokens on the page's model."""
    with fields.row():
        work_buttons("tokens", say("Measure"), state.work, state.begin)
    work_state(state.work)
    result = state.work.result if state.work is not None else None
    if result is None:
        st.caption(say("Nothing is measured yet. Press Measure."))
        return
    prompt = counted(result.largest.prompt, "token")
    st.caption(
        say(
            "Measured on this model: {prompt} read, and {output} decoded after them, three "
            "times. Figures are medians.",
            prompt=prompt,
            output=OUTPUT,
        )
    )
    cost = Cost(result.largest, state.inputs.input_price, state.inputs.output_price)
    sheet(time_table(cost))
    st.markdown(markdown_text(cost_words(cost, result.weight_bytes)))
