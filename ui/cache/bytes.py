"""Size of the loaded model's cache: counted, by formula, and as a paged engine reserves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import plotly.graph_objects as go
import streamlit as st

from engine.cache_formula import CacheFormula, Paged, in_symbols, numbers
from engine.calculator import CACHE_STORAGES
from engine.measure import MOST_BATCH, MOST_POSITIONS, CacheBytes, CacheBytesMeasurement, Pace
from engine.model import LanguageModel, formula_of
from ui.charts.template import DASHES, SYMBOLS, literal, palette, template
from ui.labs import fields
from ui.labs.inputs import PlainInputs
from ui.measurements.drawing import chart, sheet
from ui.measurements.job import MeasureJob
from ui.measurements.section import Laid, Section, Shown, Table
from ui.measurements.section_state import SectionState
from ui.words.glossary import meaning
from ui.words.labels import counted, size
from ui.words.language import marked, say

MOST_BLOCK = 4096
COUNTED = marked(
    "Tensors are counted after a step, value by value. “Held” is the memory allocated for "
    "them: this app keeps room for further positions. “Paged” is computed: whole blocks, and "
    "one block more for a window."
)


@dataclass(frozen=True)
class BytesInputs(PlainInputs):
    """Inputs that set the number of cached positions and the block size of a paged engine.

    Attributes:
        positions: tokens of the longest text.
        batch: number of texts in the batch.
        block: positions per block; changing it needs no new measurement.
    """

    positions: int = 250
    batch: int = 1
    block: int = 16


def _first(model: LanguageModel) -> BytesInputs:
    usual = BytesInputs.positions
    return BytesInputs(positions=min(usual, model.context_length or usual))


def _begin(model: LanguageModel, inputs: BytesInputs) -> MeasureJob[CacheBytes]:
    return MeasureJob(CacheBytesMeasurement(model, inputs.positions, inputs.batch))


def _seconds(model: LanguageModel, inputs: BytesInputs, pace: Pace) -> float:
    return CacheBytesMeasurement.estimated_seconds(model, inputs.positions, inputs.batch, pace)


def _fields(held: SectionState) -> None:
    most = min(held.model.context_length or MOST_POSITIONS, MOST_POSITIONS)
    with fields.row():
        fields.whole(
            held,
            "positions",
            say("Positions"),
            2,
            MOST_POSITIONS,
            help=say(
                "Tokens of the longest text; {name} takes at most {most}.",
                name=held.model.name,
                most=f"{most:,}",
            ),
        )
        fields.whole(
            held,
            "batch",
            say("Batch"),
            1,
            MOST_BATCH,
            help=say("Texts at once, each with its own cache."),
        )
        fields.whole(
            held,
            "block",
            say("Block size"),
            1,
            MOST_BLOCK,
            help=say("{value} A change needs no recount.", value=meaning("block")),
        )


# --- results --------------------------------------------------------------------------------------


def _picture(result: CacheBytes, shown: Shown) -> None:
    model = shown.held.model
    formula = formula_of(model.hf.config, model.dtype) if result.is_known else None
    layout = Paged(shown.held.inputs.block)
    if formula is None:
        st.warning(
            say(
                "{problem} The counts below have no formula to compare with.",
                problem=result.problem,
            )
        )
    sheet(_kinds(result, formula, layout))
    if not shown.is_running:
        paged = [
            formula.bytes_at(point.positions, layout, result.batch) if formula else 0
            for point in result.points
        ]
        chart(
            "cache_bytes",
            say("Bytes over positions"),
            say(
                "{texts} in {dtype}, blocks of {block}.",
                texts=counted(result.batch, "text"),
                dtype=result.dtype,
                block=f"{layout.block:,}",
            ),
            bytes_figure(result, paged if formula else (), shown.dark, shown.other),
        )
    st.caption(say(COUNTED))
    if formula is not None:
        sheet(_sources(formula))
        sheet(_stored_otherwise(formula, result))


def _kinds(result: CacheBytes, formula: CacheFormula | None, layout: Paged) -> Table:
    """Return a table of bytes, one row for each kind of layer; the last row contains the totals."""
    positions = result.points[-1].positions
    alike: dict[tuple[str, str], list[int]] = {}
    for place, one in enumerate(result.layers):
        alike.setdefault((one.kind, one.formula), []).append(place)
    rows = [
        (len(places), say(kind), said, *_bytes(result, places, formula, layout))
        for (kind, said), places in alike.items()
    ]
    every = range(len(result.layers))
    rows.append((len(every), say("all"), "", *_bytes(result, every, formula, layout)))
    head = (
        say("layers"),
        say("kind"),
        say("bytes of one layer and text"),
        say("formula"),
        say("tensors"),
        say("held"),
        say("paged"),
    )
    return Table(
        say("Bytes at {positions} positions", positions=f"{positions:,}"),
        (*head, say("equal")),
        rows,
    )


def _bytes(
    result: CacheBytes, places: Sequence[int], formula: CacheFormula | None, layout: Paged
) -> tuple[int | None, int, int, int | None, str]:
    """Return the bytes of some layers by formula, in tensors, held and paged, and if they agree."""
    some = [result.layers[place] for place in places]
    measured, held = sum(one.measured for one in some), sum(one.held for one in some)
    if formula is None:
        return None, measured, held, None, say("no formula")
    layers = [formula.layers[place] for place in places]
    paged = replace(formula, layers=tuple(layers))
    return (
        sum(one.computed for one in some),
        measured,
        held,
        paged.bytes_at(result.points[-1].positions, layout, result.batch),
        say("to the byte") if all(one.is_equal for one in some) else say("NO"),
    )


def _sources(formula: CacheFormula) -> Table:
    rows = [
        (
            say(layer.kind),
            in_symbols(layer),
            number.symbol,
            number.value,
            say(number.words),
            say(number.source),
        )
        for _, layer in formula.groups
        for number in numbers([layer])
    ]
    head = (
        say("kind of layer"),
        say("values of a layer"),
        say("symbol"),
        say("number"),
        say("counts"),
        say("from config.json"),
    )
    return Table(say("Where each number comes from"), head, rows)


def _stored_otherwise(formula: CacheFormula, result: CacheBytes) -> Table:
    positions = result.points[-1].positions
    rows = []
    for storage in CACHE_STORAGES.values():
        other = replace(formula, storage=storage)
        whole = other.bytes_at(positions, batch=result.batch)
        per_token = other.bytes_per_token * result.batch
        rows.append(
            (say(storage.name), float(storage.bits_per_value), size(whole), size(per_token))
        )
    head = (
        say("stored in"),
        say("bits per value"),
        say("bytes"),
        say("bytes per further position"),
    )
    return Table(say("Stored differently, computed"), head, rows)


def _notice(result: CacheBytes) -> str:
    last = result.points[-1]
    if not result.is_known:
        return say(
            "The tensors take {measured} at {positions} positions.",
            measured=size(last.measured),
            positions=f"{last.positions:,}",
        )
    unequal = result.unequal
    if unequal:
        return say(
            "Layers {layers} do not have the size the formula gives: {measured} counted, "
            "{computed} computed.",
            layers=", ".join(map(str, unequal[:8])),
            measured=size(last.measured),
            computed=size(last.computed),
        )
    more = last.held / last.measured - 1
    return say(
        "At {positions} positions formula and tensors agree to the byte: {measured} bytes. "
        "This app allocates {more} % more, as room for what comes next.",
        positions=f"{last.positions:,}",
        measured=f"{last.measured:,}",
        more=f"{100 * more:.0f}",
    )


def _points(result: CacheBytes) -> Table:
    rows = [(one.positions, one.computed, one.measured, one.held) for one in result.points]
    head = (say("positions"), say("formula, bytes"), say("tensors, bytes"), say("held, bytes"))
    return Table(say("Lengths"), head, rows)


def _layers(result: CacheBytes) -> Table:
    rows = [
        (place, say(one.kind), one.formula, one.computed, one.measured, one.held, one.is_equal)
        for place, one in enumerate(result.layers, start=1)
    ]
    head = (
        say("layer"),
        say("kind"),
        say("formula of one text"),
        say("formula, bytes"),
        say("tensors, bytes"),
    )
    return Table(say("Layers"), (*head, say("held, bytes"), say("equal")), rows)


def bytes_figure(
    result: CacheBytes,
    paged: Sequence[int],
    dark: bool = False,
    other: Laid[CacheBytes] | None = None,
) -> go.Figure:
    """Chart the size of the cache in MiB over positions.

    Args:
        result: the counted bytes.
        paged: bytes that an engine with paged attention reserves, by point; empty if the formula is
            unknown.
        other: another machine's result, whose tensors are drawn as a further line.
    """
    colours = palette(dark)
    figure = go.Figure()
    positions = [point.positions for point in result.points]
    curves = [
        (
            say("held here, spare included"),
            [point.held for point in result.points],
            "lines+markers",
        ),
        (say("paged"), list(paged), "lines+markers"),
        (say("formula"), [point.computed for point in result.points] * result.is_known, "lines"),
        (say("tensors, counted"), [point.measured for point in result.points], "markers"),
    ]
    for place, (name, values, mode) in enumerate(curves):
        if not values:
            continue
        figure.add_scatter(
            x=positions,
            y=[value / 2**20 for value in values],
            name=name,
            mode=mode,
            line={"color": colours.series[place], "dash": DASHES[place], "width": 1.8},
            marker={"color": colours.series[place], "symbol": SYMBOLS[place], "size": 7},
            hovertemplate=say(
                "{name}: %{{x:,}} positions, %{{y:.3f}} MiB<extra></extra>", name=name
            ),
        )
    if other is not None:
        points = other.result.points
        figure.add_scatter(
            x=[point.positions for point in points],
            y=[point.measured / 2**20 for point in points],
            name=say("tensors, {name}", name=literal(other.name, 40)),
            mode="lines",
            line={"color": colours.muted, "dash": "dash"},
        )
    figure.update_layout(
        template=template(dark),
        height=360,
        xaxis={"title": say("positions"), "rangemode": "tozero"},
        yaxis={"title": "MiB", "rangemode": "tozero"},
    )
    return figure


SECTION = Section(
    key="bytes",
    name=marked("Bytes"),
    about=marked(
        "What each layer keeps: counted, by formula, and in blocks. Notice whether they agree."
    ),
    inputs=BytesInputs,
    result=CacheBytes,
    fields=_fields,
    picture=_picture,
    notice=_notice,
    tables=lambda result: (_points(result), _layers(result)),
    begin=_begin,
    first=_first,
    is_timed=False,
    start=marked("Count"),
    seconds=_seconds,
)
