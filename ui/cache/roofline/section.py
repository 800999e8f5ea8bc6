"""The roofline of this machine, the model's passes below it, and the decode law."""

from __future__ import annotations

import math
from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from engine.errors import SettingError
from engine.measure import (
    BATCH,
    DECODE,
    MOST_ROWS,
    PREFILL,
    Pace,
    Pass,
    Plan,
    Roofline,
    RooflineMeasurement,
)
from engine.model import LanguageModel
from ui.cache.roofline.tables import (
    TABLES,
    bandwidth_text,
    law_table,
    layers_table,
    pass_name,
    passes_table,
    rate_text,
)
from ui.charts.template import SYMBOLS, Palette, literal, palette, template
from ui.labs import fields
from ui.labs.inputs import PlainInputs
from ui.measurements.drawing import chart, sheet, steadiness
from ui.measurements.job import MeasureJob
from ui.measurements.section import Laid, Section, Shown
from ui.measurements.section_state import SectionState
from ui.tune.values import parse_values
from ui.words.glossary import meaning
from ui.words.labels import markdown_text
from ui.words.language import marked, say

COUNTED = marked(
    "Operations are counted from the shapes of each matrix product and of attention. Bytes "
    "are those of the weights, read once per pass, and of the cache, read and written. "
    "Activations are not included. If a model has experts, its weights are the most that a "
    "pass may read."
)
MEASURED = marked(
    "A ceiling is the fastest of seven repetitions: an amount of memory far larger than the "
    "processor's caches is summed, multiplied by one row, copied; matrices of growing size "
    "are multiplied. For passes, the median is shown."
)


@dataclass(frozen=True)
class RooflineInputs(PlainInputs):
    """Inputs of the measurement.

    Attributes:
        batches: batch sizes to decode with, as typed.
    """

    batches: str = "1, 2, 4, 8, 16, 32, 64"


def _plan(model: LanguageModel, inputs: RooflineInputs) -> Plan:
    batches = parse_values(say("Batches"), inputs.batches)
    for rows in batches:
        if not isinstance(rows, int):
            remedy = say("use whole numbers from 1 to {most_rows}", most_rows=MOST_ROWS)
            raise SettingError(say("Batches"), rows, say("is not a number of texts"), remedy)
    return Plan.usual(model, batches)


def _begin(model: LanguageModel, inputs: RooflineInputs) -> MeasureJob[Roofline]:
    return MeasureJob(RooflineMeasurement(model, _plan(model, inputs)))


def _seconds(model: LanguageModel, inputs: RooflineInputs, pace: Pace) -> float:
    return RooflineMeasurement.estimated_seconds(model, _plan(model, inputs), pace)


def _fields(held: SectionState) -> None:
    with fields.row():
        fields.line(
            held,
            "batches",
            say("Batches"),
            help=say(
                "How many texts are decoded in one pass, a list. They share one reading of "
                "the weights."
            ),
        )


def _picture(result: Roofline, shown: Shown) -> None:
    if result.peak is not None and result.bandwidth is not None and not shown.is_running:
        chart(
            "cache_roofline",
            say("Roofline"),
            say("{value} Both axes are logarithmic.", value=meaning("roofline")),
            roofline_figure(result, shown.dark, shown.other),
        )
    if not shown.is_running:
        st.subheader(say("Decode law: tokens/s = bandwidth / bytes read per token"), anchor=False)
        st.markdown(markdown_text(_law_words(result)))
    for table in (law_table, layers_table, passes_table):
        if table(result).rows:
            sheet(table(result))
    with st.expander(say("Ceilings, and how they are measured"), expanded=shown.is_running):
        sheet(TABLES[0](result))
        st.caption(say(MEASURED))
    if result.passes and not result.of_kind(BATCH) and not shown.is_running:
        st.caption(say("This model keeps more than keys and values, so its texts are not batched."))
    st.caption(say(COUNTED))
    steadiness(result.reference_ms, result.changed_parts, marked("each part"))


