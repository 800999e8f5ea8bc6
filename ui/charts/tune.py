"""Charts of the tune page: a heatmap of one metric over a grid, two metrics against each other.

Streamlit receives no clicks on the cells of a Plotly heatmap. So an invisible point in the middle
of every cell carries the cell's text and receives the clicks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from ui.charts.template import literal, palette, template
from ui.shell import theme
from ui.words.language import say, with_figures
from ui.words.metrics import short_number

MOST_LABELS = 14  # columns up to which the cells of a grid have room for their values


@dataclass(frozen=True)
class Grid:
    """One metric over the cells of a sweep.

    Attributes:
        metric: its display name.
        x_name, y_name: names of the settings; `y_name` is empty if there is only one axis.
        x_values, y_values: axis values as displayed; with one axis, `y_values` has one entry.
        values: one row per y value, one entry per x value; NaN if there is none yet.
        log: whether colours are on a logarithmic scale.
    """

    metric: str
    x_name: str
    y_name: str
    x_values: Sequence[str]
    y_values: Sequence[str]
    values: Sequence[Sequence[float]]
    log: bool = False

    @property
    def is_constant(self) -> bool:
        """True if all known values are equal."""
        return len({value for row in self.values for value in row if not math.isnan(value)}) == 1


@dataclass(frozen=True)
class Point:
    """One cell in a chart of two metrics.

    Attributes:
        label: its settings in short form.
        x, y: values of the metrics.
        cell: index of the cell, which a click returns.
        on_front: whether it is on the Pareto front.
    """

    label: str
    x: float
    y: float
    cell: int
    on_front: bool


def heatmap_figure(
    grid: Grid, chosen: tuple[int, int] | None = None, dark: bool = False
) -> go.Figure:
    """Draw a large heatmap of one metric, with values in the cells and the chosen one framed.

    Each point's `customdata` is the index of its cell along x and along y.

    Args:
        grid: the grid to show.
        chosen: index of the chosen cell along x and along y, None for none.
        dark: whether the theme is dark.
    """
    columns, rows = len(grid.x_values), len(grid.y_values)
    figure = _heatmap(grid, dark, _label_size(columns, rows))
    (points,) = figure.select_traces({"type": "scatter"})
    # If the selected text has a colour, Plotly does not fade the others.
    points.selected.textfont.color = palette(dark).text
    if chosen is not None:
        x, y = chosen
        points.selected.textfont.color = points.textfont.color[y * columns + x]
        figure.add_shape(
            type="rect",
            x0=x - 0.5,
            x1=x + 0.5,
            y0=y - 0.5,
            y1=y + 0.5,
            line={"color": palette(dark).series[1], "width": 4},
        )
    figure.update_layout(
        height=min(620, 95 + max(2, rows) * 58),
        xaxis_title=literal(grid.x_name),
        yaxis_title=literal(grid.y_name),
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        hoverdistance=-1,  # no limit: anywhere in a cell, its own point is nearest to the pointer
        dragmode=False,
    )
    return figure


def _label_size(columns: int, rows: int) -> int:
    """Return the font size of the values in the cells; 0 if there is no room."""
    if columns > MOST_LABELS or rows > 18:
        return 0
    return 14 if columns <= 6 else 12 if columns <= 9 else 9


def shades(grid: Grid) -> list[list[float]]:
    """Scale the values so that the lowest is 0 and the highest 1; NaN for cells without a colour.

    If all values are equal, all are 0.
    """
    scaled = [[_colour_value(value, grid.log) for value in row] for row in grid.values]
    known = [value for row in scaled for value in row if not math.isnan(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    return [[(value - low) / ((high - low) or 1.0) for value in row] for row in scaled]


def colours_of(shade: float, dark: bool) -> tuple[str, str]:
    """Return a cell's background colour for a shade, and a text colour readable on it."""
    look = palette(dark)
    if math.isnan(shade):
        return "rgba(0,0,0,0)", look.text
    (ground,) = sample_colorscale(list(look.scale), [shade])
    return ground, theme.INKS[_luminance(ground) <= 0.179]


def _luminance(colour: str) -> float:
    """Compute the relative luminance of ``rgb(r, g, b)``, as WCAG 2 defines it."""
    parts = [float(part) / 255 for part in colour[4:-1].split(",")]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _heatmap(grid: Grid, dark: bool, label_size: int) -> go.Figure:
    colours = shades(grid)
    figure = go.Figure()
    figure.add_heatmap(
        z=colours,
        zmin=0,
        zmax=1,
        colorscale=list(palette(dark).scale),
        xgap=2,
        ygap=2,
        showscale=False,
        hoverinfo="skip",
    )
    places = [(x, y) for y in range(len(grid.y_values)) for x in range(len(grid.x_values))]
    shown = [with_figures(short_number(grid.values[y][x])) for x, y in places]
    figure.add_scatter(
        x=[x for x, _ in places],
        y=[y for _, y in places],
        mode="markers+text" if label_size else "markers",
        text=shown,
        customdata=[list(place) for place in places],
        hovertext=[_hover(grid, x, y) for x, y in places],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={"size": 24, "opacity": 0},
        textfont={
            "size": label_size or 1,
            "color": [colours_of(colours[y][x], dark)[1] for x, y in places],
        },
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        showlegend=False,
    )
    for axis, values in (("xaxis", grid.x_values), ("yaxis", grid.y_values)):
        figure.layout[axis].update(
            tickmode="array",
            tickvals=list(range(len(values))),
            ticktext=[literal(value) for value in values],
            range=[-0.5, len(values) - 0.5],
            showgrid=False,
            zeroline=False,
            fixedrange=True,
        )
    if not grid.y_name:
        figure.update_yaxes(showticklabels=False)
    figure.update_layout(template=template(dark))
    return figure


