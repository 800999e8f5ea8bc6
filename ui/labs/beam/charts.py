"""Charts of beam search: the tree of its hypotheses, and texts by likelihood and diversity."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import plotly.graph_objects as go

from engine.study import KINDS, SetText
from engine.trace import FINISHED, KEPT, PRUNED
from ui.charts.template import SYMBOLS, literal, palette, template
from ui.labs.beam.tree import Place, Tree, TreeNode
from ui.labs.beam.words import text_name, word
from ui.shell import theme
from ui.words.labels import with_minus
from ui.words.language import say, with_figures

ROW_PIXELS = 50  # height of one row: a node, its token and its figures
FEWEST_ROWS = 4  # minimum height of a chart in rows: on a phone, its legend takes two lines
LONGEST_TOKEN = 11  # characters shown of a token in the tree
# By fate: symbol, index in the palette's series (None: muted), dash of the edge to the node.
LOOKS = {
    KEPT: ("circle", 0, "solid"),
    PRUNED: ("x", None, "dot"),
    FINISHED: ("star", 2, "dash"),
}


def tree_figure(
    tree: Tree, label: Callable[[int], str], chosen: Place | None, dark: bool = False
) -> go.Figure:
    """Draw the tree: a column for each step, a row for each hypothesis, the best path in bold.

    Each node's `customdata` is its step and its index among that step's candidates.

    Args:
        tree: the tree to show.
        label: returns the visible text of a token.
        chosen: the chosen node, drawn with a ring.
        dark: whether the theme is dark.
    """
    colours = palette(dark)
    best = theme.colour("chosen", dark=dark)
    figure = go.Figure()
    for fate, (_, series, dash) in LOOKS.items():
        colour = colours.muted if series is None else colours.series[series]
        some = [node for node in tree.nodes if node.fate == fate and not node.is_best]
        _lines(figure, some, {"color": colour, "width": 1, "dash": dash})
    _lines(figure, [n for n in tree.nodes if n.is_best], {"color": best, "width": 4})
    _beginnings(figure, tree, colours.muted, best)
    for fate, (symbol, series, _) in LOOKS.items():
        some = [node for node in tree.nodes if node.fate == fate]
        colour = colours.muted if series is None else colours.series[series]
        figure.add_scatter(
            x=[node.place[0] + 1 for node in some],
            y=[-node.row for node in some],
            name=word(fate),
            mode="markers",
            marker={
                "symbol": symbol,
                "opacity": 1,
                "size": [13 if node.is_best else 10 for node in some],
                "color": colour,
                "line": {
                    "width": [3 if node.is_best else 0 for node in some],
                    "color": best,
                },
            },
            customdata=[list(node.place) for node in some],
            hovertext=[_hover(node, label) for node in some],
            hovertemplate="%{hovertext}<extra></extra>",
            # Only the ring marks the chosen node; without this, Plotly fades the others.
            selected={"marker": {"opacity": 1}},
            unselected={"marker": {"opacity": 1}},
        )
    figure.add_scatter(
        x=[None], y=[None], name=say("best"), mode="lines", line={"color": best, "width": 4}
    )
    ringed = [node for node in tree.nodes if node.place == chosen]
    figure.add_scatter(
        x=[node.place[0] + 1 for node in ringed],
        y=[-node.row for node in ringed],
        name=say("chosen"),
        mode="markers",
        marker={
            "symbol": "circle-open",
            "size": 21,
            "color": colours.text,
            "line": {"width": 2},
        },
        hoverinfo="skip",
        showlegend=bool(ringed),
    )
    steps = sorted({node.place[0] + 1 for node in tree.nodes}) or [1]
    figure.update_layout(
        template=template(dark),
        height=90 + ROW_PIXELS * max(tree.rows, FEWEST_ROWS),
        xaxis={
            "title": say("step"),
            "tickvals": steps,
            "range": [steps[0] - (1.1 if tree.before else 0.55), steps[-1] + 0.55],
            "showgrid": False,
            "fixedrange": True,
        },
        yaxis={
            "visible": False,
            "range": [-tree.rows + 0.15, 0.45],
            "fixedrange": True,
        },
        annotations=[_label(node, label, dark) for node in tree.nodes],
        legend={"itemclick": False, "itemdoubleclick": False, "itemsizing": "constant"},
        dragmode=False,
        clickmode="event+select",
    )
    return figure


def _label(node: TreeNode, label: Callable[[int], str], dark: bool) -> dict:
    """Return a node's text as an annotation, whose background hides the lines beneath it."""
    colours = palette(dark)
    return {
        "x": node.place[0] + 1,
        "y": -node.row,
        "text": _words(node, label),
        "font": {"size": 12, "color": colours.muted if node.fate == PRUNED else colours.text},
        "bgcolor": _see_through(colours.ground),
        "borderpad": 0,
        "showarrow": False,
        "yanchor": "top",
        "yshift": -6,
    }


