"""The chart of sample texts: one measure of each text, by tokenizer."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from ui.charts.template import PATTERNS, literal, palette, template


def sample_figure(
    name: str,
    tokenizers: Sequence[str],
    rows: Sequence[tuple[str, Sequence[float | None]]],
    dark: bool = False,
) -> go.Figure:
    """Chart one measure of every text, with a bar for each tokenizer.

    Args:
        name: the name of the measure.
        tokenizers: names of the tokenizers.
        rows: name of each text, and its value for each tokenizer; None leaves a bar out.
        dark: whether the theme is dark.
    """
    colours = palette(dark)
    rows = [row for row in rows if any(value is not None for value in row[1])]
    figure = go.Figure()
    for place, tokenizer in enumerate(tokenizers):
        figure.add_bar(
            x=[literal(text) for text, _ in rows],
            y=[values[place] for _, values in rows],
            name=literal(tokenizer),
            marker={"color": colours.series[place], "pattern": {"shape": PATTERNS[place]}},
            hovertemplate="%{x}: %{y:.4~g} " + literal(name) + "<extra></extra>",
        )
    figure.update_layout(
        template=template(dark),
        height=380,
        barmode="group",
        xaxis={"dtick": 1},  # every name, even on a phone
        yaxis={"title": name},
        showlegend=True,
    )
    return figure