def _colour_value(value: float, log: bool) -> float:
    if not math.isfinite(value) or (log and value <= 0):
        return math.nan
    return math.log10(value) if log else value


def _hover(grid: Grid, x: int, y: int) -> str:
    settings = f"{grid.x_name} {grid.x_values[x]}"
    if grid.y_name:
        settings += f", {grid.y_name} {grid.y_values[y]}"
    return literal(
        f"{settings}: {grid.metric} {with_figures(short_number(grid.values[y][x]))}", 200
    )


def front_figure(
    points: Sequence[Point],
    x_name: str,
    y_name: str,
    chosen: int | None = None,
    dark: bool = False,
) -> go.Figure:
    """Plot two metrics, both better when larger, and draw the Pareto front as a line.

    Each point's `customdata` is the index of its cell.

    Args:
        points: the cells; those with a NaN or an infinite metric are left out.
        x_name, y_name: display names of the metrics.
        chosen: index of the chosen cell.
        dark: whether the theme is dark.
    """
    points = [point for point in points if math.isfinite(point.x) and math.isfinite(point.y)]
    front = sorted((point for point in points if point.on_front), key=lambda p: (p.x, -p.y))
    others = [point for point in points if not point.on_front]
    colours = palette(dark)
    figure = go.Figure()
    looks = (
        (others, say("beaten by another cell"), "circle-open", 9, colours.muted, "markers"),
        (
            front,
            say("Pareto front: beaten by no cell"),
            "diamond",
            12,
            colours.series[0],
            None,
        ),
    )
    for some, name, symbol, size, colour, mode in looks:
        figure.add_scatter(
            x=[point.x for point in some],
            y=[point.y for point in some],
            name=name,
            mode=mode or "lines+markers+text",
            text=_labels(some),
            textposition=[
                f"{('top', 'bottom')[i % 2]} {_side(p, points)}" for i, p in enumerate(some)
            ],
            textfont={"size": 12},
            cliponaxis=False,
            customdata=[[point.cell] for point in some],
            hovertext=[literal(point.label) for point in some],
            hovertemplate="%{hovertext}<br>%{x:.3g}, %{y:.3g}<extra></extra>",
            marker={"symbol": symbol, "size": size, "color": colour, "opacity": 1},
            line={"dash": "dot", "width": 1.5, "color": colour},
            selected={"marker": {"opacity": 1}},
            unselected={"marker": {"opacity": 1}},
        )
    ringed = [point for point in points if point.cell == chosen]
    figure.add_scatter(
        x=[point.x for point in ringed],
        y=[point.y for point in ringed],
        name=say("chosen cell"),
        mode="markers",
        hoverinfo="skip",
        marker={
            "symbol": "circle-open",
            "size": 20,
            "color": colours.series[1],
            "line": {"width": 3},
        },
    )
    figure.update_layout(
        template=template(dark),
        height=420,
        xaxis_title=literal(x_name),
        yaxis_title=literal(y_name),
        dragmode=False,
        margin={"l": 10, "r": 60, "t": 60, "b": 10},
    )
    figure.update_xaxes(range=_range_of_one([point.x for point in points]))
    figure.update_yaxes(range=_range_of_one([point.y for point in points]))
    return figure


def _side(point: Point, points: Sequence[Point]) -> str:
    """Return the side of a point that has room for its label."""
    first, last = min(p.x for p in points), max(p.x for p in points)
    return "left" if point.x > first + 0.85 * (last - first) else "right"


def _labels(points: Sequence[Point]) -> list[str]:
    """Return the label of each point; points in the same place share one."""
    places = [(point.x, point.y) for point in points]
    labels = []
    for number, (point, place) in enumerate(zip(points, places, strict=True)):
        others = places.count(place) - 1
        label = point.label
        if others:
            label = say("{label} and {others} more", label=label, others=others)
        labels.append(literal(label) if place not in places[:number] else "")
    return labels


def _range_of_one(values: Sequence[float]) -> list[float] | None:
    """Return an axis range for equal values, as Plotly's would be from 0 to twice the value."""
    if not values or min(values) < max(values):
        return None
    margin = 0.1 * abs(values[0]) or 1.0
    return [values[0] - margin, values[0] + margin]
