"""Colours, patterns and layout that all charts share.

Okabe-Ito hues that hold on a white and on a near-black ground. No state is told by colour alone:
kept bars are plain, removed ones hatched and chosen ones cross-hatched, and each has its legend.
"""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from ui.charts.data import Row
from ui.labels import chart_text

BLUE = "#2b87c8"
ORANGE = "#e69f00"
VERMILION = "#d55e00"
GREEN = "#009e73"
GREY = "#8a94a3"
HEIGHT = 340
# The mode bar would cover titles and legends, on phones at all times.
CONFIG = {"displayModeBar": False, "responsive": True}

STATES = ("kept", "removed", "chosen")
FILL = {"kept": BLUE, "removed": GREY, "chosen": ORANGE}
PATTERN = {"kept": "", "removed": "/", "chosen": "x"}


def figure(title: str, **layout) -> go.Figure:
    """An empty figure with the shared layout; its title is its accessible name."""
    fig = go.Figure()
    fig.update_layout(
        title={"text": title, "x": 0, "xanchor": "left", "y": 0.98, "yanchor": "top"},
        height=HEIGHT,
        margin={"l": 8, "r": 8, "t": 94, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={
            "orientation": "h",
            "x": 0,
            "xref": "container",
            "y": 0.91,
            "yref": "container",
            "yanchor": "top",
            "font": {"size": 11},
        },
        hoverlabel={"align": "left"},
        bargap=0.15,
    )
    fig.update_layout(**layout)
    fig.update_xaxes(automargin=True, title_standoff=6)
    fig.update_yaxes(automargin=True, title_standoff=6)
    return fig


def bar_marker(state: str) -> dict:
    """Fill and pattern of a bar in one of `STATES`."""
    return {
        "color": FILL[state],
        "line": {"width": 1 if state == "chosen" else 0, "color": VERMILION},
        "pattern": {"shape": PATTERN[state], "fillmode": "replace", "size": 5, "solidity": 0.5}
        if PATTERN[state]
        else None,
    }


def token_axis(fig: go.Figure, rows: Sequence[Row]) -> None:
    """An x axis with one place per row, labelled by token."""
    fig.update_xaxes(
        tickmode="array",
        tickvals=list(range(len(rows))),
        ticktext=[chart_text(row.label) for row in rows],
        tickangle=-60,
        tickfont={"size": 11},
        range=[-0.6, len(rows) - 0.4],
        showgrid=False,
    )


def hover(row: Row) -> str:
    """The heading of a bar's hover box."""
    return f"rank {row.rank:,}, id {row.token_id}: {chart_text(row.label, 40)}"


def vertical(fig: go.Figure, x: float, name: str, colour: str, dash: str, top: float) -> None:
    """A labelled vertical line at `x`, as a trace, so that it has a legend entry."""
    fig.add_scatter(
        x=[x, x],
        y=[0, top],
        mode="lines",
        name=name,
        line={"color": colour, "dash": dash, "width": 2},
        hoverinfo="name",
    )
