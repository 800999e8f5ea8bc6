"""The controls of sampling and stopping, and what they are set to.

Each setting has a slider for feeling and a number for exactness. The number counts: it also takes
values that the slider has no place for, and those that make no sense get the engine's own sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from engine.sampling import SamplingSettings
from engine.stopping import checked_max_new_tokens
from ui.charts.data import StageRow
from ui.labels import percent, tokens_text

DEFAULTS = {
    "temperature": 0.8,
    "top_k": 40,
    "top_p": 0.9,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
}
DEFAULT_SEED = 0
DEFAULT_MAX_TOKENS = 64


@dataclass(frozen=True)
class _Slider:
    """One setting's slider: its name for people, its range, what to say about it."""

    setting: str
    label: str
    low: float
    high: float
    step: float
    help: str


_TEMPERATURE = _Slider("temperature", "Temperature", 0.0, 2.0, 0.05, "0 is greedy.")
_TOP_P = _Slider("top_p", "Top-p", 0.01, 1.0, 0.01, "1 switches it off.")
_MIN_P = _Slider("min_p", "Min-p", 0.0, 1.0, 0.01, "0 switches it off.")
_PENALTY = _Slider("repetition_penalty", "Repetition penalty", 0.5, 2.0, 0.05, "1 switches it off.")
_TOP_K_HELP = "0 switches it off."
_LADDER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500)


@dataclass(frozen=True)
class Controls:
    """What the controls are set to.

    Attributes:
        settings: the sampling chain and the seed.
        max_tokens: where Play and Run to end stop.
        stops: stop strings.
    """

    settings: SamplingSettings
    max_tokens: int
    stops: tuple[str, ...]


def initialise() -> None:
    """Give every control its default on the first visit."""
    for name, value in DEFAULTS.items():
        st.session_state.setdefault(f"{name}_exact", value)
        st.session_state.setdefault(f"{name}_slider", value)
    st.session_state.setdefault("seed", DEFAULT_SEED)
    st.session_state.setdefault("max_tokens", DEFAULT_MAX_TOKENS)
    st.session_state.setdefault("stop_strings", "")


def fit(context_length: int | None, vocab_size: int) -> None:
    """Lower what a newly loaded model has no room for: max tokens and top-k."""
    state = st.session_state
    if context_length is not None:
        state["max_tokens"] = min(state["max_tokens"] or 0, context_length)
    state["top_k_exact"] = min(state["top_k_exact"] or 0, vocab_size)


def read(vocab_size: int) -> Controls:
    """The controls as checked values.

    Raises:
        SettingError: a value outside its range.
    """
    state = st.session_state
    seed = DEFAULT_SEED if state["seed"] is None else state["seed"]
    settings = SamplingSettings(seed=seed, **_chain_values())
    settings.check_vocabulary(vocab_size)
    wanted = state["max_tokens"]
    wanted = DEFAULT_MAX_TOKENS if wanted is None else wanted
    limit = checked_max_new_tokens(wanted)
    return Controls(settings, limit, stop_strings(state["stop_strings"] or ""))


def read_chain(vocab_size: int) -> SamplingSettings:
    """The sampling chain alone, to look at a step whatever the other fields say.

    Raises:
        SettingError: a value outside its range.
    """
    settings = SamplingSettings(**_chain_values())
    settings.check_vocabulary(vocab_size)
    return settings


def _chain_values() -> dict[str, float | None]:
    """What the exact fields hold; an emptied one means the default."""
    fields = {name: st.session_state[f"{name}_exact"] for name in DEFAULTS}
    return {name: DEFAULTS[name] if value is None else value for name, value in fields.items()}


def stop_strings(text: str) -> tuple[str, ...]:
    r"""One stop string per line; ``\n`` and ``\t`` in a line mean a line break and a tab."""
    lines = (line.replace("\\n", "\n").replace("\\t", "\t") for line in text.splitlines())
    return tuple(line for line in lines if line)


