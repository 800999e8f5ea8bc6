"""The compare page: settings side by side on one prompt, live, then many texts of each.

Streamlit forgets a field while its visitor is on another page, and a refused value must not stay in
one: so every field begins with what the comparison holds, and tells it of a change by a callback.
Where it is to show another value than the one typed there, another field takes its place: one that
is set from here may be drawn too late to hear of it. What a replaced field still says is passed
over, since Streamlit may report its last value once more.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.presets import PRESETS
from engine.sampling import STAGES
from ui.charts.compare import TextSeries, surprise_figure
from ui.charts.template import CONFIG
from ui.compare.column import OWN, Column, divergence
from ui.compare.comparison import FEWEST, MOST, SPEEDS, Comparison
from ui.compare.parting import parting_data
from ui.compare.samples import samples
from ui.compare.view import STYLE, cards, figures
from ui.components.apps import mount_app
from ui.models.chooser import model_chooser
from ui.models.opening import load_quietly
from ui.skeleton.fields import is_dark, stage_number, whole_number
from ui.skeleton.page import header, opened_visit, show_notices
from ui.skeleton.problems import guarded
from ui.step.for_others import has_text, model_of, text_of
from ui.texts.examples import EXAMPLES
from ui.texts.settings import FIRST, is_one_number
from ui.texts.texts import Beginning
from ui.visits.handover import HandedOver, open_in_step_page
from ui.visits.tab import this_visit
from ui.visits.visits import Visit
from ui.words.labels import markdown_text, setting_name

KEY = "compare"
CAPTION = "≠ marks the first token that differs from column 1."
SAME_U = (
    "Every column draws its n-th token with the same random number u, so texts differ because of "
    "their settings."
)
OWN_U = "Each column has its own seed, so differences may be chance."
PARTING = (
    "Up to this token all texts are the same, so all columns start from the same logits. What "
    "differs here is the settings."
)
LOOK_SECONDS = 0.5  # between two looks at the samples
USUAL = (*FIRST, "repetition_penalty")
OTHERS = tuple(name for name in STAGES if is_one_number(name) and name not in USUAL)
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
    visit = opened_visit()
    if visit is None:
        return
    comparison, problem = _opened(visit)
    show_notices(visit)
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
    if comparison.said:
        st.info(markdown_text(comparison.said))
    every = SPEEDS[comparison.speed][0] if comparison.is_growing else None
    st.fragment(guarded(_live, "the texts"), run_every=every)(comparison)
    _parting(comparison)
    _surprise(comparison)
    sampling = comparison.sampling
    every = LOOK_SECONDS if sampling and sampling.is_running else None
    st.fragment(guarded(samples, "the samples"), run_every=every)(comparison)


def _opened(visit: Visit) -> tuple[Comparison | None, str]:
    """What the visit has on this page, or why there is nothing."""
    try:
        with st.spinner("Opening the page"):
            return comparison_of(visit), ""
    except DecodingError as error:
        return None, str(error)


def comparison_of(visit: Visit) -> Comparison:
    """What a visit has on this page: what it had, else a new comparison.

    Raises:
        DecodingError: not even the bundled model can be loaded.
    """

    def make() -> Comparison:
        model, problem = model_of(visit)
        comparison = Comparison(model)
        comparison.error = problem
        return comparison

    def restore(data: dict[str, Any]) -> Comparison:
        try:
            return Comparison.restored(data, load_quietly)
        except DecodingError as error:
            visit.notices.append(
                f"Your last comparison could not be read, so a new one begins. {error}"
            )
            return make()

    return visit.page(KEY, make, restore)


def _here() -> Comparison:
    """The comparison of the visitor whose page is drawn."""
    return comparison_of(this_visit())


def _on_load(model: LanguageModel) -> None:
    visit = this_visit()
    comparison = visit.present(KEY)
    if comparison is None:
        visit.put(KEY, Comparison(model))
    else:
        comparison.load(model)


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
    comparison = _here()
    name = st.session_state[f"compare_{changes}_example"]
    prompt = next((example.prompt for example in EXAMPLES if example.name == name), None)
    if prompt is not None and comparison.changes == changes:
        comparison.set_example(prompt)


def _on_common(changes: int) -> None:
    """Whichever of the common fields has changed."""
    state = st.session_state
    comparison = _here()
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
        _sampler_fields(comparison, column, f"{key}_{column.fields}")
        _ways(comparison, column, key)


def _on_preset(number: int, presets: int, key: str) -> None:
    comparison = _here()
    column, name = comparison.column(number), st.session_state[key]
    if column is not None and column.presets == presets and name in PRESETS:
        comparison.set_settings(number, PRESETS[name].replace(seed=column.settings.seed))


def _sampler_fields(comparison: Comparison, column: Column, key: str) -> None:
    boxes = st.columns(2)
    for number, name in enumerate(USUAL):
        with boxes[number % 2]:
            _number(name, column, key)
    with boxes[1]:
        whole_number(
            "Seed of this column",
            column.settings.seed,
            key=f"{key}_seed",
            on_change=_on_field,
            args=(column.number, column.fields, "seed", f"{key}_seed"),
            disabled=comparison.same_u,
            help="Used where the columns do not draw with the same random numbers.",
        )
    on = [stage.name for stage in column.settings.chain if stage.name in OTHERS]
    further = st.selectbox(
        "Another sampler",
        OTHERS,
        index=OTHERS.index(on[0]) if on else None,
        placeholder="Choose a sampler",
        format_func=setting_name,
        key=f"{key}_further",
        persist_state="session",
    )
    if further is not None:
        _number(further, column, key)


def _on_field(number: int, fields: int, name: str, key: str) -> None:
    comparison = _here()
    column = comparison.column(number)
    if column is not None and column.fields == fields:
        comparison.change(number, **{name: st.session_state[key]})


def _number(name: str, column: Column, key: str) -> None:
    """The field of a sampler that is one number."""
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
            this_visit(),
            HandedOver(
                comparison.model,
                Beginning(comparison.prompt, comparison.chat),
                comparison.effective(column),
                comparison.max_tokens,
            ),
        )
    if st.button(
        "From the step page",
        key=f"{key}_from",
        disabled=not has_text(this_visit()),
        help="Takes its model and prompt for all columns, and its settings and seed for this one.",
    ):
        _take_over(comparison, column)
        st.rerun()
    st.button(
        "Remove this column",
        key=f"{key}_remove",
        disabled=len(comparison.columns) <= FEWEST,
        on_click=comparison.remove,
        args=(column.number,),
    )


def _take_over(comparison: Comparison, column: Column) -> None:
    try:
        text = text_of(this_visit())
    except DecodingError as error:
        comparison.error = str(error)
        return
    begun = text.beginning
    comparison.take_over(text.model, begun.prompt, begun.chat, text.settings, column.number)


# --- live -----------------------------------------------------------------------------------------


def _on_speed() -> None:
    comparison = _here()
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


def _parting(comparison: Comparison) -> None:
    """Every column's distribution at the first token that is not the same in all."""
    data = parting_data(comparison)
    st.subheader("Where they part", anchor=False)
    if data is None:
        st.caption("All texts are the same so far. Press Play, or adjust a column.")
        return
    st.caption(f"Token {data.pop('place') + 1}. {PARTING}")
    mount_app("distributions", "Where the texts part", data)


def _surprise(comparison: Comparison) -> None:
    first = comparison.columns[0]
    series = []
    for place, column in enumerate(comparison.columns, start=1):
        parts = divergence(column, first) if column is not first else None
        logprobs = [step.logprob for step in column.steps]
        name = f"{place}. {column.title}"
        series.append(TextSeries(name, logprobs, parts.index if parts else None))
    with st.expander("Mean surprisal so far (bits per token)", expanded=True):
        st.caption(
            "Low and falling: the text is what the model expects, as in a loop. High: the settings "
            "lead it where it would seldom go. Drawn when the texts stand still."
        )
        figure = surprise_figure(series, is_dark())
        st.plotly_chart(figure, theme=None, key="compare_surprise", config=CONFIG)
