"""The tune page: a sweep over two settings, its heatmaps, the texts behind a cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import streamlit as st

from engine.errors import DecodingError
from engine.sampling import Constraint
from ui.labs import fields
from ui.labs.chat_fields import chat_fields
from ui.models.chooser import show_limits
from ui.server.problems import guarded
from ui.shell.constraint_field import ConstraintField
from ui.shell.fields import bound
from ui.shell.sampler_field import sampler_number
from ui.shell.work import look_every, watching, work_buttons, work_state
from ui.step.for_others import has_text, text_of
from ui.texts.constraints import typed_of
from ui.texts.settings import FIRST
from ui.tune.results import results
from ui.tune.tuning import EXAMPLES, MOST_PROMPTS, NONE, PAGE, SWEEPABLE, Tuning, values_name
from ui.visits.tab import this_visit
from ui.visits.visits import Visit
from ui.words.catalogue import setting_name
from ui.words.errors import told
from ui.words.glossary import meaning
from ui.words.labels import about, counted, markdown_text
from ui.words.language import marked, say

MARK = "\\\\n"  # a typed line break, escaped for Markdown
LINE_BREAK = marked("Write a line break as {mark}.")


def _field(name: str, held: object, take: Callable) -> dict:
    return bound(f"tune_{name}", held, take)


def inputs(tuning: Tuning) -> None:
    """Draw the prompts, the axes and the other inputs."""
    _prompts(tuning)
    _axis(tuning, "x", SWEEPABLE)
    _axis(tuning, "y", (NONE, *SWEEPABLE))
    left, right = st.columns(2)
    with left:
        about = say("Texts per cell and prompt. Every cell draws with the same random numbers.")
        fields.whole(tuning, "seeds", say("Seeds"), width="stretch", help=about)
    with right:
        about = meaning("max tokens")
        fields.whole(tuning, "max_tokens", say("Max tokens"), width="stretch", help=about)
    constraint = ConstraintField(tuning, "tune", typed_of(tuning.inputs.base), tuning.constrain)
    constraint.language(say("Constraint of every cell"))
    constraint.source()
    _base(tuning)


def _prompts(tuning: Tuning) -> None:
    examples = {say(example.name): example for example in EXAMPLES}
    st.selectbox(
        say("Example"),
        list(examples),
        index=None,
        placeholder=say("Choose prompts"),
        help=say("Takes the prompts and the stop string of an example."),
        **_field("example", None, lambda name: tuning.take_example(examples[name])),
    )
    for place, prompt in enumerate(tuning.inputs.prompts):
        st.text_area(
            say("Prompt {place}", place=place + 1),
            prompt,
            height=116,
            **_field(f"prompt_{place}", prompt, partial(tuning.set_prompt, place)),
        )
    with st.container(horizontal=True):
        full = len(tuning.inputs.prompts) >= MOST_PROMPTS
        st.button(say("Add prompt"), disabled=full, key="tune_add", on_click=tuning.add_prompt)
        last = len(tuning.inputs.prompts)
        if last > 1:
            st.button(
                say("Remove prompt {last}", last=last),
                key="tune_remove",
                on_click=tuning.remove_prompt,
                args=(last - 1,),
            )
    about = f"{meaning('stop string')} {say(LINE_BREAK, mark=MARK)}"
    fields.line(tuning, "stop", say("Stop string"), width="stretch", max_chars=None, help=about)
    chat_fields(tuning)


def _axis(tuning: Tuning, key: str, settings: tuple[str, ...]) -> None:
    axis, name = getattr(tuning.inputs, key), key.upper()

    def take_setting(setting: str) -> None:
        tuning.change(**{key: replace(getattr(tuning.inputs, key), setting=setting)})

    def take_values(values: str) -> None:
        tuning.change(**{key: getattr(tuning.inputs, key).typed(values)})

    left, right = st.columns(2)
    with left:
        st.selectbox(
            say("{name} axis", name=name),
            settings,
            settings.index(axis.setting),
            format_func=setting_name,
            **_field(f"axis_{name}", axis.setting, take_setting),
        )
    with right:
        st.text_input(
            values_name(name),
            axis.text,
            disabled=axis.setting == NONE,
            help=say("A list such as 0.5, 0.7, 1 or a range such as 0.2 to 1.4 step 0.3."),
            **_field(f"values_{name}_{axis.setting}", axis.text, take_values),
        )


def _base(tuning: Tuning) -> None:
    """Draw the fields of the samplers that no axis changes."""
    axes = (tuning.inputs.x.setting, tuning.inputs.y.setting)
    on = [stage.setting for stage in tuning.inputs.base.chain]
    count = sum(name not in (*axes, Constraint.setting) for name in on)
    with st.expander(
        say("Other samplers ({count} on)", count=count)
        if count
        else say("Other samplers (all off)")
    ):
        st.caption(say("Used in every cell. An axis overrides its own setting."))
        boxes = st.columns(2)
        others_on = [name for name in on if name in SWEEPABLE and name not in FIRST]
        for place, name in enumerate([*FIRST, *others_on]):
            with boxes[place % 2]:
                _base_number(tuning, name)
        others = [name for name in SWEEPABLE if name not in FIRST and name not in on]
        another = st.selectbox(
            say("Another sampler"),
            others,
            index=None,
            placeholder=say("Choose a sampler"),
            format_func=setting_name,
            key=f"tune_another_{len(on)}",
            help=meaning("sampler"),
        )
        if another is not None:
            _base_number(tuning, another)
        visit = this_visit()
        shown_above = (*SWEEPABLE, Constraint.setting)
        several = [setting_name(name) for name in on if name not in shown_above]
        if several:
            st.caption(
                say(
                    "Also on, from the step page: {several}.",
                    several=markdown_text(", ".join(several)),
                )
            )
        st.button(
            say("Take from the step page"),
            key="tune_from_step",
            disabled=not has_text(visit),
            on_click=_from_step,
            args=(visit, tuning),
            help=say("Takes its model and all of its settings, in their order."),
        )


def _base_number(tuning: Tuning, name: str) -> None:
    is_axis = name in (tuning.inputs.x.setting, tuning.inputs.y.setting)
    sampler_number(name, tuning.inputs.base, tuning.set_base, key="tune_base", disabled=is_axis)


def _from_step(visit: Visit, tuning: Tuning) -> None:
    try:
        text = text_of(visit)
    except DecodingError as error:
        tuning.error = told(error)
    else:
        tuning.take_settings(text.settings, text.model)


CAPTION = marked(
    "Look how far the colour changes along each axis: a setting that hardly "
    "changes it needs no tuning. Click a cell to read its texts."
)
STYLE = Path(__file__).with_suffix(".css")


def tune_page() -> None:
    """Draw the whole page."""
    tuning = PAGE.opened(STYLE)
    if tuning is None:
        return
    show_limits(tuning.model)
    st.caption(say(CAPTION))
    with st.container(key="tune"):
        left, right = st.columns([1, 3], gap="medium")
        with left, st.container(key="tune_inputs"):
            inputs(tuning)
        with right:
            sweep = guarded(_sweep, marked("the sweep's progress"))
            watching(sweep, lambda: look_every(tuning.work))(tuning)
            st.fragment(guarded(results, marked("the results")))(tuning)


def _sweep(tuning: Tuning) -> None:
    """Draw the planned sweep, Run and its progress; only this part reruns during a sweep."""
    work, sweep = tuning.work, tuning.plan.sweep
    with st.container(horizontal=True, vertical_alignment="center"):
        work_buttons(
            "tune_sweep",
            say("Run sweep"),
            work,
            tuning.run,
            can_begin=sweep is not None,
            cancel=tuning.cancel,
            version=work.version if work else 0,  # a new version redraws the charts
        )
        if sweep is not None:
            st.markdown(_count(tuning))
    if tuning.error or tuning.plan.problem:
        st.error(markdown_text(tuning.error or tuning.plan.problem))
    if tuning.removed_stop:
        st.info(
            markdown_text(
                say(
                    "The stop string {removed_stop} belonged to the example and was removed with "
                    "it. Type it again to keep it.",
                    removed_stop=tuning.removed_stop,
                )
            )
        )
    work_state(work, work.result.notices if work and work.result else ())
    if work and work.is_done and tuning.has_changed and sweep is not None:
        if work.model is tuning.model:
            said = say("Below is the last sweep, before your changes. Run again.")
        else:
            said = say(
                "Below is the last sweep, by {model}, before your changes. Run again.",
                model=work.model.name,
            )
        st.info(markdown_text(said))


def _count(tuning: Tuning) -> str:
    """Say how many texts the planned sweep has, and how long they would take."""
    sweep = tuning.plan.sweep
    cells = f"{len(sweep.x.values):,}" + (f" × {len(sweep.y.values):,}" if sweep.y else "")
    factors = (
        say("{count} cells", count=cells),
        counted(len(sweep.seeds), "seed"),
        counted(len(sweep.prompts), "prompt"),
    )
    seconds = tuning.seconds
    texts = say(
        "{factors} = **{texts}** of at most {max_tokens} tokens",
        factors=" × ".join(factors),
        texts=counted(sweep.count, "text"),
        max_tokens=sweep.max_tokens,
    )
    if seconds is None:
        return texts
    return say("{texts}, **{time}** if none ends early", texts=texts, time=about(seconds))
