"""The calculator: the cache and weights of any model, and whether they fit on a card."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from engine.calculator import (
    AS_DECLARED,
    CACHE_STORAGES,
    WEIGHT_STORAGES,
    Card,
    known_cards,
    known_shapes,
)
from engine.model import LanguageModel
from ui.cache.calculator.costs import POINTS, Asked, Cost, Costs, costs
from ui.cache.calculator.models import FOLDER, HUB, OWN, PASTED, Compared, compared
from ui.cache.calculator.tables import (
    formulas_table,
    on_card_table,
    published_table,
    sizes_table,
)
from ui.charts.template import SYMBOLS, Palette, literal, palette, template
from ui.labs import fields
from ui.labs.inputs import PlainInputs
from ui.measurements.drawing import chart, sheet
from ui.measurements.section import Section, Shown
from ui.measurements.section_state import SectionState
from ui.shell.work import LOOK_SECONDS
from ui.words.errors import told
from ui.words.glossary import meaning
from ui.words.labels import markdown_text, size
from ui.words.language import localised, marked, say

OWN_CARD = marked("Own numbers")
HALF = next(iter(CACHE_STORAGES))
MOST_MODELS = 12
MOST_POSITIONS = 2**24
FIRST = ("Llama 3.1 8B", "Qwen3 8B", "Gemma 3 12B", "gpt-oss 120B", "DeepSeek V3")
COMPUTED = marked(
    "Everything here is computed from configurations; nothing is measured. Caches are "
    "counted in blocks, states once per text. The reserve stands for activations and the "
    "program. Tokens/s is an upper bound: bandwidth divided by the bytes that one pass "
    "reads. It assumes that every token chooses its experts evenly and independently. Active "
    "weights are those that the pass of one token reads."
)


@dataclass(frozen=True)
class CalculatorInputs(PlainInputs):
    """Inputs of the calculator: the models to compare, and the numbers for the computation.

    Attributes:
        shapes: names of well-known models, as `ui.labs.fields.several` stores them.
        loaded: whether to include the loaded model.
        own: kind of the additional model, a key of `OWN`; `own_text` specifies it.
        positions, batch: tokens per text, and number of texts.
        stored, weighed: storage of caches and of weights.
        block: positions per block.
        card: name of the card; a custom card has the memory `gigabytes` and the speed `bandwidth`.
        reserve: percentage of the card's memory that is left free.
    """

    shapes: str = fields.SEPARATOR.join(FIRST)
    loaded: bool = False
    own: str = ""
    own_text: str = ""
    positions: int = 8192
    batch: int = 1
    stored: str = HALF
    weighed: str = AS_DECLARED
    block: int = 16
    card: str = "NVIDIA H100 SXM"
    gigabytes: int = 80
    bandwidth: int = 2000
    reserve: int = 10


def _computed(model: LanguageModel, inputs: CalculatorInputs) -> Costs:
    card = known_cards().get(inputs.card) or Card(OWN_CARD, inputs.gigabytes, inputs.bandwidth)
    asked = Asked(
        inputs.positions,
        inputs.batch,
        inputs.stored if inputs.stored in CACHE_STORAGES else CalculatorInputs.stored,
        inputs.weighed if inputs.weighed in WEIGHT_STORAGES else AS_DECLARED,
        inputs.block,
        card,
        inputs.reserve / 100,
    )
    found = _compared(model, inputs)
    return costs(found.models, asked, found.problem)


def _compared(model: LanguageModel, inputs: CalculatorInputs) -> Compared:
    wanted = fields.names_in(inputs.shapes)[:MOST_MODELS]
    return compared(model if inputs.loaded else None, wanted, inputs.own, inputs.own_text)


def _fields(held: SectionState) -> None:
    inputs = held.inputs
    fields.several(
        held,
        "shapes",
        say("Models"),
        list(known_shapes()),
        max_selections=MOST_MODELS,
        help=say("Each computed from its published config.json."),
    )
    with fields.row():
        fields.whole(
            held, "positions", say("Context"), 1, MOST_POSITIONS, help=meaning("context"), width=140
        )
        fields.whole(held, "batch", say("Batch"), 1, 65_536, help=say("Texts at once."), width=110)
        fields.choice(
            held,
            "stored",
            say("Cache in"),
            _said(list(CACHE_STORAGES)),
            help=_abouts(CACHE_STORAGES),
        )
        fields.choice(
            held,
            "weighed",
            say("Weights in"),
            _said([AS_DECLARED, *WEIGHT_STORAGES]),
            help=_abouts(WEIGHT_STORAGES),
        )
        fields.whole(held, "block", say("Block size"), 1, 4096, help=meaning("block"), width=120)
    with fields.row():
        fields.choice(
            held,
            "card",
            say("Card"),
            _said([*known_cards(), OWN_CARD]),
            width=250,
            help=say("Published figures; the table below names their source."),
        )
        if inputs.card == OWN_CARD:
            fields.whole(
                held, "gigabytes", say("Memory, GB"), 1, 1_000_000, help=say("GB of 10⁹ bytes.")
            )
            fields.whole(held, "bandwidth", say("Bandwidth, GB/s"), 1, 10_000_000, width=150)
        fields.whole(
            held,
            "reserve",
            say("Reserve, %"),
            0,
            90,
            help=say("Memory left for activations and the program."),
        )
        fields.choice(held, "own", say("Your own model"), _said(OWN), width=230)
        fields.switch(held, "loaded", say("The loaded model"))
        if inputs.own == FOLDER:
            fields.line(held, "own_text", say("Folder"), placeholder="path/to/folder")
        elif inputs.own == HUB:
            fields.line(held, "own_text", say("Hub id"), placeholder="owner/name")
    if inputs.own == PASTED:
        fields.text(held, "own_text", "config.json", height=160, placeholder='{"model_type": …}')


def _said(names: Iterable[str] | Mapping[str, str]) -> dict[str, str]:
    """Map each value to its translated name."""
    words = names if isinstance(names, Mapping) else {name: name for name in names}
    return {value: say(word) for value, word in words.items()}


def _abouts(storages: Mapping[str, Any]) -> str:
    lines = ((say(name), say(storage.about)) for name, storage in storages.items())
    return "\n".join(f"- {name}: {about}." for name, about in lines)


# --- results --------------------------------------------------------------------------------------


def _picture(result: Costs, shown: Shown) -> None:
    if result.problem:
        st.error(markdown_text(result.problem))
    _to_come(shown.held)
    if not result.models:
        return
    notices = dict.fromkeys(told(notice) for model in result.models for notice in model.notices)
    for notice in (*notices, *_beyond(result)):
        st.warning(markdown_text(notice))
    st.subheader(say("How many users fit on one card?"), anchor=False)
    figures = say(
        "{gigabytes} GB and {bandwidth} GB/s",
        gigabytes=f"{result.gigabytes:,.0f}",
        bandwidth=f"{result.bandwidth:,.0f}",
    )
    source = (
        say("published figures ({card_source})", card_source=result.card_source)
        if result.card_source
        else say("typed in")
    )
    st.caption(
        say(
            "{card}: {figures}, {source}. Left free: {reserve} % of the memory.",
            card=say(result.card),
            figures=figures,
            source=source,
            reserve=f"{100 * result.reserve:.0f}",
        )
    )
    sheet(on_card_table(result))
    chart(
        "cache_growth",
        say("One text's cache, up to a million positions"),
        say("A flat stretch is a full window or a state. Dotted: beyond the model's context."),
        growth_figure(result, shown.dark),
    )
    sheet(sizes_table(result))
    st.caption(say(COMPUTED))
    with st.expander(say("Formulas, with the fields that each number comes from")):
        sheet(formulas_table(result))
    with st.expander(say("Published figures, and ours")):
        sheet(published_table())


def _to_come(held: SectionState) -> None:
    """List the models whose weights are still being counted; rerun the page when it changes."""
    names = _compared(held.model, held.inputs).to_come

    def look() -> None:
        left = _compared(held.model, held.inputs).to_come
        if left != names:
            st.rerun()
        st.caption(markdown_text(say("Counting the weights of {left}.", left=", ".join(left))))

    if names:
        st.fragment(look, run_every=LOOK_SECONDS)()


def _beyond(result: Costs) -> list[str]:
    if not result.beyond:
        return []
    named = ", ".join(f"{one.name} ({localised(f'{one.context:,}')})" for one in result.beyond)
    return [
        say(
            "{positions} positions exceed the context of {named}: computed beyond the "
            "trained length.",
            positions=f"{result.positions:,}",
            named=named,
        )
    ]


def _notice(result: Costs) -> str:
    grown = [one for one in result.models if one.per_token]
    if not result.models:
        return say("Choose a model to compare, or wait until the first one is counted.")
    fits = max(result.models, key=lambda one: one.users)
    most = (
        say("{name} has room for {users}", name=fits.name, users=f"{fits.users:,}")
        if fits.users
        else say("none of them fits")
    )
    sentence = say(
        "With {positions} positions each, {most} on one card of {gigabytes} GB.",
        positions=f"{result.positions:,}",
        most=most,
        gigabytes=f"{result.gigabytes:,.0f}",
    )
    if len(grown) < 2:
        return sentence
    least, largest = min(grown, key=_per_token), max(grown, key=_per_token)
    times = largest.per_token / least.per_token
    return say(
        "{sentence} A further position takes {per_token} in {name} and {per_token_2} in "
        "{name_2}, a ratio of {times}.",
        sentence=sentence,
        per_token=size(largest.per_token),
        name=largest.name,
        per_token_2=size(least.per_token),
        name_2=least.name,
        times=f"{times:,.0f}",
    )


def _per_token(one: Cost) -> int:
    return one.per_token


def growth_figure(result: Costs, dark: bool = False) -> go.Figure:
    """Chart GB over positions, both logarithmic; dotted beyond the model's context."""
    colours = palette(dark)
    figure = go.Figure()
    for place, model in enumerate(result.models):
        _curve(figure, model, place, colours)
    memory = result.gigabytes
    figure.add_hline(y=memory, line={"color": colours.muted, "dash": "dash", "width": 1.2})
    figure.add_annotation(
        x=0,
        xref="paper",
        y=math.log10(memory),  # on a logarithmic axis Plotly takes an annotation's logarithm
        yref="y",
        text=say("memory of the card, {memory} GB", memory=f"{memory:,.0f}"),
        showarrow=False,
        xanchor="left",
        yanchor="bottom",
        yshift=2,
        xshift=6,
        font={"color": colours.muted},
    )
    figure.add_vline(x=result.positions, line={"color": colours.line, "width": 1.2})
    figure.update_layout(
        template=template(dark),
        height=460,
        xaxis={"title": say("positions"), "type": "log", "dtick": 1, "tickformat": "~s"},
        yaxis={
            "title": say("GB of one text's cache"),
            "type": "log",
            "dtick": 1,
            "tickformat": "~g",
        },
    )
    return figure


