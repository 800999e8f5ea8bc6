"""The page Read: fields, the text shaded token by token, its figures, and two continuations."""

from __future__ import annotations

import streamlit as st

from engine.sampling import SamplingSettings
from engine.study import ApiAnswer, TextReading
from engine.trace import Trace
from ui.components.apps import mount_app
from ui.labs import fields
from ui.labs.page import STYLE, notice_line
from ui.models.chooser import model_chooser
from ui.read import two_models
from ui.read.message import packed, packed_answer
from ui.read.state import EXAMPLES, LONGEST, NEEDS, ReadJob, ReadState
from ui.readings import view
from ui.readings.file import frame, page
from ui.server.problems import guarded
from ui.shell.csv_file import NOTE, spreadsheet_csv
from ui.shell.fields import bound
from ui.shell.work import look_every, owner, watching, work_buttons, work_state
from ui.step.for_others import open_in_step_page
from ui.step.recorded import RecordedText
from ui.texts.texts import Beginning
from ui.visit_page import VisitPage
from ui.visits.handover import HandedOver
from ui.visits.tab import this_visit
from ui.words.labels import markdown_text
from ui.words.language import language, marked, say, speaking

PAGE = VisitPage(
    ReadState.name,
    begin=ReadState,
    restore=ReadState.restored,
    lost=marked("Your last text on this page could not be read, so it starts over."),
    kept=marked("The texts are kept; press Read to have the new model read them."),
    needs=NEEDS,
)
ABOUT = marked(
    "**Read.** How likely the model finds every token of a text that exists, and what else it "
    "expected. Choose a token for its alternatives."
)
_GO_ON = "read_go_on"  # in the session's state: the place to go on from


def read_page() -> None:
    """Draw the whole page."""
    state = PAGE.opened(STYLE, about=say(ABOUT))
    if state is None:
        return
    with st.container(key="read_fields"):
        guarded(_fields, "the fields")(state)
    watching(guarded(_live, "the text"), lambda: look_every(state.work))(state)


def _fields(state: ReadState) -> None:
    def choose(name: str | None) -> None:
        if name:
            before, text, other = EXAMPLES[name]
            state.change(prompt=text, before=before, other=other)

    left, right = st.columns([5, 2])
    with left:
        most = say(
            "At most {count} characters, or as JSON a trace or the answer of an API with its "
            "probabilities.",
            count=f"{LONGEST:,}",
        )
        fields.text(state, "prompt", say("Text"), help=most)
    with right:
        st.selectbox(
            say("Example"),
            list(EXAMPLES),
            index=None,
            format_func=say,
            placeholder=say("Choose a text"),
            **bound("read_example", None, choose),
        )
    with fields.row():
        judged, compared = say("not judged"), say("to compare")
        fields.line(state, "before", say("Before it"), placeholder=judged, width=320)
        fields.line(state, "other", say("Or this text"), placeholder=compared, width=320)
        work_buttons("read_work", say("Read"), state.work, state.begin)
        model_chooser(
            state.second,
            state.load_second,
            say("It reads the same text."),
            name="read_second",
            label=say("Second model"),
        )
        if state.second is not None:
            st.button(say("Without it"), key="read_drop_second", on_click=state.drop_second)
    state.begin_alone(owner())


def _live(state: ReadState) -> None:
    place = st.session_state.pop(_GO_ON, None)
    if place is not None and state.work is not None:
        _go_on(state, state.work, place)
    if state.error:
        st.error(markdown_text(state.error))
    work = state.work
    work_state(work)
    if work is None or work.is_running:
        return
    reading, *others = work.readings
    notice_line(state.name, view.notice(reading, work.vocabulary))
    if not reading.tokens:
        return
    st.html(view.figures(reading, work.before))
    mount_app(
        "reading",
        marked("Text, token by token"),
        {"reading": packed(reading, work.vocabulary)},
        go_on=_on_go_on,
    )
    _files(state, reading, work)
    for other in others:
        _comparison(reading, other, work)
    if work.pair is not None:
        _two_models(work)
    if work.answer is not None:
        _given(work.answer)
    if work.trace is not None:
        _recorded(work.trace)


def _files(state: ReadState, reading: TextReading, work: ReadJob) -> None:
    """Draw the buttons that save the reading."""
    vocabulary, told_in = work.vocabulary, language()

    def whole() -> str:
        with speaking(told_in):
            return page(reading, vocabulary, state.model.facts, work.before)

    with fields.row():
        st.download_button(
            say("Save as a page"),
            whole,
            "reading.html",
            "text/html",
            key="read_html",
            on_click="ignore",
            help=say("One file, which opens in any browser and needs no network."),
        )
        st.download_button(
            say("Download CSV"),
            lambda: spreadsheet_csv(frame(reading, vocabulary)),
            "reading.csv",
            "text/csv",
            key="read_csv",
            on_click="ignore",
            help=say(NOTE),
        )


def _comparison(reading: TextReading, other: TextReading, work: ReadJob) -> None:
    if not other.tokens:
        return
    st.subheader(say("Two continuations"), anchor=False)
    st.markdown(markdown_text(view.verdict(reading, other, work.vocabulary)))
    st.html(view.comparison(reading, other))


def _two_models(work: ReadJob) -> None:
    st.subheader(say("Two models"), anchor=False)
    both = work.pair.result
    st.markdown(markdown_text(two_models.verdict(both)))
    st.html(two_models.figures(both))
    st.html(two_models.differences(both))
    data = {"reading": packed(both.other, work.second.vocabulary, can_go_on=False)}
    title = marked("The text as the second model reads it")
    mount_app("reading", title, data, key="reading_second")


def _given(answer: ApiAnswer) -> None:
    st.subheader(say("As the API gave it"), anchor=False)
    st.caption(
        markdown_text(
            say(
                "{shape}, model {model}: its own tokens, with the probabilities that it gave. A "
                "rank counts among the tokens that it lists.",
                shape=say(answer.shape),
                model=answer.model or say("not named"),
            )
        )
    )
    data = {"reading": packed_answer(answer)}
    mount_app("reading", marked("The answer, token by token"), data, key="reading_given")


def _recorded(trace: Trace) -> None:
    st.subheader(say("As the run recorded it"), anchor=False)
    name = trace.model.get("name", "")
    st.caption(
        markdown_text(
            say(
                "By {model}: its own probabilities in each step, at temperature 1, and the leading "
                "tokens that the trace has.",
                model=name,
            )
        )
    )
    reading, spelled = TextReading.of_trace(trace), RecordedText(trace, "").model.vocabulary
    data = {"reading": packed(reading, spelled, can_go_on=False)}
    mount_app("reading", marked("The run, token by token"), data, key="reading_recorded")


def _on_go_on() -> None:
    st.session_state[_GO_ON] = st.session_state["reading"].go_on


def _go_on(state: ReadState, work: ReadJob, place: object) -> None:
    """Begin a text on the step page with everything before a token."""
    [reading, *_] = work.readings
    if not isinstance(place, int) or not 0 <= place < len(reading.tokens):
        return
    vocabulary = work.vocabulary
    ids = [*reading.prompt_ids, *(token.token_id for token in reading.tokens[:place])]
    words = (vocabulary.token_bytes(each) for each in ids if not vocabulary.is_special(each))
    plain = b"".join(words)
    beginning = Beginning(plain.decode("utf-8", "replace"))
    open_in_step_page(this_visit(), HandedOver(state.model, beginning, SamplingSettings()))
