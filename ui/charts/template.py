"""The look of all charts: Okabe-Ito colours and one typeface, in a light and a dark theme.

Colour alone never distinguishes a series: each also has a symbol, a dash and a fill pattern.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import plotly.graph_objects as go

from ui.shell import theme
from ui.words.language import localised

FONT = "'Source Sans', 'Source Sans 3', 'Source Sans Pro', Inter, system-ui, sans-serif"


@dataclass(frozen=True)
class Palette:
    """Colours of one theme, as Plotly accepts them."""

    ground: str
    text: str
    muted: str
    line: str
    series: tuple[str, ...]
    scale: tuple[str, ...]


SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
FEW_DECADES = 4  # a logarithmic axis of up to this length has room for ticks between powers of ten
PATTERNS = ("", "/", "x", ".", "-", "+")


@cache
def palette(dark: bool) -> Palette:
    """Return the colours of the dark or the light theme."""
    names = ("ground", "text", "muted", "line")
    return Palette(
        **{name: theme.colour(name, dark=dark) for name in names},
        series=tuple(pair[dark] for pair in theme.SERIES),
        scale=tuple(pair[dark] for pair in theme.SCALE),
    )


def log_axis(values: Iterable[float]) -> dict[str, object]:
    """Return a logarithmic axis for positive values, with every tick label in full.

    Plotly shortens ticks between powers of ten to one digit, so that 20 reads as 2.
    """
    least, most = min(values := list(values)), max(values)
    decades = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    steps = (1, 2, 5) if len(decades) <= FEW_DECADES else (1,)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    return {
        "type": "log",
        "tickvals": ticks,
        "ticktext": [localised(f"{tick:,.10g}") for tick in ticks],
    }


def template(dark: bool) -> go.layout.Template:
    """Return a `layout.template` with the colours and fonts of the theme."""
    colours = palette(dark)
    axis = {
        "gridcolor": colours.line,
        "linecolor": colours.line,
        "zerolinecolor": colours.line,
        "tickcolor": colours.line,
        "title": {"font": {"size": 13, "color": colours.muted}, "standoff": 8},
        "automargin": True,
    }
    steps = len(colours.scale) - 1
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": 13, "color": colours.text},
            "title": {"font": {"size": 15}, "x": 0, "xanchor": "left", "xref": "paper"},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": colours.series,
            "colorscale": {
                "sequential": [[i / steps, colour] for i, colour in enumerate(colours.scale)]
            },
            # Set apart, as the first labels of the two axes would touch in the corner.
            "xaxis": axis | {"ticklabelstandoff": 6},
            "yaxis": axis,
            "hoverlabel": {
                "bgcolor": colours.ground,
                "bordercolor": colours.muted,
                "font": {"family": FONT, "color": colours.text},
            },
            "modebar": {
                "bgcolor": "rgba(0,0,0,0)",
                "color": colours.muted,
                "activecolor": colours.text,
            },
            # From the top edge down: if it grew upwards from the plot, it could cover the plot.
            "legend": {"orientation": "h", "yref": "container", "y": 1, "yanchor": "top", "x": 0},
            "margin": {"l": 10, "r": 10, "t": 40, "b": 10},
        }
    )


def literal(text: str, longest: int = 80) -> str:
    """Escape a text so that Plotly, which reads tags and entities, shows it unchanged."""
    shown = text if len(text) <= longest else text[: longest - 1] + "…"
    clean = shown.encode("utf-8", "replace").decode("utf-8")
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
