"""The grid of cells as a table that fills as they are measured."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass

from engine.measure import Cell, PrefillAndDecode
from ui.measurements.measured import cell as written
from ui.measurements.section import Laid
from ui.words.labels import counted
from ui.words.language import marked, say

SHADES = 5  # of the cells, from the least to the most (see `ui/skeleton/theme.py`)


@dataclass(frozen=True)
class GridMetric:
    """What a cell may show.

    Attributes:
        name: with its unit.
        about: what it is.
        of: its value; None where the cell has none.
    """

    name: str
    about: str
    of: Callable[[Cell], float | None]


METRICS = {
    "total": GridMetric(
        marked("total time, ms"),
        marked("From the prompt to the last token."),
        lambda cell: cell.total,
    ),
    "first": GridMetric(
        marked("first-token wait, ms"),
        marked("Time to first token: the prefill. Choosing the token is not in it."),
        lambda cell: cell.first,
    ),
    "per_output": GridMetric(
        marked("time per output token, ms"),
        marked("Mean over the tokens after the first."),
        lambda cell: cell.per_output,
    ),
    "prefill": GridMetric(
        marked("prefill, tokens/s"),
        marked("Prompt tokens over the wait for the first token."),
        lambda cell: cell.prefill_per_second,
    ),
    "decode": GridMetric(
        marked("decode, tokens/s"),
        marked("One over the time per output token."),
        lambda cell: cell.decode_per_second,
    ),
}


def grid_table(
    result: PrefillAndDecode, metric: str, other: Laid[PrefillAndDecode] | None = None
) -> str:
    """Rows are prompts, columns outputs; another machine's figure stands below ours."""
    shown = METRICS[metric]
    values = [value for one in result.cells if (value := shown.of(one)) is not None]
    most = max(values, default=1.0) or 1.0
    head = "".join(f'<th scope="col">{_output(output)}</th>' for output in result.outputs)
    rows = "".join(
        f'<tr><th scope="row">{_prompt(prompt)}</th>'
        + "".join(
            _cell(
                result.at(prompt, output), other and other.result.at(prompt, output), metric, most
            )
            for output in result.outputs
        )
        + "</tr>"
        for prompt in result.prompts
    )
    name = html.escape(say("{name}, by prompt and output tokens", name=say(shown.name)))
    beside = html.escape(say("; below: {machine}", machine=other.name)) if other else ""
    return (
        f'<div class="dv-sheet figures cache-grid" tabindex="0" role="region" aria-label="{name}">'
        f"<table><caption>{name}{beside}</caption><thead><tr><th></th>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _output(tokens: int) -> str:
    return html.escape(say("{tokens} output", tokens=f"{tokens:,}"))


def _prompt(tokens: int) -> str:
    return html.escape(say("{tokens} prompt", tokens=f"{tokens:,}"))


def _cell(cell: Cell | None, other: Cell | None, metric: str, most: float) -> str:
    of = METRICS[metric].of
    value = of(cell) if cell is not None else None
    if cell is None:
        return f'<td class="waits">{html.escape(say("to come"))}</td>'
    if value is None:
        return "<td>–</td>"
    shade = round(SHADES * value / most)
    beside = of(other) if other is not None else None
    second = f"<br><small>{written(beside)}</small>" if beside is not None else ""
    rounds = say(
        "{rounds}, slowest / fastest {spread}",
        rounds=counted(len(cell.first_ms), "round"),
        spread=f"{cell.spread:.2f}",
    )
    return f'<td class="shade-{shade}" title="{rounds}">{written(value)}{second}</td>'
