"""A text read with the exact cache and with quantised ones, side by side."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

import streamlit as st

from engine.measure import (
    GREEDY,
    MOST_COMPARED,
    Pace,
    QuantisedMeasurement,
    QuantisedResult,
    ReadText,
)
from engine.model import AXES, PER_CHANNEL, PER_TOKEN, LanguageModel, Quantisation
from engine.sampling import SamplingSettings
from ui.cache.quantised.charts import divergence_figure, saving_figure
from ui.cache.quantised.words import bits_text, changes, notice, per_token, settings_table, summary
from ui.labs import fields
from ui.labs.inputs import Inputs
from ui.measurements.drawing import chart, sheet
from ui.measurements.job import MeasureJob
from ui.measurements.section import Section, Shown
from ui.measurements.section_state import SectionState
from ui.shell.tables import escaped
from ui.texts.examples import EXAMPLES
from ui.texts.limits import LARGEST_SEED
from ui.texts.texts import check_prompt
from ui.words.glossary import meaning
from ui.words.labels import token_label
from ui.words.language import marked, say

GREEDY_TEXT, SAMPLED_TEXT, GIVEN_TEXT = "greedy", "sampled", "given"
TEXTS = {
    GREEDY_TEXT: marked("the model's own, greedy"),
    SAMPLED_TEXT: marked("the model's own, sampled"),
    GIVEN_TEXT: marked("the prompt alone"),
}
PUBLISHED = marked(
    "Published: KIVI (arXiv:2402.02750) quantises keys per channel and values per token, "
    "since a few channels of the keys are far larger than the others. A group keeps its "
    "minimum and its step, 16 bits each, which count towards the bytes."
)
HOW = marked(
    "All caches read the same tokens in the rows of one batch, one token per pass. The codes "
    "are packed, and the pass reads the values decoded from them. Rounding: the exact cache "
    "read in passes of its own, in which the model adds in a different order."
)


@dataclass(frozen=True)
class QuantisedInputs(Inputs):
    """Inputs that select the text and the quantisation.

    Attributes in addition to the prompt:
        text: how the prompt is continued, a key of `TEXTS`.
        positions: number of tokens to read, including the prompt.
        temperature, seed: settings of a sampled text.
        keys, values, group, residual: see `Quantisation`.
        compares: whether to measure other groups and axes as well.
    """

    prompt: str = "Once upon a time, there was a little"
    text: str = GREEDY_TEXT
    positions: int = 96
    temperature: float = 0.8
    seed: int = 1
    keys: str = PER_CHANNEL
    values: str = PER_TOKEN
    group: int = 32
    residual: int = 16
    compares: bool = True


def _how(inputs: QuantisedInputs) -> Quantisation:
    return Quantisation(
        group=inputs.group, keys=inputs.keys, values=inputs.values, residual=inputs.residual
    )


def _text(model: LanguageModel, inputs: QuantisedInputs) -> ReadText:
    check_prompt("prompt", inputs.prompt)
    ids = tuple(model.vocabulary.encode(inputs.prompt))
    if inputs.text == GIVEN_TEXT:
        return ReadText(ids, min(inputs.positions, len(ids)))
    settings = GREEDY
    if inputs.text == SAMPLED_TEXT:
        settings = SamplingSettings(temperature=inputs.temperature, seed=inputs.seed)
    return ReadText(ids, inputs.positions, settings)


def _begin(model: LanguageModel, inputs: QuantisedInputs) -> MeasureJob[QuantisedResult]:
    text, how = _text(model, inputs), _how(inputs)
    return MeasureJob(QuantisedMeasurement(model, text, how, inputs.compares))


def _seconds(model: LanguageModel, inputs: QuantisedInputs, pace: Pace) -> float:
    positions = _text(model, inputs).positions
    return QuantisedMeasurement.estimated_seconds(
        model, positions, _how(inputs), inputs.compares, pace
    )


def _fields(held: SectionState) -> None:
    inputs = held.inputs
    axes = {axis: say(axis) for axis in AXES}
    fields.prompt(held, {say(one.name): one.prompt for one in EXAMPLES}, help=meaning("prompt"))
    with fields.row():
        fields.choice(
            held,
            "text",
            say("Text"),
            {key: say(text) for key, text in TEXTS.items()},
            width=230,
            help=say("Who writes what follows the prompt."),
        )
        fields.whole(
            held,
            "positions",
            say("Positions"),
            2,
            MOST_COMPARED,
            help=say("Tokens that are read, including those of the prompt."),
        )
        if inputs.text == SAMPLED_TEXT:
            fields.real(held, "temperature", say("Temperature"), help=meaning("temperature"))
            fields.whole(held, "seed", say("Seed"), 0, LARGEST_SEED, help=meaning("seed"))
        fields.choice(held, "keys", say("Keys"), axes, width=150, help=meaning("quantisation axis"))
        fields.choice(
            held, "values", say("Values"), axes, width=150, help=meaning("quantisation axis")
        )
        fields.whole(held, "group", say("Group"), 2, 1024, help=meaning("quantisation group"))
        fields.whole(
            held, "residual", say("Residual"), 0, MOST_COMPARED, help=meaning("residual length")
        )
        fields.switch(
            held,
            "compares",
            say("Compare other groups and axes"),
            help=say(
                "All with this residual, at 8, 4 and 2 bits each, in one more pass over the text."
            ),
        )
    st.caption(say(PUBLISHED))


def _picture(result: QuantisedResult, shown: Shown) -> None:
    st.html(strip(result))
    sheet(summary(result))
    if not shown.is_running:
        chart(
            "cache_divergence",
            say("Divergence per token"),
            say(
                "KL from the exact distribution, whole vocabulary. A cross marks where the "
                "likeliest token differs. Positions with KL 0 cannot be shown on a "
                "logarithmic axis."
            ),
            divergence_figure(result, shown.dark, shown.other),
        )
        chart(
            "cache_saving",
            say("Bytes against divergence"),
            say(
                "Each mark is a setting measured here, larger for larger groups. Lower and "
                "further left is better."
            ),
            saving_figure(result, shown.dark, shown.other),
        )
        with st.expander(say("Tokens that changed, and all settings")):
            sheet(changes(result))
            sheet(settings_table(result))
    st.caption(say(HOW))


SHADES = 6  # `--dv-shade-0` to `-5`
LEAST, MOST = 1e-4, 1.0  # bits: lightest and darkest shade, on a logarithmic scale
SHOWN_BITS = 4


def strip(result: QuantisedResult) -> str:
    """Format the text, shaded by the divergence of 4 bits, with a line under changed tokens."""
    one = next(along for along in result.along if along.bits == SHOWN_BITS)
    tokens = "".join(
        _token(read, kl, is_changed, exact, own)
        for read, kl, is_changed, exact, own in zip(
            result.read, one.kl_bits, one.is_changed, result.top, one.top, strict=True
        )
    )
    legend = "".join(
        f'<span class="dv-kl-{shade}">{html.escape(label)}</span>'
        for shade, label in ((0, say("up to 0.0001")), (2, "0.01"), (5, say("1 bit and more")))
    )
    about = say(
        "The text with the cache at {bits} bits: divergence of the next token, {legend}",
        bits=SHOWN_BITS,
        legend=legend,
    )
    changed, name = say("likeliest next token changed"), html.escape(say("Text by divergence"))
    return (
        f'<p class="dv-facts dv-kl-legend">{about} <span class="dv-kl-changed">{changed}</span></p>'
        f'<p class="dv-written dv-kl" tabindex="0" role="region" aria-label="{name}">{tokens}</p>'
    )


def shade_of(kl: float) -> int:
    """Return the shade of a divergence in bits, 0 to 5."""
    if kl <= LEAST:
        return 0
    share = math.log(kl / LEAST) / math.log(MOST / LEAST)
    return min(SHADES - 1, math.ceil(share * (SHADES - 1)))


def _token(read: str, kl: float, is_changed: bool, exact: str, own: str) -> str:
    title = f"{token_label(read)}: {bits_text(kl)}"
    changed = ""
    if is_changed:
        changed = " dv-kl-changed"
        title += say("; next {exact} became {own}", exact=token_label(exact), own=token_label(own))
    return (
        f'<span class="dv-kl-{shade_of(kl)}{changed}" title="{html.escape(title)}">'
        f"{escaped(read)}</span>"
    )


SECTION = Section(
    key="quantised",
    name=marked("Quantised"),
    about=marked(
        "The cache in 8, 4 and 2 bits. Notice where the likeliest token changes, and "
        "what the bytes saved cost in bits of divergence."
    ),
    inputs=QuantisedInputs,
    result=QuantisedResult,
    follows=True,
    fields=_fields,
    picture=_picture,
    notice=notice,
    tables=lambda result: (summary(result), settings_table(result), per_token(result)),
    begin=_begin,
    seconds=_seconds,
)
