"""The compare page: settings side by side on one prompt, live, then many samples of each."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import streamlit as st

from engine.errors import DecodingError
from engine.sampling import PRESETS, STAGES
from ui.charts.compare import TextSeries, surprisal_figure
from ui.charts.figure import show_figure
from ui.compare.column import OWN, Column, divergence, model_title
from ui.compare.comparison import FEWEST, MOST, Comparison
from ui.compare.samples import samples
from ui.compare.view import cards, figures, meanings, parting_data, staged_columns
from ui.components.apps import mount_app
from ui.labs import fields
from ui.labs.chat_fields import chat_fields
from ui.labs.transport import job_state, speed_field
from ui.models.chooser import model_chooser, show_limits
from ui.server.problems import guarded
from ui.shell.constraint_field import ConstraintField
from ui.shell.fields import bound, whole_number
from ui.shell.sampler_field import sampler_number
from ui.shell.stage import stage, staged
from ui.shell.theme import is_dark
from ui.shell.work import look_every, watching
from ui.step.for_others import has_text, open_in_step_page, text_of
from ui.texts.constraints import typed_of
from ui.texts.examples import examples_of
from ui.texts.settings import FIRST, is_one_number
from ui.visit_page import VisitPage
from ui.visits.handover import HandedOver
from ui.visits.tab import this_visit
from ui.visits.visits import Visit
from ui.words.catalogue import setting_name
from ui.words.errors import told
from ui.words.glossary import meaning
from ui.words.labels import markdown_text
from ui.words.language import marked, say
from ui.words.metrics import number, percent

PAGE = VisitPage(
    "compare",
    begin=Comparison,
    restore=Comparison.restored,
    lost=marked("Your last comparison could not be read, so a new one begins."),
    kept=marked("Prompt and settings are kept; every column writes its text again."),
    hold=lambda comparison: comparison.player.stop(),
)
CAPTION = marked("≠ marks the first token that differs from column 1.")
SAME_U = marked(
    "Every column draws its n-th token with the same random number u, so texts differ because of "
    "their settings."
)
SAME_U_TWO_MODELS = marked(
    "Every column draws its n-th token with the same random number u, so texts differ because of "
    "their settings or models."
)
OWN_U = marked("Each column has its own seed, so differences may be chance.")
ONLY_U = marked("The settings are the same; only the random number differs.")
ONLY_MODELS = marked("Settings and random numbers are the same; only the models differ.")
NOTHING_DIFFERS = marked(
    "Settings and random numbers are the same in all columns, and so are their texts."
)
PARTING = marked(
    "Up to this token all texts are the same, so all columns start from the same logits. {differs}"
)
PARTING_MODELS = marked(
    "Up to this token all texts are the same. There the log-probabilities of the two models differ "
    "by at most {nats} nats over the {count} tokens that both list."
)
BETWEEN_MODELS = marked(
    "Coding the first model's token with the second costs {bits} bits more (KL divergence); the "
    "total variation is {share}."
)
OTHER_TOKENS = marked(
    "The models have other tokens: each reads the prompt with its own, ≠ marks where the text "
    "differs, and figures per token count each model's own. The page Read compares two models on "
    "one text."
)
ONLY_SETTINGS = marked("The random number is the same; what differs is the settings.")
BOTH = marked("Both the settings and the random number differ.")
SECOND = marked("It writes one or more columns.")
USUAL = (*FIRST, "repetition_penalty")
OTHERS = tuple(name for name in STAGES if is_one_number(name) and name not in USUAL)
STYLE = Path(__file__).with_suffix(".css")


def compare_page() -> None:
    """Draw the whole page."""
    comparison = PAGE.opened(STYLE)
    if comparison is None:
        return
    show_limits(comparison.model)
    st.caption(say(CAPTION))
    _common(comparison)
    with st.container(key="compare_settings"):
        for place, (holder, column) in enumerate(
            zip(st.columns(len(comparison.columns)), comparison.columns, strict=True), start=1
        ):
            with holder:
                _column_fields(comparison, column, place)
    # In a container, optional content does not shift the parts below, which stay mounted.
    with st.container():
        if comparison.error:
            st.error(markdown_text(comparison.error))
        if comparison.said:
            st.info(markdown_text(comparison.said))
    watching(
        guarded(_live, marked("the texts")),
        lambda: comparison.player.look_every,
    )(comparison)
    with st.expander(say("What the metrics say")):
        st.html(meanings())
    with st.container():
        guarded(_parting, marked("the distributions"))(comparison)
    _surprisal(comparison)
    watching(guarded(samples, marked("the samples")), lambda: look_every(comparison.sampling))(
        comparison
    )


# --- shared by all columns ------------------------------------------------------------------------


def _common(comparison: Comparison) -> None:
    inputs = comparison.inputs
    left, right = st.columns([5, 2], vertical_alignment="top")
    with left:
        fields.text(comparison, "prompt", say("Prompt"), height=76, help=meaning("prompt"))
    with right:
        prompts = {say(example.name): example for example in examples_of(comparison.model)}
        st.selectbox(
            say("Example"),
            list(prompts),
            index=None,
            placeholder=say("Choose a prompt"),
            help=say("Takes the prompt of an example. The columns keep their settings."),
            **bound(
                "compare_example",
                None,
                lambda name: comparison.change(
                    prompt=prompts[name].prompt,
                    chat=prompts[name].chat,
                    before=prompts[name].beginning.before,
                ),
            ),
        )
    with fields.row():
        fields.whole(
            comparison,
            "seed",
            say("Seed"),
            width=140,
            disabled=not inputs.same_u,
            help=meaning("seed"),
        )
        most = say("Max tokens")
        fields.whole(comparison, "max_tokens", most, width=140, help=meaning("max tokens"))
        fields.switch(comparison, "same_u", say("Same random numbers"), help=meaning("u"))
        chat_fields(comparison)
        model_chooser(
            comparison.second_model,
            comparison.load_second,
            say(SECOND),
            name="compare_second",
            label=say("Second model"),
        )
        st.button(
            say("Add column"),
            disabled=len(comparison.columns) >= MOST,
            icon=":material/add:",
            key="compare_add",
            on_click=comparison.add,
            help=say("{fewest} to {most} columns.", fewest=FEWEST, most=MOST),
        )
        st.button(
            say("Vary only the seed"),
            key="compare_vary_seed",
            on_click=comparison.vary_seed,
            help=say(
                "Gives all columns the settings of the first one that draws, and each a seed of "
                "its own."
            ),
        )
    st.caption(say(_what_differs(comparison)))


def _what_differs(comparison: Comparison) -> str:
    """Return a sentence on the causes of different texts."""
    has_two_models = len({column.own_model for column in comparison.columns}) > 1
    if not comparison.inputs.same_u:
        return OWN_U if comparison.settings_differ or has_two_models else ONLY_U
    if comparison.settings_differ:
        return SAME_U_TWO_MODELS if has_two_models else SAME_U
    return ONLY_MODELS if has_two_models else NOTHING_DIFFERS


# --- one column's settings ------------------------------------------------------------------------


def _column_fields(comparison: Comparison, column: Column, place: int) -> None:
    key = f"compare_{column.number}"
    names = [*comparison.presets, OWN] if column.preset == OWN else list(comparison.presets)

    def take_preset(name: str) -> None:
        if name in PRESETS:
            settings = PRESETS[name].replace(seed=column.settings.seed)
            comparison.set_settings(column.number, settings)

    st.selectbox(
        say("Column {place}", place=place),
        names,
        index=names.index(column.preset),
        format_func=say,
        label_visibility="collapsed",  # "Adjust column 1" is below it
        **bound(f"{key}_preset", column.preset, take_preset),
    )
    with st.popover(say("Adjust column {place}", place=place)), st.container(width=320):
        _model_field(comparison, column, key)
        _sampler_fields(comparison, column, key)
        with st.container(horizontal=True):
            _ways(comparison, column, key)


def _model_field(comparison: Comparison, column: Column, key: str) -> None:
    second = comparison.second_model
    if second is None:
        return
    models, is_second = (comparison.model, second), int(column.own_model is not None)
    st.selectbox(
        say("Model"),
        range(2),
        index=is_second,
        format_func=lambda place: model_title(models[place]),
        **bound(
            f"{key}_model",
            is_second,
            lambda place: comparison.use_model(column.number, models[place]),
        ),
    )


def _sampler_fields(comparison: Comparison, column: Column, key: str) -> None:
    def take(name: str, typed: float | None) -> None:
        comparison.adjust(column.number, **{name: typed})

    boxes = st.columns(2)
    for place, name in enumerate(USUAL):
        with boxes[place % 2]:
            sampler_number(name, column.settings, take, key=key)
    with boxes[1]:
        seed = column.settings.seed
        whole_number(
            say("Seed of this column"),
            seed,
            disabled=comparison.inputs.same_u,
            help=say("Used if the columns do not draw with the same random numbers."),
            **bound(f"{key}_seed", seed, partial(take, "seed")),
        )
    on = [stage.name for stage in column.settings.chain if stage.name in OTHERS]
    another = st.selectbox(
        say("Another sampler"),
        OTHERS,
        index=OTHERS.index(on[0]) if on else None,
        placeholder=say("Choose a sampler"),
        format_func=setting_name,
        key=f"{key}_another_{'_'.join(on)}",
        persist_state="session",
        help=meaning("sampler"),
    )
    if another is not None:
        sampler_number(another, column.settings, take, key=key)
    constraint = ConstraintField(
        comparison, key, typed_of(column.settings), partial(comparison.constrain, column.number)
    )
    constraint.language()
    constraint.source()


def _ways(comparison: Comparison, column: Column, key: str) -> None:
    """Draw the buttons that open the step page, take over its text, and remove the column."""
    visit = this_visit()
    if st.button(
        say("Open on the step page"),
        key=f"{key}_open",
        disabled=comparison.inputs.chat and column.own_model is not None,  # its template may differ
        help=say("Begins a new text there, with this prompt, these settings and this seed."),
    ):
        open_in_step_page(
            visit,
            HandedOver(
                comparison.model_of(column),
                comparison.inputs.begun,
                comparison.inputs.effective(column),
                comparison.inputs.max_tokens,
            ),
        )
    st.button(
        say("Take from the step page"),
        key=f"{key}_from",
        disabled=not has_text(visit),
        on_click=_take_over,
        args=(visit, comparison, column),
        help=say("Takes its model and prompt for all columns, its settings and seed for this one."),
    )
    st.button(
        say("Remove this column"),
        key=f"{key}_remove",
        disabled=len(comparison.columns) <= FEWEST,
        on_click=comparison.remove,
        args=(column.number,),
    )


def _take_over(visit: Visit, comparison: Comparison, column: Column) -> None:
    try:
        text = text_of(visit)
    except DecodingError as error:
        comparison.error = told(error)
        return
    comparison.take_over(text.model, text.beginning, text.settings, column.number)


# --- live -----------------------------------------------------------------------------------------


def _live(comparison: Comparison) -> None:
    """Draw transport, texts and figures; only this part reruns while it plays."""
    comparison.look()
    with stage():
        _transport(comparison)
        staged(staged_columns(comparison))
    st.html(cards(comparison))
    st.html(figures(comparison))


def _transport(comparison: Comparison) -> None:
    player, why_over = comparison.player, comparison.why_over
    off = bool(why_over) or player.is_busy
    with st.container(horizontal=True, vertical_alignment="center", key="compare_transport"):
        # By callbacks, as on the decoder pages.
        if player.is_growing:
            pressed = st.button(
                say("Stop"), type="primary", key="compare_stop", width=90, on_click=player.stop
            )
        else:
            pressed = st.button(
                say("Play"),
                type="primary",
                key="compare_play",
                disabled=off,
                width=90,
                on_click=player.play,
            )
        pressed |= st.button(say("Step"), key="compare_step", disabled=off, on_click=player.step)
        pressed |= st.button(
            say("Rewind"),
            key="compare_rewind",
            disabled=player.is_busy,
            on_click=player.rewind,
            help=say("Takes all texts back to the prompt."),
        )
        if pressed:
            st.rerun()
        speed_field("compare", player)
        if why_over:
            st.caption(why_over, width="content")
    job_state("compare", player)


def _parting(comparison: Comparison) -> None:
    """Draw every column's distribution at the first token that differs."""
    data = parting_data(comparison)
    st.subheader(say("First token that differs"), anchor=False)
    if any(column.has_other_tokens for column in comparison.columns):
        st.caption(say(OTHER_TOKENS))
        return
    if data is None:
        st.caption(say("All texts are the same so far. Press Play, or adjust a column."))
        return
    where = say("Token {place}.", place=data.pop("place") + 1)
    differs = (
        (ONLY_SETTINGS if comparison.inputs.same_u else BOTH)
        if comparison.settings_differ
        else ONLY_U
    )
    nats, shared, bits, share = (
        data.pop(name) for name in ("nats", "shared", "kl_bits", "variation")
    )
    if nats is None:
        said = say(PARTING, differs=say(differs))
    else:
        said = say(PARTING_MODELS, nats=number(nats, 4), count=f"{shared:,}")
    if bits is not None:
        said = f"{said} {say(BETWEEN_MODELS, bits=number(bits, 4), share=percent(share))}"
    st.caption(f"{where} {said}")
    mount_app("distributions", marked("First token that differs"), data)


def _surprisal(comparison: Comparison) -> None:
    first = comparison.columns[0]
    series = []
    for place, column in enumerate(comparison.columns, start=1):
        parts = divergence(column, first) if column is not first else None
        logprobs = [step.logprob for step in column.steps]
        name = f"{place}. {column.title}"
        series.append(TextSeries(name, logprobs, parts.index if parts else None))
    with st.expander(say("Mean surprisal so far (bits per token)"), expanded=True):
        st.caption(
            say(
                "Low: the model expected the text, as in a loop. High: it hardly expected the "
                "drawn tokens. The chart is made when the texts stop growing."
            ),
            help=meaning("surprisal"),
        )
        if not any(column.steps for column in comparison.columns):
            st.caption(say("Nothing generated yet."))
            return
        figure = surprisal_figure(series, is_dark())
        alt = say("Mean surprisal after each token, a line for each column")
        show_figure(figure, "compare_surprisal", alt)
