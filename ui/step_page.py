"""The step page: prompt, tokens, transport, candidates, charts. The layout, and nothing else."""

from __future__ import annotations

import os
import time

import streamlit as st

from engine.errors import DecodingError
from engine.model import BUNDLED, LanguageModel, load_model
from engine.sampling import SamplingSettings
from ui import controls, table, tokens
from ui.charts import cost, distribution
from ui.charts.data import StepView
from ui.charts.style import CONFIG
from ui.controls import Controls
from ui.labels import markdown_text, percent, size, token_label
from ui.session import DEFAULT_PROMPT, Session
from ui.view import step_view

TICK_SECONDS = 0.5  # six charts are drawn anew with each token of Play
MODELS_KEPT = 3

STYLE = """
<style>
.block-container { padding-top: 2.2rem; padding-bottom: 2rem; }
.stApp h1 { font-size: 1.7rem; padding: 0 0 0.4rem; }
</style>
"""


@st.cache_resource(max_entries=MODELS_KEPT, show_spinner=False)
def shared_model(source: str) -> LanguageModel:
    """Weights and tokenizer, shared by all visitors; caches belong to each decoder."""
    return load_model(source)


def step_page() -> None:
    """Draw the whole page."""
    st.html(STYLE + tokens.STYLE + table.STYLE)
    controls.initialise()
    session = _session()
    if session is None:
        return
    _header(session)
    _prompt(session)
    errors, strip, transport = st.container(), st.container(), st.container()
    left, right = st.columns([2.6, 1], gap="medium")
    with right:
        effects = controls.sampling_sliders(session.decoder.model.vocab_size)
    chosen, problem = _controls(session)
    for message in dict.fromkeys(filter(None, (session.error, problem))):
        errors.error(markdown_text(message))
    with transport:
        _transport(session, chosen)
    if session.mode == "running":
        _run_to_end(session, chosen, strip)
    with strip:
        st.html(tokens.strip(session.decoder, session.index))
    with left:
        view = _inspected(session, chosen, effects)
    if view is not None:
        _charts(session, view)
    _text(session)
    if session.mode == "playing":
        _ticker(session)


# --- session and model ----------------------------------------------------------------------------


def _session() -> Session | None:
    """This visitor's session; the first visit loads a model and begins a run."""
    if "session" not in st.session_state:
        asked = os.environ.get("DECODING_MODEL") or BUNDLED
        problem = ""
        for source in dict.fromkeys((asked, BUNDLED)):
            try:
                st.session_state["session"] = _first_session(source)
                break
            except DecodingError as error:
                problem = problem or str(error)
        if "session" not in st.session_state:
            st.title("Decoding Visualiser")
            st.error(markdown_text(problem))
            _model_form(None)
            return None
        if problem:
            problem = f"DECODING_MODEL={asked}: {problem} The bundled model is in use instead."
        st.session_state["session"].error = problem
    return st.session_state["session"]


def _first_session(source: str, model: LanguageModel | None = None) -> Session:
    with st.spinner("Loading the model"):
        model = model or shared_model(source)
    controls.fit(model.context_length, model.vocab_size)
    chosen = controls.read(model.vocab_size)
    return Session.begin(model, DEFAULT_PROMPT, chosen.settings, chosen.stops)


def _header(session: Session) -> None:
    decoder, model = session.decoder, session.decoder.model
    title, chip = st.columns([1, 2], vertical_alignment="bottom")
    title.title("Decoding Visualiser", anchor=False)
    used = len(decoder.prompt_ids) + len(decoder.steps)
    limit = "no limit" if model.context_length is None else f"{model.context_length:,}"
    dtype = str(model.dtype).removeprefix("torch.")
    with chip:
        st.caption(
            f"**{markdown_text(model.name)}** · {model.device} · {dtype} · "
            f"{model.parameters / 1e6:,.1f} M parameters · vocabulary {model.vocab_size:,} · "
            f"context {used:,} / {limit}",
            text_alignment="right",
        )
    for notice in model.notices:
        st.caption(markdown_text(notice))
    with st.expander("Another model"):
        _model_form(session)


def _model_form(session: Session | None) -> None:
    with st.form("model", border=False):
        source = st.text_input("Folder or hub id", placeholder="path/to/folder or owner/name")
        pressed = st.form_submit_button("Load")
    if not pressed or not source.strip():
        return
    problem = ""
    try:
        with st.spinner("Loading the model"):
            model = shared_model(source.strip())
        if session is None:
            st.session_state["session"] = _first_session(source.strip(), model)
        else:
            controls.fit(model.context_length, model.vocab_size)
            chosen = controls.read(model.vocab_size)
            session.start(session.prompt, chosen.settings, chosen.stops, model)
    except DecodingError as error:
        problem = str(error)
    if session is not None:
        session.error = problem
    elif problem:
        st.error(markdown_text(problem))
        return
    st.rerun()


