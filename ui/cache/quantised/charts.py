"""Charts of quantised caches: divergence along the text, and bytes against divergence."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from engine.measure import Along, QuantisedPoint, QuantisedResult
from engine.model import BITS
from ui.cache.quantised.words import bits_text, how_text, rounding
from ui.charts.template import DASHES, SYMBOLS, Palette, literal, palette, template
from ui.measurements.section import Laid
from ui.words.labels import token_label
from ui.words.language import say

LEAST = 1e-9  # bits, the lowest value that a logarithmic axis shows
LOG = {"type": "log", "dtick": 1, "exponentformat": "power"}
SIZES = ((16, 8), (32, 11), (64, 15))  # largest group, pixels of its mark


def divergence_figure(
    result: QuantisedResult, dark: bool = False, other: Laid[QuantisedResult] | None = None
) -> go.Figure:
    """Chart KL divergence by position, a line per number of bits; another machine's are faint."""
    colours = palette(dark)
    figure = go.Figure()
    if other is not None:
        for one in other.result.along:
            _line(figure, other.result, one, colours, literal(other.name, 40))
    figure.add_scatter(
        x=list(range(1, len(result.read) + 1)),
        y=_above_zero(result.rounding_kl_bits),
        name=say("rounding alone"),
        mode="lines",
        line={"color": colours.muted, "dash": "dot", "width": 1.2},
        hovertemplate=say("rounding alone: %{y:.2g} bits<extra></extra>"),
    )
    for one in result.along:
        _line(figure, result, one, colours)
    for one in result.along:
        _changed(figure, result, one, colours)
    exact = result.along[0].how.exact_positions
    if exact:
        figure.add_vrect(
            x0=0.5,
            x1=min(exact, len(result.read)) + 0.5,
            fillcolor=colours.line,
            opacity=0.35,
            line_width=0,
            annotation={
                "text": say("nothing quantised yet"),
                "font": {"size": 12, "color": colours.muted},
            },
            annotation_position="bottom left",
        )
    figure.update_layout(
        template=template(dark),
        height=380,
        xaxis={"title": say("position"), "range": [0.5, len(result.read) + 0.5]},
        yaxis={"title": say("KL, bits"), **LOG},
    )
    return figure


def _line(
    figure: go.Figure, result: QuantisedResult, one: Along, colours: Palette, machine: str = ""
) -> None:
    place = BITS.index(one.bits)
    name = say("{bits} bits", bits=one.bits)
    figure.add_scatter(
        x=list(range(1, len(result.read) + 1)),
        y=_above_zero(one.kl_bits),
        name=f"{name}, {machine}" if machine else name,
        mode="lines",
        opacity=0.45 if machine else 1.0,
        line={
            "color": colours.series[place],
            "dash": "dash" if machine else DASHES[0],
            "width": 1.8,
        },
        hovertext=_hovers(result, one),
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _changed(figure: go.Figure, result: QuantisedResult, one: Along, colours: Palette) -> None:
    """Draw a cross at every position whose likeliest next token has changed."""
    places = [place for place, is_changed in enumerate(one.is_changed) if is_changed]
    if not places:
        return
    hovers = _hovers(result, one)
    figure.add_scatter(
        x=[place + 1 for place in places],
        y=_above_zero([one.kl_bits[place] for place in places]),
        mode="markers",
        showlegend=False,
        marker={
            "symbol": "x-thin",
            "size": 9,
            "line": {"width": 2.5, "color": colours.series[BITS.index(one.bits)]},
        },
        hovertext=[hovers[place] for place in places],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _hovers(result: QuantisedResult, one: Along) -> list[str]:
    found = []
    for place, (read, kl, difference) in enumerate(
        zip(result.read, one.kl_bits, one.logit_difference, strict=True)
    ):
        words = say(
            "{bits} bits, position {place}, after {read}<br>KL {kl}, logits differ by up "
            "to {difference}<br>likeliest next: {top}",
            bits=one.bits,
            place=f"{place + 1:,}",
            read=literal(token_label(read)),
            kl=bits_text(kl),
            difference=f"{difference:.2g}",
            top=literal(token_label(result.top[place])),
        )
        if one.is_changed[place]:
            words += say(", here {token}", token=literal(token_label(one.top[place])))
        found.append(words)
    return found


def _above_zero(values: Sequence[float]) -> list[float | None]:
    """Replace values too small for the logarithmic axis with None, which leaves a gap."""
    return [value if value >= LEAST else None for value in values]


def saving_figure(
    result: QuantisedResult, dark: bool = False, other: Laid[QuantisedResult] | None = None
) -> go.Figure:
    """Chart each setting's mean divergence against its bytes as a percentage of the exact cache."""
    colours = palette(dark)
    figure = go.Figure()
    if other is not None:
        _points(figure, other.result, colours, literal(other.name, 40))
    _points(figure, result, colours)
    floor = rounding(result)
    shares = [_share(point, result) for point in result.points]
    if floor >= LEAST and shares:
        figure.add_scatter(
            x=[min(shares), max(shares)],
            y=[floor, floor],
            name=say("rounding alone"),
            mode="lines",
            line={"color": colours.muted, "dash": "dot", "width": 1.5},
            hovertemplate=say("rounding alone: %{y:.2g} bits<extra></extra>"),
        )
    figure.update_layout(
        template=template(dark),
        height=400,
        xaxis={"title": say("bytes of the cache, % of exact"), "rangemode": "tozero"},
        yaxis={"title": say("mean KL, bits"), **LOG},
    )
    return figure


def _points(
    figure: go.Figure, result: QuantisedResult, colours: Palette, machine: str = ""
) -> None:
    """Draw a series for each number of bits and pair of quantisation axes."""
    axes = sorted({(point.keys, point.values) for point in result.points})
    for bits in BITS:
        for place, pair in enumerate(axes):
            some = [
                point
                for point in result.points
                if point.bits == bits
                and (point.keys, point.values) == pair
                and point.mean_kl_bits >= LEAST
            ]
            if not some:
                continue
            name = say(
                "{bits} bits, keys {keys}, values {values}",
                bits=bits,
                keys=say(pair[0]),
                values=say(pair[1]),
            )
            figure.add_scatter(
                x=[_share(point, result) for point in some],
                y=[point.mean_kl_bits for point in some],
                name=f"{name}, {machine}" if machine else name,
                mode="markers",
                marker={
                    "symbol": SYMBOLS[place % len(SYMBOLS)] + ("-open" if machine else ""),
                    "size": [_pixels(point.group) for point in some],
                    "color": colours.series[BITS.index(bits)],
                },
                hovertext=[_point_hover(point) for point in some],
                hovertemplate=say("%{hovertext}<br>%{x:.1f} % of exact<extra></extra>"),
            )


def _share(point: QuantisedPoint, result: QuantisedResult) -> float:
    """Compute a setting's bytes as a percentage of the exact cache."""
    return 100 * point.bytes / max(result.exact_bytes, 1)


def _pixels(group: int) -> int:
    return next((pixels for largest, pixels in SIZES if group <= largest), 19)


def _point_hover(point: QuantisedPoint) -> str:
    return say(
        "{name}<br>mean KL {mean_kl_bits}, largest {largest_kl_bits}<br>{changed} of "
        "{positions} likeliest tokens changed",
        name=how_text(point.how),
        mean_kl_bits=bits_text(point.mean_kl_bits),
        largest_kl_bits=bits_text(point.largest_kl_bits),
        changed=f"{point.changed:,}",
        positions=f"{point.positions:,}",
    )
