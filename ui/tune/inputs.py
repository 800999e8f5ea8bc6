"""The tune page's fields: prompts, the two axes, what holds in every cell."""

from __future__ import annotations

import streamlit as st

from engine.errors import DecodingError
from ui.skeleton.fields import stage_number, whole_number
from ui.step.for_others import has_text, text_of
from ui.texts.settings import FIRST
from ui.tune.tuning import (
    EXAMPLES,
    MOST_PROMPTS,
    NONE,
    SWEEPABLE,
    AxisInput,
    Tuning,
    tuning_here,
)
from ui.visits.tab import this_visit
from ui.words.labels import markdown_text, setting_name


def _key(tuning: Tuning, name: str) -> str:
    """The key of a field; a new field, that shows what holds, after a change from elsewhere."""
    return f"tune_{name}_{tuning.revision}"


def inputs(tuning: Tuning) -> None:
    """Draw all of them."""
    _prompts(tuning)
    _axis(tuning, "X", tuning.x, SWEEPABLE)
    _axis(tuning, "Y", tuning.y, (NONE, *SWEEPABLE))
    left, right = st.columns(2)
    with left:
        key = _key(tuning, "seeds")
        whole_number(
            "Seeds",
            tuning.seeds,
            key=key,
            on_change=_on_seeds,
            args=(key,),
            help="Texts per cell and prompt. Every cell draws with the same random numbers.",
        )
    with right:
        key = _key(tuning, "max_tokens")
        whole_number(
            "Max tokens", tuning.max_tokens, key=key, on_change=_on_max_tokens, args=(key,)
        )
    _base(tuning)


def _on_seeds(key: str) -> None:
    tuning_here().set_seeds(st.session_state[key])


def _on_max_tokens(key: str) -> None:
    tuning_here().set_max_tokens(st.session_state[key])


def _prompts(tuning: Tuning) -> None:
    st.selectbox(
        "Example",
        [example.name for example in EXAMPLES],
        index=None,
        placeholder="Prompts to begin with",
        key=_key(tuning, "example"),
        on_change=_on_example,
        args=(_key(tuning, "example"),),
    )
    for place, prompt in enumerate(tuning.prompts):
        key = _key(tuning, f"prompt_{place}")
        st.text_area(
            f"Prompt {place + 1}",
            prompt,
            height=116,
            key=key,
            on_change=_on_prompt,
            args=(place, key),
        )
    with st.container(horizontal=True):
        full = len(tuning.prompts) >= MOST_PROMPTS
        st.button("Add a prompt", disabled=full, key="tune_add", on_click=tuning.add_prompt)
        last = len(tuning.prompts)
        if last > 1:
            st.button(
                f"Remove prompt {last}",
                key="tune_remove",
                on_click=tuning.remove_prompt,
                args=(last - 1,),
            )
    key = _key(tuning, "stop")
    st.text_input(
        "Stop string",
        tuning.stop,
        key=key,
        on_change=on_field,
        args=("stop", key),
        help="Ends a text where it comes up. Write a line break as \\\\n.",
    )
    if tuning.model.vocabulary.has_chat_template:
        key = _key(tuning, "chat")
        st.checkbox("Chat template", tuning.chat, key=key, on_change=on_field, args=("chat", key))


def _on_example(key: str) -> None:
    name = st.session_state[key]
    for example in EXAMPLES:
        if example.name == name:
            tuning_here().take_example(example)


def _on_prompt(place: int, key: str) -> None:
    tuning_here().set_prompt(place, st.session_state[key])


def on_field(name: str, key: str) -> None:
    """A field whose value the session takes as it is."""
    tuning_here().error = ""
    setattr(tuning_here(), name, st.session_state[key])


def _axis(tuning: Tuning, name: str, axis: AxisInput, settings: tuple[str, ...]) -> None:
    left, right = st.columns(2)
    with left:
        key = _key(tuning, f"axis_{name}")
        st.selectbox(
            f"{name} axis",
            settings,
            settings.index(axis.setting),
            format_func=setting_name,
            key=key,
            on_change=_on_setting,
            args=(name, key),
        )
    with right:
        key = _key(tuning, f"values_{name}_{axis.setting}")
        st.text_input(
            f"{name} values",
            axis.text,
            key=key,
            on_change=_on_values,
            args=(name, key),
            disabled=axis.setting == NONE,
            help="A list such as 0.5, 0.7, 1 or a range such as 0.2 to 1.4 step 0.3.",
        )


def _axis_input(name: str) -> AxisInput:
    return tuning_here().x if name == "X" else tuning_here().y


def _on_setting(name: str, key: str) -> None:
    _axis_input(name).setting = st.session_state[key]
    tuning_here().error = ""


def _on_values(name: str, key: str) -> None:
    axis = _axis_input(name)
    axis.texts[axis.setting] = st.session_state[key]
    tuning_here().error = ""


def _base(tuning: Tuning) -> None:
    """Settings of the stages that no axis changes."""
    axes = (tuning.x.setting, tuning.y.setting)
    on = [stage.setting for stage in tuning.base.chain]
    fixed = [name for name in on if name not in axes]
    label = f"Other stages ({len(fixed)} on)" if fixed else "Other stages (all off)"
    with st.expander(label):
        st.caption("They hold in every cell. An axis takes the place of its own stage here.")
        boxes = st.columns(2)
        further = [name for name in on if name in SWEEPABLE and name not in FIRST]
        for place, name in enumerate([*FIRST, *further]):
            with boxes[place % 2]:
                _base_number(tuning, name, disabled=name in axes)
        others = [name for name in SWEEPABLE if name not in FIRST and name not in on]
        further_name = st.selectbox(
            "Further stage",
            others,
            index=None,
            placeholder="Choose a stage",
            format_func=setting_name,
            key=_key(tuning, f"further_{len(on)}"),
        )
        if further_name is not None:
            _base_number(tuning, further_name, disabled=further_name in axes)
        several = [name for name in on if name not in SWEEPABLE]
        if several:
            st.caption(f"Also on, from the step page: {markdown_text(', '.join(several))}.")
        st.button(
            "From the step page",
            key="tune_from_step",
            disabled=not has_text(this_visit()),
            on_click=_from_step,
            help="Takes all of its settings, in their order.",
        )


def _base_number(tuning: Tuning, name: str, *, disabled: bool) -> None:
    key = _key(tuning, f"base_{name}")
    stage_number(
        name, tuning.base, key=key, on_change=_on_base, args=(name, key), disabled=disabled
    )


def _on_base(name: str, key: str) -> None:
    tuning_here().set_base(name, st.session_state[key])


def _from_step() -> None:
    tuning = tuning_here()
    try:
        text = text_of(this_visit())
    except DecodingError as error:
        tuning.error = str(error)
    else:
        tuning.take_settings(text.settings, text.model)