def _curve(figure: go.Figure, model: Cost, place: int, colours: Palette) -> None:
    colour = colours.series[place % len(colours.series)]
    symbol = SYMBOLS[(place // len(colours.series) + place) % len(SYMBOLS)]
    context = model.context or POINTS[-1]
    gigabytes = [count / 1e9 for count in model.curve]
    inside = [n for n, positions in enumerate(POINTS) if positions <= context]
    beyond = [n for n, positions in enumerate(POINTS) if n >= inside[-1]]
    name = literal(model.name, 40)
    for places, dash, shown in ((inside, "solid", True), (beyond, "dot", False)):
        if len(places) < 2:
            continue
        figure.add_scatter(
            x=[POINTS[n] for n in places],
            y=[gigabytes[n] for n in places],
            name=name,
            legendgroup=str(place),
            showlegend=shown,
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 1.8},
            marker={
                "symbol": symbol,
                "size": [8 if n % 8 == 0 else 0 for n in places],
                "line": {"width": 0},
            },
            hovertemplate=say(
                "{name}: %{{x:,}} positions, %{{y:.3g}} GB<extra></extra>", name=name
            ),
        )


SECTION = Section(
    key="calculator",
    name=marked("Calculator"),
    about=marked(
        "Any model from its config.json, up to a million positions. Notice whose line bends, "
        "and why."
    ),
    inputs=CalculatorInputs,
    result=Costs,
    fields=_fields,
    picture=_picture,
    notice=_notice,
    tables=lambda result: (sizes_table(result), on_card_table(result), formulas_table(result)),
    computed=_computed,
)
