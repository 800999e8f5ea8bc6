"""The look of all charts: Okabe-Ito colours, one type, light and dark.

A series is never told by its colour alone: each has a symbol, a dash and a fill pattern as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

FONT = "'Source Sans', 'Source Sans 3', 'Source Sans Pro', Inter, system-ui, sans-serif"


@dataclass(frozen=True)
class Palette:
    """Colours of one theme, those of the step component."""

    ground: str
    text: str
    muted: str
    line: str
    series: tuple[str, ...]
    scale: tuple[str, ...]


LIGHT = Palette(
    ground="#ffffff",
    text="#1c2430",
    muted="#5d6877",
    line="#dfe4ea",
    series=("#0072b2", "#c24e00", "#007a58", "#a34f80", "#8a5a00", "#1c2430"),
    scale=("#f5f7f9", "#bcd9ea", "#7db5d6", "#3a8fc0", "#0072b2", "#00456d"),
)
DARK = Palette(
    ground="#0f141a",
    text="#e7ecf2",
    muted="#9aa7b6",
    line="#2a3541",
    series=("#56b4e9", "#ff8a4c", "#2fc79a", "#e29ac2", "#f0b429", "#e7ecf2"),
    scale=("#171f28", "#1d3d52", "#24607f", "#3a8ab5", "#56b4e9", "#c3e6fa"),
)
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
CONFIG = {"displayModeBar": False, "scrollZoom": False}  # on a phone Plotly's bar hides the legend
PATTERNS = ("", "/", "x", ".", "-", "+")


def palette(dark: bool) -> Palette:
    """The colours of the dark or the light theme."""
    return DARK if dark else LIGHT


def template(dark: bool) -> go.layout.Template:
    """Colours and type for `layout.template`; heatmaps and series take theirs from it."""
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
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {
                "bgcolor": colours.ground,
                "bordercolor": colours.muted,
                "font": {"family": FONT, "color": colours.text},
            },
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "margin": {"l": 10, "r": 10, "t": 40, "b": 10},
        }
    )


def literal(text: str, longest: int = 80) -> str:
    """A text that Plotly, which reads tags and entities, shows as it stands."""
    shown = text if len(text) <= longest else text[: longest - 1] + "…"
    clean = shown.encode("utf-8", "replace").decode("utf-8")
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
