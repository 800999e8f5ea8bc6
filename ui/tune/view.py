"""The tune page's texts and tables as HTML: every text that is not ours is escaped here."""

from __future__ import annotations

import html
from collections.abc import Iterable

import pandas as pd

from ui.charts.tune import Grid, colours_of, figure_text, shades
from ui.compare.view import escaped, facts
from ui.tune.metrics import METRICS, Extreme
from ui.words.labels import stop_name

STYLE = """
<style>
.tune {
  --tune-muted: color-mix(in srgb, currentColor 74%, transparent);
  --tune-line: color-mix(in srgb, currentColor 16%, transparent);
}
.tune-muted { color: var(--tune-muted); font-size: 0.85rem; }
.tune-texts {
  margin: 0 !important; padding: 0 !important; list-style: none;
  max-height: 24rem; overflow-y: auto;
  border: 1px solid var(--tune-line); border-radius: 8px;
}
.tune-texts li { margin: 0 !important; list-style: none; padding: 0.5rem 0.8rem; }
.tune-texts li + li { border-top: 1px solid var(--tune-line); }
.tune-texts p { margin: 0 0 0.2rem; }
.tune-text { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; }
.tune-text span { color: var(--tune-muted); }
.tune-grids { display: grid; gap: 0.9rem; margin-top: 0.4rem;
  grid-template-columns: repeat(auto-fill, minmax(14.5rem, 1fr)); }
.tune-grids table { border-collapse: separate; border-spacing: 1px; table-layout: fixed;
  width: 100%; font-variant-numeric: tabular-nums; }
.tune-grids caption { text-align: left; font-weight: 600; padding: 0 0 0.2rem; }
.tune-grids th, .tune-grids td { border: 0; padding: 0.15rem 0.1rem; text-align: center;
  font-size: 0.78rem; font-weight: 400; overflow: hidden; }
.tune-grids th { color: var(--tune-muted); }
.tune-scroll { overflow-x: auto; border: 1px solid var(--tune-line); border-radius: 8px; }
.tune-scroll table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
.tune-scroll caption { text-align: left; padding: 0.5rem 0.8rem; font-weight: 600; }
.tune-scroll th, .tune-scroll td {
  padding: 0.25rem 0.8rem; text-align: left; border: 0; border-top: 1px solid var(--tune-line);
  font-size: 0.9rem; vertical-align: top;
}
.tune-scroll th { font-weight: 400; color: var(--tune-muted); }
.tune-scroll tbody th { color: inherit; min-width: 9rem; }
.tune-scroll td { white-space: nowrap; }
.tune-scroll td:last-child { white-space: normal; min-width: 16rem; }
.tune-best { font-weight: 600; }
.tune-best::before { content: "★ "; }
</style>
"""

SHOWN_OF_PROMPT = 60  # characters before a text


def texts_list(prompt: str, texts: pd.DataFrame) -> str:
    """The texts of one cell and one prompt, each with its seed and a few metrics.

    Args:
        prompt: what they go on from; its end is shown.
        texts: rows of `SweepResult.texts`.
    """
    tail = prompt[-SHOWN_OF_PROMPT:]
    if tail != prompt:  # from the next word on
        tail = "…" + (tail.partition(" ")[2] or tail)
    items = []
    for row in texts.itertuples():
        about = [
            f"seed {row.seed}",
            f"{row.length:,} tokens, {_ending(row)}",
            *(
                f"{METRICS[name].name} {figure_text(getattr(row, name))}"
                for name in ("perplexity", "distinct_2", "seq_rep_4")
            ),
        ]
        items.append(
            f'<li><p class="tune-muted">{facts(about)}</p>'
            f'<div class="tune-text"><span>{escaped(tail)}</span>{escaped(row.text)}</div></li>'
        )
    return (
        '<ol class="tune tune-texts" tabindex="0" aria-label="Texts of the chosen cell">'
        f"{''.join(items)}</ol>"
    )


def _ending(row: tuple) -> str:
    if isinstance(row.error, str):
        return f"failed: {row.error}"
    return stop_name(row.stop_reason) if row.ended else "unfinished"


def small_heatmaps(grids: Iterable[Grid], dark: bool) -> str:
    """Many metrics over one grid, as tables whose cells are coloured.

    One Plotly figure for each would take the browser seconds to draw.
    """
    return f'<div class="tune tune-grids">{"".join(_small(grid, dark) for grid in grids)}</div>'


def _small(grid: Grid, dark: bool) -> str:
    rows = []
    for y_value, values, row in reversed(
        list(zip(grid.y_values, grid.values, shades(grid), strict=True))
    ):
        cells = []
        for value, shade in zip(values, row, strict=True):
            ground, ink = colours_of(shade, dark)
            cells.append(
                f'<td style="background-color: {ground}; color: {ink}">{figure_text(value)}</td>'
            )
        rows.append(f'<tr><th scope="row">{html.escape(y_value)}</th>{"".join(cells)}</tr>')
    head = "".join(f'<th scope="col">{html.escape(value)}</th>' for value in grid.x_values)
    axes = f"{grid.y_name} down, {grid.x_name} across" if grid.y_name else f"{grid.x_name} across"
    return (
        f'<table title="{html.escape(axes)}"><caption>{html.escape(grid.metric)}</caption>'
        f"<tbody>{''.join(rows)}</tbody><tfoot><tr><td></td>{head}</tr></tfoot></table>"
    )


def extremes_table(found: dict[str, tuple[Extreme, Extreme]]) -> str:
    """Where each metric is lowest and where it is highest; the better end is marked."""
    rows = []
    for name, ends in found.items():
        metric = METRICS[name]
        cells = "".join(
            f'<td class="{"tune-best" if end.is_best else ""}">{html.escape(_end_text(end))}</td>'
            for end in ends
        )
        rows.append(
            f'<tr><th scope="row">{html.escape(metric.name)}</th>{cells}'
            f"<td>{html.escape(metric.about)}</td></tr>"
        )
    return _table(
        "Best cell of each metric (★ the better end, where there is one)",
        ("metric", "lowest", "highest", "what it says"),
        rows,
    )


def _end_text(end: Extreme) -> str:
    more = f" and {end.others:,} more" if end.others else ""
    return f"{figure_text(end.value)} at {end.label}{more}"


def _table(caption: str, head: Iterable[str], rows: Iterable[str]) -> str:
    named = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in head)
    caption = html.escape(caption)
    return (
        f'<div class="tune tune-scroll" tabindex="0" role="region" aria-label="{caption}"><table>'
        f"<caption>{caption}</caption><thead><tr>{named}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
