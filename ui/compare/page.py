"""The compare page: settings side by side on one prompt, live, then many texts of each.

Streamlit forgets a field while its visitor is on another page, and a refused value must not stay in
one: so every field begins with what the comparison holds, and tells it of a change by a callback.
Where it is to show another value than the one typed there, another field takes its place: one that
is set from here may be drawn too late to hear of it. What a replaced field still says is passed
over, since Streamlit may report its last value once more.
"""

from __future__ import annotations

import streamlit as st

from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.sampling import STAGES
from ui.charts.compare import TextSeries, surprise_figure
from ui.charts.template import CONFIG
from ui.compare.column import OWN, PRESETS, Column, divergence
from ui.compare.comparison import FEWEST, MOST, Comparison
from ui.compare.samples import samples
from ui.compare.view import STYLE, cards, figures
from ui.shared.examples import EXAMPLES
from ui.shared.fields import is_dark, stage_number, whole_number
from ui.shared.labels import markdown_text, setting_name
from ui.shared.model_chooser import first_model, model_chooser
from ui.shared.page import HandedOver, header, open_in_step_page
from ui.shared.settings import CARDS, is_one_number
from ui.step.session import Session

KEY = "compare"
CAPTION = (
    "Notice the mark ≠: up to there a text is the same as that of column 1, and there its settings "
    "let another token through."
)
SAME_U = (
    "The n-th token of every column is drawn with the same uniform number u, so texts part because "
    "of their settings and not by luck."
)
SPEEDS = {  # seconds between two looks, and of generating in each; one token at least
    "2 tokens/s": (0.5, 0.0),
    "5 tokens/s": (0.2, 0.0),
    "Fastest": (0.2, 0.15),
}
OWN_U = "Every column draws with a seed of its own, so texts part by luck as well."
LOOK_SECONDS = 0.5  # between two looks at the samples
USUAL = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")
OTHERS = tuple(name for name in STAGES if is_one_number(name) and name not in CARDS)
PAGE_STYLE = """
<style>
.stMainBlockContainer h3 { font-size: 1.1rem; padding: 0.6rem 0 0; }
[data-testid="stHeading"]:has(h3) [data-testid="stMarkdownContainer"] { margin-bottom: 0; }
@media (max-width: 640px) {
  .st-key-compare_settings [data-testid="stHorizontalBlock"] { flex-wrap: wrap; }
  .st-key-compare_settings [data-testid="stColumn"] {
    flex: 1 1 40%; min-width: 40%; width: auto;
  }
  [data-testid="stPopoverBody"] [data-testid="stColumn"] { flex: 1 1 40%; min-width: 40%; }
}
</style>
"""


def compare_page() -> None:
    """Draw the whole page."""
    band = header()
    st.html(STYLE + PAGE_STYLE)
    comparison, problem = _opened()
    with band:
        model_chooser(comparison.model if comparison else None, _on_load)
    if comparison is None:
        st.error(markdown_text(problem))
        return
    st.caption(CAPTION)
    _common(comparison)
    with st.container(key="compare_settings"):
        for place, (holder, column) in enumerate(
            zip(st.columns(len(comparison.columns)), comparison.columns, strict=True), start=1
        ):
            with holder:
                _column_fields(comparison, column, place)
    if comparison.error:
        st.error(markdown_text(comparison.error))
    every = SPEEDS[comparison.speed][0] if comparison.is_growing else None
    st.fragment(_live, run_every=every)(comparison)
    _surprise(comparison)
    sampling = comparison.sampling
    every = LOOK_SECONDS if sampling and sampling.is_running else None
    st.fragment(samples, run_every=every)(comparison)


def _opened() -> tuple[Comparison | None, str]:
    """The visitor's comparison; on the first visit a new one, or why there is none."""
    if KEY not in st.session_state:
        session: Session | None = st.session_state.get("session")
        try:
            model, problem = (session.model, "") if session else first_model()
            comparison = Comparison(model)
        except DecodingError as error:
            return None, str(error)
        comparison.error = problem
        st.session_state[KEY] = comparison
    return st.session_state[KEY], ""


def _on_load(model: LanguageModel) -> None:
    if KEY in st.session_state:
        st.session_state[KEY].load(model)
    else:
        st.session_state[KEY] = Comparison(model)


