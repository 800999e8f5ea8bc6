"""Charts of one step's distribution: logits, softmax, cumulative probability, rank curve."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from ui.charts.data import StageRow, StepView
from ui.charts.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    STATES,
    VERMILION,
    bar_marker,
    figure,
    hover,
    token_axis,
    vertical,
)
from ui.labels import chart_text

# The rank curve's axis ends here; below it lie probabilities that no run will ever draw.
LOWEST_SHOWN = 1e-15

_CUT_LINES = {
    "temperature": ("greedy", VERMILION, "dash"),
    "top_k": ("top-k", VERMILION, "dash"),
    "top_p": ("top-p", GREEN, "dot"),
    "min_p": ("min-p", "#cc79a7", "dashdot"),
}


def logits(view: StepView) -> go.Figure:
    """Raw logits of the leading tokens.

    Logits have no natural zero (the softmax ignores a constant added to all), so the bars start a
    little below the lowest one shown; their tops are the logits.
    """
    fig = figure("Logits")
    finite = [row.logit for row in view.rows if math.isfinite(row.logit)]
    floor = min(finite) - 0.08 * max(1.0, max(finite) - min(finite))
    for state in STATES:
        bars = [
            (place, row)
            for place, row in enumerate(view.rows)
            if row.state == state and math.isfinite(row.logit)
        ]
        fig.add_bar(
            x=[place for place, _ in bars],
            y=[row.logit - floor for _, row in bars],
            base=floor,
            customdata=[row.logit for _, row in bars],
            text=[hover(row) for _, row in bars],
            textposition="none",
            hovertemplate="%{text}<br>logit %{customdata:.4f}",
            name=state,
            marker=bar_marker(state),
            showlegend=bool(bars),
        )
    fig.update_layout(barmode="overlay")
    fig.update_yaxes(title="raw logit", range=[floor, max(finite) + 0.05 * (max(finite) - floor)])
    token_axis(fig, view.rows)
    return fig


def softmax(view: StepView) -> go.Figure:
    """Three probabilities per leading token: the model's own, after temperature, in the draw.

    Circles are the softmax at temperature 1 with nothing cut; wide pale bars what penalties and
    temperature make of it; narrow bars the final probability, which removed tokens lack.
    """
    fig = figure("Softmax")
    places = list(range(len(view.rows)))
    texts = [hover(row) for row in view.rows]
    for removed in (False, True):
        bars = [place for place in places if (view.rows[place].removed_by is not None) == removed]
        fig.add_bar(
            x=bars,
            y=[view.rows[place].prob for place in bars],
            width=0.86,
            text=[texts[place] for place in bars],
            textposition="none",
            hovertemplate=f"%{{text}}<br>{view.prob_name} %{{y:.4%}}",
            name="removed" if removed else view.prob_name,
            marker=bar_marker("removed")
            if removed
            else {"color": "rgba(138,148,163,0.25)", "line": {"width": 1, "color": GREY}},
            showlegend=bool(bars),
        )
    for state in ("kept", "chosen"):
        bars = [place for place in places if view.rows[place].state == state]
        fig.add_bar(
            x=bars,
            y=[view.rows[place].final_prob for place in bars],
            width=0.5,
            text=[texts[place] for place in bars],
            textposition="none",
            hovertemplate="%{text}<br>in the draw %{y:.4%}",
            name=state,
            marker=bar_marker(state),
            showlegend=bool(bars),
        )
    fig.add_scatter(
        x=places,
        y=[row.model_prob for row in view.rows],
        mode="markers",
        text=texts,
        hovertemplate="%{text}<br>at T = 1 %{y:.4%}",
        name="model: T = 1, no cut",
        marker={"symbol": "circle-open", "size": 8, "color": GREEN, "line": {"width": 2}},
    )
    fig.update_layout(barmode="overlay")
    fig.update_yaxes(title="probability", tickformat=".0%", rangemode="tozero")
    token_axis(fig, view.rows)
    return fig


def cumulative(view: StepView) -> go.Figure:
    """Running sums over the ranks, the cut-offs on them, and where the drawn `u` falls.

    The draw takes the first rank at which the running sum of the *final* probabilities exceeds u.
    """
    fig = figure("Cumulative probability")
    curve = view.curve
    # Each rank owns the rise that ends at it, so the curve starts from nothing, left of rank 1.
    ranks = [0.7, *curve.ranks.tolist()]
    for name, sums, colour, dash in (
        (view.prob_name, curve.cumulative, GREY, "dash"),
        ("in the draw", curve.final, BLUE, "solid"),
    ):
        fig.add_scatter(
            x=ranks,
            y=[0.0, *sums.tolist()],
            mode="lines",
            line={"shape": "hv", "color": colour, "dash": dash, "width": 2},
            name=name,
            hovertemplate="rank %{x:,}: %{y:.4%}",
        )
    for stage in view.stages:
        _cut_line(fig, stage, 1.0)
    if view.draw is not None:
        fig.add_scatter(
            x=[0.7, view.draw.rank],
            y=[view.draw.u, view.draw.u],
            mode="lines+markers",
            line={"color": ORANGE, "width": 2},
            marker={"symbol": ["circle-open", "diamond"], "size": [6, 11], "color": ORANGE},
            name=f"u = {view.draw.u:.4f} draws {chart_text(view.draw.label)}",
            hovertemplate="u = %{y:.6f}, rank %{x:,}",
        )
    _rank_axis(fig, view)
    fig.update_yaxes(title="cumulative", tickformat=".0%", range=[0, 1.03])
    return fig


def rank_curve(view: StepView) -> go.Figure:
    """Probability over rank for the whole vocabulary, both axes logarithmic, with the cut-offs."""
    fig = figure("Rank curve")
    curve = view.curve
    kept = curve.ranks <= view.last_kept
    for name, chosen, colour, dash in (
        ("kept", kept, BLUE, "solid"),
        ("removed", ~kept, GREY, "dot"),
    ):
        shown = chosen & (curve.probs > 0)  # underflow has no place on a logarithmic axis
        fig.add_scatter(
            x=curve.ranks[shown].tolist(),
            y=curve.probs[shown].tolist(),
            mode="lines+markers" if shown.sum() == 1 else "lines",
            line={"color": colour, "dash": dash, "width": 2.5},
            name=name,
            hovertemplate="rank %{x:,}: %{y:.4g}",
            showlegend=bool(shown.any()),
        )
    top = float(curve.probs[0])
    bottom = max(LOWEST_SHOWN, float(curve.probs[curve.probs > 0].min()))
    for stage in view.stages:
        _cut_line(fig, stage, top, bottom)
    row = view.chosen
    if row.prob > 0:
        fig.add_scatter(
            x=[row.rank],
            y=[row.prob],
            mode="markers",
            marker={
                "symbol": "diamond",
                "size": 11,
                "color": ORANGE,
                "line": {"width": 1, "color": VERMILION},
            },
            name="chosen",
            text=[hover(row)],
            hovertemplate="%{text}<br>%{y:.4%}",
        )
    _rank_axis(fig, view)
    span = math.log10(top / bottom) if top > bottom else 1.0
    fig.update_yaxes(
        title=view.prob_name,
        type="log",
        exponentformat="power",
        range=[math.log10(bottom) - 0.04 * span, math.log10(top) + 0.06 * span],
    )
    return fig


def _rank_axis(fig: go.Figure, view: StepView) -> None:
    powers = [10**power for power in range(math.ceil(math.log10(view.vocab_size)) + 1)]
    fig.update_xaxes(
        title="rank",
        type="log",
        range=[math.log10(0.7), math.log10(view.vocab_size * 1.2)],
        tickvals=powers,
        ticktext=[f"{power:,}" for power in powers],
    )


def _cut_line(fig: go.Figure, stage: StageRow, top: float, bottom: float = 0.0) -> None:
    """A line at the last rank that a stage kept."""
    if stage.last_rank is None or stage.name not in _CUT_LINES:
        return
    name, colour, dash = _CUT_LINES[stage.name]
    vertical(fig, stage.last_rank, f"{name}: {stage.last_rank:,} kept", colour, dash, top)
    fig.data[-1].y = (bottom, top)