def _see_through(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.8)"


def _lines(figure: go.Figure, nodes: Sequence[TreeNode], line: dict) -> None:
    xs: list[float | None] = []
    ys: list[float | None] = []
    for node in nodes:
        if node.parent_row is not None:
            x = node.place[0] + 1
            xs += [x - 1, x, None]
            ys += [-node.parent_row, -node.row, None]
    figure.add_scatter(x=xs, y=ys, mode="lines", line=line, hoverinfo="skip", showlegend=False)


def _beginnings(figure: go.Figure, tree: Tree, muted: str, best: str) -> None:
    """Draw the beams from which the first shown step continues."""
    figure.add_scatter(
        x=[tree.first] * len(tree.before),
        y=[-row for row, _ in tree.before],
        mode="markers",
        marker={
            "symbol": "circle-open",
            "size": 8,
            "color": [best if is_best else muted for _, is_best in tree.before],
        },
        hoverinfo="skip",
        showlegend=False,
    )


def _words(node: TreeNode, label: Callable[[int], str]) -> str:
    """Return a node's text: the token, and below it its log-probability and the sum."""
    token = literal(label(node.token_id), LONGEST_TOKEN)
    if node.is_best:
        token = f"<b>{token}</b>"
    figures = with_figures(with_minus(f"{node.logprob:.1f} Σ{node.total:.1f}"))
    return f"{token}<br><span style='font-size:10px'>{figures}</span>"


def _hover(node: TreeNode, label: Callable[[int], str]) -> str:
    fate = word(node.fate)
    if node.group:
        fate = say("{fate}, group {number}", fate=fate, number=node.group + 1)
    lines = (
        f"{literal(label(node.token_id))}: {fate}",
        say("probability {share}", share=f"{100 * math.exp(node.logprob):.2f} %"),
        say("step score {nats} nats", nats=with_minus(f"{node.logprob:.3f}")),
        say("sum {nats} nats", nats=with_minus(f"{node.total:.3f}")),
    )
    return "<br>".join(lines)


def likely_figure(texts: Sequence[SetText], dark: bool = False) -> go.Figure:
    """Plot every text by its share of distinct tokens and its likelihood per token."""
    colours = palette(dark)
    figure = go.Figure()
    per_token = say("{nats} nats per token", nats="%{y:.2f}")
    for place, kind in enumerate(KINDS):
        some = [one for one in texts if one.kind == kind and one.token_ids]
        figure.add_scatter(
            x=[one.distinct_1 for one in some],
            y=[one.per_token for one in some],
            name=word(kind),
            mode="markers",
            marker={
                "symbol": SYMBOLS[place],
                "size": 13,
                "color": colours.series[place],
                "line": {"color": colours.ground, "width": 1},
            },
            hovertext=[f"{text_name(one)}: {literal(one.text, 60)}" for one in some],
            hovertemplate=f"%{{hovertext}}<br>distinct-1 %{{x:.2f}}, {per_token}<extra></extra>",
        )
    figure.update_layout(
        template=template(dark),
        height=340,
        xaxis={"title": say("different tokens, share (distinct-1)")},
        yaxis={"title": say("log-probability per token, nats")},
    )
    return figure