# --- prompt and transport -------------------------------------------------------------------------


def _prompt(session: Session) -> None:
    st.session_state.setdefault("prompt", session.prompt)
    field, button = st.columns([9, 1], vertical_alignment="bottom")
    typed = field.text_area("Prompt", key="prompt", height=80, persist_state="page")
    button.button("Start", on_click=_on_start, args=(session,), width="stretch")
    if typed != session.prompt:
        st.info(
            "The prompt has changed. Press Start to use the new prompt; the run below keeps "
            "its own."
        )


def _controls(session: Session) -> tuple[Controls | None, str]:
    """What the controls say, handed on to the decoder; None and the reason if it is nonsense."""
    try:
        return _apply(session), ""
    except DecodingError as error:
        session.mode = "paused"
        return None, str(error)


def _apply(session: Session) -> Controls:
    model = session.decoder.model
    chosen = controls.read(model.vocab_size)
    session.decoder.settings = chosen.settings
    session.decoder.stop_strings = chosen.stops
    return chosen


def _transport(session: Session, chosen: Controls | None) -> None:
    none_yet = not session.decoder.steps
    stuck = session.is_over or chosen is None
    done = stuck or session.reached(chosen.max_tokens)
    busy = session.mode != "paused"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button("Step", type="primary", disabled=stuck, on_click=_on_step, args=(session,))
        st.button("Back", disabled=none_yet, on_click=_on_back, args=(session, 1))
        if busy:
            st.button("Pause", on_click=_on_mode, args=(session, "paused"))
        else:
            st.button("Play", disabled=done, on_click=_on_mode, args=(session, "playing"))
        st.button("Rewind", disabled=none_yet, on_click=_on_back, args=(session, None))
        st.button("Run to end", disabled=done or busy, on_click=_on_mode, args=(session, "running"))
        with st.popover("Force a token"):
            _force(session)
        controls.stopping_inputs()
    sentence = session.stop_sentence(chosen.max_tokens) if chosen else ""
    if sentence:
        st.info(markdown_text(sentence))


def _force(session: Session) -> None:
    vocabulary = session.decoder.model.vocabulary
    token_id = st.number_input(
        "Force token (id)", step=1, value=0, key="force_id", persist_state="page"
    )
    known = token_id is not None and 0 <= token_id < vocabulary.size
    if known:
        label = token_label(vocabulary.label(token_id))
        st.text(f"id {token_id} is {label}; it will be appended at the end of the text.")
    else:
        st.text(f"Ids go from 0 to {vocabulary.size - 1:,}.")
    off = session.is_over or not known
    st.button("Force", on_click=_on_force, args=(session,), disabled=off)


def _on_start(session: Session) -> None:
    chosen, _ = _controls(session)  # what is wrong with a setting is said where it stands
    if chosen is not None:
        with session.event():
            session.start(st.session_state["prompt"] or "", chosen.settings, chosen.stops)


def _on_step(session: Session) -> None:
    with session.event():
        _apply(session)
        session.step()


def _on_force(session: Session) -> None:
    if _controls(session)[0] is not None:
        with session.event():
            session.step(st.session_state["force_id"])


def _on_back(session: Session, count: int | None) -> None:
    with session.event():
        length = len(session.decoder.steps)
        session.rewind(0 if count is None else max(0, length - count))


def _on_mode(session: Session, mode: str) -> None:
    with session.event():
        session.mode = mode


def _on_inspect(session: Session) -> None:
    with session.event():
        session.mode = "paused"
        session.inspected = int(st.session_state["inspect"] or 1) - 1


def _run_to_end(session: Session, chosen: Controls, place) -> None:
    """Run with a progress bar, then draw the page again.

    Any click ends the loop between two tokens; where it is not Pause, the next rerun goes on.
    """
    done = place.progress(0.0, text="Running to the end")
    shown = time.monotonic()
    with session.event():
        for step in session.run(chosen.max_tokens):
            if time.monotonic() - shown > 0.1:
                share = min(1.0, (step.index + 1) / max(1, chosen.max_tokens))
                done.progress(
                    share, text=f"{step.index + 1:,} of up to {chosen.max_tokens:,} tokens"
                )
                shown = time.monotonic()
    session.mode = "paused"
    st.rerun()