def _notice(result: Roofline) -> str:
    steps = result.of_kind(DECODE)
    if not steps or result.ridge is None:
        return say("The ceilings of this machine are measured first, then the model's passes.")
    step = steps[0]
    predicted = result.predicted_per_second(step)
    ceiling = say("memory") if step.intensity < result.ridge else say("arithmetic")
    words = say(
        "A decode step performs {intensity} operations per byte. Below {ridge} a pass waits "
        "for memory, above it for arithmetic: decode waits for {ceiling}. The law predicts "
        "{predicted} tokens/s; {per_second} were measured, {share} % of that.",
        intensity=f"{step.intensity:.2f}",
        ridge=f"{result.ridge:,.0f}",
        ceiling=ceiling,
        predicted=f"{predicted:,.0f}",
        per_second=f"{step.per_second:,.0f}",
        share=f"{100 * step.per_second / predicted:.0f}",
    )
    batches = result.of_kind(BATCH)
    if len(batches) > 1:
        most = batches[-1]
        words += " " + say(
            "{rows} texts in one pass give {times} times the tokens/s of {fewest}.",
            rows=most.rows,
            times=f"{most.per_second / batches[0].per_second:.1f}",
            fewest=batches[0].rows,
        )
    return words


def _law_words(result: Roofline) -> str:
    layers, bandwidth = result.layers, result.bandwidth
    if layers is None or bandwidth is None:
        return say("The time per layer is not measured: the model has no list of its layers.")
    reading = layers.reading_ms(bandwidth.best)
    calls_ms = layers.calls * layers.call_us / 1e3
    return say(
        "At {bandwidth}, a layer's weights are read in {reading} ms; a layer takes "
        "{layer_ms} ms. The other {overhead} ms are overhead, in each of {count} layers. The "
        "output layer takes {head_ms} ms, and everything else {around_ms} ms. A step calls "
        "{calls} PyTorch operators: at {call_us} µs, the time of a call on a single number, "
        "that is at least {calls_ms} ms.",
        bandwidth=bandwidth_text(bandwidth),
        reading=f"{reading:.3f}",
        layer_ms=f"{layers.layer_ms:.2f}",
        overhead=f"{layers.overhead_ms(bandwidth.best):.2f}",
        count=layers.count,
        head_ms=f"{layers.head_ms:.2f}",
        around_ms=f"{layers.around_ms:.2f}",
        calls=f"{layers.calls:,}",
        call_us=f"{layers.call_us:.1f}",
        calls_ms=f"{calls_ms:.2f}",
    )


GIGA = 1e9
KINDS = {PREFILL: marked("prefill"), DECODE: marked("decode"), BATCH: marked("batch")}


def roofline_figure(
    result: Roofline, dark: bool = False, other: Laid[Roofline] | None = None
) -> go.Figure:
    """Chart ceilings as lines and passes as points; another machine's are dashed and open."""
    colours = palette(dark)
    figure = go.Figure()
    every = [*result.passes, *(other.result.passes if other else ())]
    low = min((one.intensity for one in every), default=1.0) / 3
    high = max([one.intensity for one in every] + [result.ridge or 1.0]) * 4
    if other is not None:
        _roof(figure, other.result, (low, high), colours, literal(other.name, 40))
        _points(figure, other.result, colours, literal(other.name, 40))
    _roof(figure, result, (low, high), colours)
    _points(figure, result, colours)
    least = min((one.rate for one in every), default=result.peak.best) / GIGA
    figure.update_layout(
        template=template(dark),
        height=460,
        xaxis={
            "title": say("arithmetic intensity, operations per byte"),
            "type": "log",
            "range": [math.log10(low), math.log10(high)],
            "dtick": 1,
        },
        yaxis={
            "title": say("GFLOP/s"),
            "type": "log",
            "range": [
                math.log10(least / 3),
                math.log10(max(_tops(result) + (_tops(other.result) if other else [])) * 4),
            ],
            "dtick": 1,
        },
    )
    return figure