def stopping_inputs() -> None:
    """Max tokens, seed, stop strings: for a row of controls."""
    st.number_input("Max tokens", step=1, key="max_tokens", width=140, persist_state="page")
    st.number_input("Seed", step=1, key="seed", width=140, persist_state="page")
    with st.popover("Stop strings"):
        st.text_area(
            "Stop strings, one per line",
            key="stop_strings",
            height=120,
            help=r"\n in a line means a line break. Tokens to come are searched for them.",
            persist_state="page",
        )


def sampling_sliders(vocab_size: int) -> dict[str, st.delta_generator.DeltaGenerator]:
    """The sliders in the order of the chain; returns a place for each one's effect."""
    places = {}
    for slider in (_PENALTY, _TEMPERATURE):
        places[slider.setting] = _slider(slider)
    places["top_k"] = _top_k(vocab_size)
    for slider in (_TOP_P, _MIN_P):
        places[slider.setting] = _slider(slider)
    return places


def _slider(slider: _Slider) -> st.delta_generator.DeltaGenerator:
    key, exact = f"{slider.setting}_slider", f"{slider.setting}_exact"
    value = st.session_state[exact]
    value = DEFAULTS[slider.setting] if value is None else value
    st.session_state[key] = min(max(float(value), slider.low), slider.high)
    with _pair():
        st.slider(
            slider.label,
            slider.low,
            slider.high,
            step=slider.step,
            key=key,
            help=slider.help,
            on_change=_copy,
            args=(key, exact),
            persist_state="page",
        )
        _exact(slider.label, exact, slider.step, "%g")
    return st.empty()


def _top_k(vocab_size: int) -> st.delta_generator.DeltaGenerator:
    places = top_k_places(vocab_size)
    value = st.session_state["top_k_exact"]
    value = DEFAULTS["top_k"] if value is None else value
    if value not in places and 0 < value < vocab_size:
        places = sorted({*places, int(value)})  # the thumb tells the truth
    st.session_state["top_k_slider"] = min(places, key=lambda place: abs(place - value))
    with _pair():
        st.select_slider(
            "Top-k",
            places,
            key="top_k_slider",
            help=_TOP_K_HELP,
            format_func=lambda place: f"{place:,}" if place else "off",
            on_change=_copy,
            args=("top_k_slider", "top_k_exact"),
            persist_state="page",
        )
        _exact("Top-k", "top_k_exact", 1, "%d")
    return st.empty()


def _exact(label: str, key: str, step: float, form: str) -> None:
    st.number_input(
        f"{label}, exact value",
        step=step,
        format=form,
        key=key,
        label_visibility="collapsed",
        width=96,
        persist_state="page",
    )


def top_k_places(vocab_size: int) -> list[int]:
    """0, then roughly even steps in ratio up to the whole vocabulary."""
    places = [place for place in _LADDER if place < vocab_size]
    thousand = 1000
    while thousand < vocab_size:
        places += [t for t in (thousand, 2 * thousand, 5 * thousand) if t < vocab_size]
        thousand *= 10
    return [0, *places, vocab_size]


def _pair():
    return st.container(horizontal=True, wrap=False, vertical_alignment="bottom")


def _copy(source: str, target: str) -> None:
    st.session_state[target] = st.session_state[source]


def effect(stage: StageRow | None) -> str:
    """What a stage did to the inspected step."""
    if stage is None:
        return "off"
    if stage.name in ("temperature", "repetition_penalty") and stage.after == stage.before:
        bits = f"entropy {stage.entropy_before:.2f} → {stage.entropy_after:.2f} bits"
        return f"{bits}, all {tokens_text(stage.after)} kept"
    change = f"{stage.before:,} → {tokens_text(stage.after)}"
    if stage.after == stage.before:
        return f"{change}, nothing removed"
    ties = stage.after - int(stage.value) if stage.name == "top_k" else 0
    tied = f" ({ties} tied with the {int(stage.value):,}th)" if ties > 0 else ""
    return f"{change}{tied}, removed {percent(stage.mass_removed)} of the mass"