def _ticker(session: Session) -> None:
    """Play: once the page is drawn, wait a moment, take one step, draw the page again.

    Each touch of `place` lets a click that has come meanwhile end this run, before the step.
    """
    place = st.empty()
    next_step = time.monotonic() + TICK_SECONDS
    while time.monotonic() < next_step:
        time.sleep(0.05)
        place.empty()
    with session.event():
        session.advance(_apply(session).max_tokens)
    st.rerun()


# --- the inspected step ---------------------------------------------------------------------------


def _inspected(session: Session, chosen: Controls | None, effects) -> StepView | None:
    """The table and the stages' effects; returns what the charts show, None if there is nothing."""
    index = session.index
    if index is None:
        st.info("Press Step: the model scores every token of its vocabulary, and one is drawn.")
        return None
    settings = _shown_settings(session, chosen)
    _inspect_inputs(session, index)
    try:
        view = step_view(session.decoder, index, settings, st.session_state["row_count"] or 15)
    except DecodingError as error:
        st.error(markdown_text(str(error)))
        return None
    stages = {stage.name: stage for stage in view.stages}
    for name, place in effects.items():
        place.caption(controls.effect(stages.get(name)))
    step = session.decoder.steps[index]
    st.caption(
        f"step **{index + 1}** · entropy **{view.entropy_bits:.2f} bits** after temperature, "
        f"**{view.final_entropy_bits:.2f} bits** in the draw · "
        f"**{view.survivors:,}** of {view.vocab_size:,} tokens kept · "
        f"this step **{step.total_ms:.1f} ms**{' (recorded logits)' if step.reused else ''} · "
        f"cache **{size(step.cache_bytes)}**"
    )
    st.html(table.candidates(view))
    st.caption(_notice(view))
    return view


def _shown_settings(session: Session, chosen: Controls | None) -> SamplingSettings:
    """The chain on the sliders, also where another field makes no sense; else the last one."""
    if chosen is not None:
        return chosen.settings
    try:
        return controls.read_chain(session.decoder.model.vocab_size)
    except DecodingError:
        st.caption("The table and the charts show the last valid settings.")
        return session.decoder.settings


def _inspect_inputs(session: Session, index: int) -> None:
    st.session_state["inspect"] = index + 1
    st.session_state.setdefault("row_count", 15)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input(
            "Inspect step",
            1,
            len(session.decoder.steps),
            step=1,
            key="inspect",
            on_change=_on_inspect,
            args=(session,),
            width=150,
            persist_state="page",
        )
        st.number_input("Rows", 1, 200, step=5, key="row_count", width=150, persist_state="page")


def _notice(view: StepView) -> str:
    """One sentence on how the token came about, and what these settings would do."""
    token = markdown_text(view.chosen.label)
    if view.draw is None:
        first = f"Token {token}: {view.why_no_draw}, so no random number was drawn."
    else:
        first = f"Token {token} was drawn with u = {view.draw.u:.6f}."
    if view.as_recorded:
        return first
    if view.draw is None or view.is_greedy:
        now = percent(view.chosen.final_prob)
        return f"{first} The settings differ now: with these it has {now} in the draw."
    same = markdown_text(view.draw.label)
    return f"{first} The settings differ now: with these, the same u draws {same}."


def _charts(session: Session, view: StepView) -> None:
    decoder = session.decoder
    formula = decoder.cache_formula
    figures = (
        distribution.logits(view),
        distribution.softmax(view),
        distribution.cumulative(view),
        distribution.rank_curve(view),
        cost.kv_cache(decoder.steps, formula.bytes_at if formula else None),
        cost.latency(decoder.steps),
    )
    for group in (figures[:3], figures[3:]):
        for column, figure in zip(st.columns(3), group, strict=True):
            name = figure.layout.title.text
            column.plotly_chart(figure, key=name, config=CONFIG, alt=name)
    st.caption(
        "Rank curve and cumulative probability show all ranks to 100, then log-spaced ones, each "
        f"with its exact value. Cache formula: {formula or 'none for this kind of state'}."
    )


def _text(session: Session) -> None:
    decoder = session.decoder
    st.subheader("Text so far", anchor=False)
    st.code(
        (session.prompt + decoder.text).encode("utf-8", "replace").decode("utf-8"),
        language=None,
        wrap_lines=True,
    )
    st.caption("Reloading the page starts anew; download the trace to keep this run.")
    if note := tokens.pending_note(decoder.pending_bytes):
        st.caption(markdown_text(note))
    st.download_button(
        "Download the trace (JSON)",
        lambda: decoder.trace().to_json(),
        file_name="run.json",
        mime="application/json",
        on_click="ignore",
    )