def _tops(result: Roofline) -> list[float]:
    return [result.peak.best / GIGA] if result.peak else [1.0]


def _roof(
    figure: go.Figure,
    result: Roofline,
    ends: tuple[float, float],
    colours: Palette,
    machine: str = "",
) -> None:
    """Draw the roof, and the memory ceiling measured on as few bytes as the weights take."""
    if result.peak is None or result.bandwidth is None:
        return
    low, high = ends
    places = [low, min(max(result.ridge, low), high), high]
    figure.add_scatter(
        x=places,
        y=[result.roof(place) / GIGA for place in places],
        mode="lines",
        name=say("roof of {machine}", machine=machine) if machine else say("roof"),
        line={"color": colours.text, "width": 2.2, "dash": "dash" if machine else "solid"},
        hoverinfo="skip",
    )
    if machine:
        return
    at = low * 1.2
    memory = say("memory {bandwidth}", bandwidth=bandwidth_text(result.bandwidth))
    _label(figure, (at, result.roof(at)), memory, colours, xanchor="left", yanchor="top")
    products = say("{dtype} products {rate}", dtype=result.peak.dtype, rate=rate_text(result.peak))
    _label(figure, (high, result.peak.best), products, colours, xanchor="right", yanchor="bottom")
    small = result.small_bandwidth
    if small is not None and small.best > result.bandwidth.best:
        edge = min(result.peak.best / small.best, high)
        figure.add_scatter(
            x=[low, edge],
            y=[low * small.best / GIGA, edge * small.best / GIGA],
            mode="lines",
            name=say("as little memory as the weights, {small}", small=bandwidth_text(small)),
            line={"color": colours.muted, "width": 1.4, "dash": "dot"},
            hoverinfo="skip",
        )


def _label(
    figure: go.Figure, place: tuple[float, float], text: str, colours: Palette, **anchors: str
) -> None:
    intensity, rate = place
    figure.add_annotation(
        x=math.log10(intensity),
        y=math.log10(rate / GIGA),
        text=text,
        showarrow=False,
        font={"color": colours.text, "size": 12},
        **anchors,
    )


def _points(figure: go.Figure, result: Roofline, colours: Palette, machine: str = "") -> None:
    for place, (kind, name) in enumerate(KINDS.items()):
        passes = result.of_kind(kind)
        if not passes:
            continue
        symbol, name = SYMBOLS[place], say(name)
        figure.add_scatter(
            x=[one.intensity for one in passes],
            y=[one.rate / GIGA for one in passes],
            mode="markers" if machine or kind == DECODE else "markers+text",
            name=f"{name}, {machine}" if machine else name,
            text=[_short(one) for one in passes],
            textposition="bottom right" if kind == PREFILL else "top left",
            textfont={"size": 11, "color": colours.muted},
            marker={
                "symbol": f"{symbol}-open" if machine else symbol,
                "size": 10,
                "color": colours.series[place],
                "line": {"width": 1.5, "color": colours.series[place]},
            },
            customdata=[[pass_name(one), one.seconds * 1e3] for one in passes],
            hovertemplate=(
                say(
                    "%{customdata[0]}: %{x:.2f} operations per byte, %{y:.2f} GFLOP/s, "
                    "%{customdata[1]:.2f} ms<extra></extra>"
                )
            ),
        )


def _short(one: Pass) -> str:
    return f"{one.tokens:,}" if one.kind == PREFILL else f"{one.rows:,}"


SECTION = Section(
    key="roofline",
    name=marked("Roofline"),
    about=(
        marked(
            "The limits of this machine, and where prefill, decode and batches lie. Notice "
            "which of the two ceilings is above each."
        )
    ),
    inputs=RooflineInputs,
    result=Roofline,
    fields=_fields,
    picture=_picture,
    notice=_notice,
    tables=lambda result: [table(result) for table in TABLES],
    begin=_begin,
    start=marked("Measure roofline"),
    seconds=_seconds,
)