# --- what all columns have in common --------------------------------------------------------------


def _common(comparison: Comparison) -> None:
    key, args = f"compare_{comparison.changes}", (comparison.changes,)
    left, right = st.columns([3, 1], vertical_alignment="top")
    with left:
        st.text_area(
            "Prompt",
            comparison.prompt,
            height=76,
            key=f"{key}_prompt",
            on_change=_on_common,
            args=args,
        )
    with right:
        st.selectbox(
            "Example",
            [example.name for example in EXAMPLES],
            index=None,
            placeholder="Choose a prompt",
            key=f"{key}_example",
            on_change=_on_example,
            args=args,
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        whole_number(
            "Seed",
            comparison.seed,
            width=130,
            key=f"{key}_seed",
            on_change=_on_common,
            args=args,
            disabled=not comparison.same_u,
        )
        whole_number(
            "Max tokens",
            comparison.max_tokens,
            width=130,
            key=f"{key}_max_tokens",
            on_change=_on_common,
            args=args,
        )
        st.checkbox(
            "Same random numbers",
            comparison.same_u,
            key=f"{key}_same_u",
            on_change=_on_common,
            args=args,
        )
        if comparison.model.vocabulary.has_chat_template:
            st.checkbox(
                "Chat template",
                comparison.chat,
                key=f"{key}_chat",
                on_change=_on_common,
                args=args,
            )
        st.button(
            "Add column",
            disabled=len(comparison.columns) >= MOST,
            icon=":material/add:",
            key="compare_add",
            on_click=comparison.add,
        )
    st.caption(SAME_U if comparison.same_u else OWN_U)


def _on_example(changes: int) -> None:
    comparison: Comparison = st.session_state[KEY]
    name = st.session_state[f"compare_{changes}_example"]
    prompt = next((example.prompt for example in EXAMPLES if example.name == name), None)
    if prompt is not None and comparison.changes == changes:
        comparison.set_example(prompt)


def _on_common(changes: int) -> None:
    """Whichever of the common fields has changed."""
    state = st.session_state
    comparison: Comparison = state[KEY]
    if comparison.changes != changes:
        return
    key = f"compare_{changes}"
    prompt, chat = state[f"{key}_prompt"], state.get(f"{key}_chat", False)
    same_u, seed = state[f"{key}_same_u"], state[f"{key}_seed"]
    if (prompt, chat) != (comparison.prompt, comparison.chat):
        comparison.set_prompt(prompt, chat)
    elif (same_u, seed) != (comparison.same_u, comparison.seed):
        comparison.set_seeds(same_u, seed)
    else:
        comparison.set_max_tokens(state[f"{key}_max_tokens"])


# --- one column's settings ------------------------------------------------------------------------


def _column_fields(comparison: Comparison, column: Column, place: int) -> None:
    key = f"compare_{column.number}"
    names = [*comparison.presets, OWN] if column.preset == OWN else list(comparison.presets)
    st.selectbox(
        f"Column {place}",
        names,
        index=names.index(column.preset),
        key=f"{key}_preset_{column.presets}",
        on_change=_on_preset,
        args=(column.number, column.presets, f"{key}_preset_{column.presets}"),
    )
    with st.popover(f"Adjust column {place}"), st.container(width=320):
        _stage_fields(comparison, column, f"{key}_{column.fields}")
        _ways(comparison, column, key)


def _on_preset(number: int, presets: int, key: str) -> None:
    comparison: Comparison = st.session_state[KEY]
    column, name = comparison.column(number), st.session_state[key]
    if column is not None and column.presets == presets and name in PRESETS:
        comparison.set_settings(number, PRESETS[name].replace(seed=column.settings.seed))


def _stage_fields(comparison: Comparison, column: Column, key: str) -> None:
    boxes = st.columns(2)
    for number, name in enumerate(USUAL):
        with boxes[number % 2]:
            _number(name, column, key)
    with boxes[1]:
        whole_number(
            "Own seed",
            column.settings.seed,
            key=f"{key}_seed",
            on_change=_on_field,
            args=(column.number, column.fields, "seed", f"{key}_seed"),
            disabled=comparison.same_u,
            help="Counts where the columns do not draw with the same random numbers.",
        )
    on = [stage.name for stage in column.settings.chain if stage.name in OTHERS]
    further = st.selectbox(
        "Further stage",
        OTHERS,
        index=OTHERS.index(on[0]) if on else None,
        placeholder="Choose a stage",
        format_func=setting_name,
        key=f"{key}_further",
        persist_state="session",
    )
    if further is not None:
        _number(further, column, key)


def _on_field(number: int, fields: int, name: str, key: str) -> None:
    comparison: Comparison = st.session_state[KEY]
    column = comparison.column(number)
    if column is not None and column.fields == fields:
        comparison.change(number, **{name: st.session_state[key]})


def _number(name: str, column: Column, key: str) -> None:
    """The field of a stage that is one number."""
    stage_number(
        name,
        column.settings,
        key=f"{key}_{name}",
        on_change=_on_field,
        args=(column.number, column.fields, name, f"{key}_{name}"),
    )


def _ways(comparison: Comparison, column: Column, key: str) -> None:
    """To the step page, from it, and away."""
    with st.container(horizontal=True):
        _way_buttons(comparison, column, key)


def _way_buttons(comparison: Comparison, column: Column, key: str) -> None:
    if st.button(
        "Open in the step page",
        key=f"{key}_open",
        help="Begins a new text there, with this prompt, these settings and this seed.",
    ):
        open_in_step_page(
            HandedOver(
                comparison.model,
                comparison.prompt,
                comparison.effective(column),
                comparison.chat,
                comparison.max_tokens,
            )
        )
    session: Session | None = st.session_state.get("session")
    if st.button(
        "From the step page",
        key=f"{key}_from",
        disabled=session is None,
        help="Takes its model and prompt for all columns, and its settings and seed for this one.",
    ):
        comparison.take_over(
            session.model, session.prompt, session.chat, session.settings, column.number
        )
        st.rerun()
    st.button(
        "Remove this column",
        key=f"{key}_remove",
        disabled=len(comparison.columns) <= FEWEST,
        on_click=comparison.remove,
        args=(column.number,),
    )


# --- live -----------------------------------------------------------------------------------------


def _on_speed() -> None:
    comparison: Comparison = st.session_state[KEY]
    comparison.speed = st.session_state["compare_speed"] or comparison.speed


def _live(comparison: Comparison) -> None:
    """Transport, texts, figures; only this part runs again while it plays."""
    if comparison.is_growing:
        comparison.tick(SPEEDS[comparison.speed][1])
        if not comparison.is_growing:
            st.rerun()  # without the clock, and with a new chart
    over = not comparison.can_go_on
    with st.container(horizontal=True, vertical_alignment="center"):
        if comparison.is_growing:
            if st.button("Stop", type="primary", key="compare_stop", width=90):
                comparison.stop()
                st.rerun()
        elif st.button("Play", type="primary", key="compare_play", disabled=over, width=90):
            comparison.playing, comparison.error = True, ""
            st.rerun()
        if st.button("Step", key="compare_step", disabled=over):
            comparison.step()
            st.rerun()
        if st.button("Reset", key="compare_reset"):
            comparison.reset()
            st.rerun()
        st.segmented_control(
            "Speed",
            list(SPEEDS),
            default=comparison.speed,
            key="compare_speed",
            required=True,
            label_visibility="collapsed",
            on_change=_on_speed,
        )
    st.html(cards(comparison))
    st.html(figures(comparison))


def _surprise(comparison: Comparison) -> None:
    first = comparison.columns[0]
    series = []
    for place, column in enumerate(comparison.columns, start=1):
        parts = divergence(column, first) if column is not first else None
        logprobs = [step.logprob for step in column.steps]
        name = f"{place}. {column.title}"
        series.append(TextSeries(name, logprobs, parts.index if parts else None))
    with st.expander("Surprise of the model by its own texts", expanded=True):
        st.caption(
            "Low and falling: the text is what the model expects, as in a loop. High: it was led "
            "where it would seldom go by itself. Drawn when the texts stand still."
        )
        figure = surprise_figure(series, is_dark())
        st.plotly_chart(figure, theme=None, key="compare_surprise", config=CONFIG)
