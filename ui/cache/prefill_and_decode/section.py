"""Prefill and decode times by prompt length and output length, and the price of output."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, replace

import streamlit as st

from engine.errors import SettingError
from engine.measure import (
    MOST_POSITIONS,
    MOST_ROUNDS,
    Cell,
    Pace,
    PrefillAndDecode,
    PrefillAndDecodeMeasurement,
)
from engine.model import LanguageModel
from ui.cache.prefill_and_decode.charts import time_figure, wait_figure
from ui.cache.prefill_and_decode.cost import cost_fields, cost_lens
from ui.labs import fields
from ui.labs.inputs import PlainInputs
from ui.measurements.drawing import cell as written
from ui.measurements.drawing import chart, steadiness
from ui.measurements.job import MeasureJob
from ui.measurements.section import Laid, Section, Shown, Table
from ui.measurements.section_state import SectionState
from ui.tune.values import parse_values
from ui.words.glossary import meaning
from ui.words.labels import counted
from ui.words.language import marked, say

SHADES = 5  # shade of the largest value (see `ui/shell/theme.py`)


@dataclass(frozen=True)
class GridMetric:
    """A figure that the cells of the grid can show.

    Attributes:
        name: its name with its unit.
        about: explanation of the figure.
        of: returns its value in a cell; None if the cell has none.
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
        marked("Time to first token: the prefill. Choosing the token is not included."),
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
    """Format the grid: prompts by outputs, with another machine's figure below this machine's."""
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


TIMED = marked(
    "Prompts are random tokens. A time runs from the moment a pass gets the device until the "
    "logits are in memory; waiting for others is excluded. Figures are medians of the "
    "rounds; first tokens come from the prefill, later ones from one step each."
)


@dataclass(frozen=True)
class GridInputs(PlainInputs):
    """The grid, the figure in its cells, and prices.

    Attributes:
        prompts: prompt lengths, as typed.
        outputs: output lengths, as typed.
        rounds: number of measurements of each cell.
        metric: the figure in the grid, a key of `METRICS`.
        input_price, output_price: dollars per million tokens.
    """

    prompts: str = "16, 64, 256"
    outputs: str = "4, 16, 64"
    rounds: int = 3
    metric: str = "total"
    input_price: float = 2.0
    output_price: float = 10.0


def _first(model: LanguageModel) -> GridInputs:
    """Return the first inputs: the defaults, or shorter lengths if the model's context is short."""
    usual = GridInputs()
    room = model.context_length
    if room is None or room >= 256 + 64:
        return usual
    prompts = [n for n in (4, 16, 64) if n <= room // 2] or [1]
    outputs = [n for n in (4, 16) if n <= room // 4] or [1]
    return replace(
        usual, prompts=", ".join(map(str, prompts)), outputs=", ".join(map(str, outputs))
    )


def _lengths(field: str, typed: str) -> list[int]:
    remedy = say(
        "use whole numbers from 1 to {most_tokens} such as 16, 64, 256",
        most_tokens=f"{MOST_POSITIONS:,}",
    )
    values = parse_values(field, typed)
    for value in values:
        if not isinstance(value, int) or not 1 <= value <= MOST_POSITIONS:
            raise SettingError(field, value, say("is not a length"), remedy)
    return sorted(values)


def _plan(inputs: GridInputs) -> tuple[list[int], list[int], int]:
    prompts = _lengths(say("Prompt lengths"), inputs.prompts)
    return prompts, _lengths(say("Output lengths"), inputs.outputs), inputs.rounds


def _begin(model: LanguageModel, inputs: GridInputs) -> MeasureJob[PrefillAndDecode]:
    return MeasureJob(PrefillAndDecodeMeasurement(model, *_plan(inputs)))


def _seconds(model: LanguageModel, inputs: GridInputs, pace: Pace) -> float:
    return PrefillAndDecodeMeasurement.estimated_seconds(model, *_plan(inputs), pace)


def _fields(held: SectionState) -> None:
    if held.inputs.metric not in METRICS:  # from a different version
        held.change(metric=GridInputs.metric)
    with fields.row():
        fields.line(
            held,
            "prompts",
            say("Prompt lengths"),
            help=say(
                "Tokens. {value} A range is written 16 to 256 step 16.", value=meaning("prefill")
            ),
        )
        fields.line(
            held,
            "outputs",
            say("Output lengths"),
            help=say("Tokens. {value}", value=meaning("decode")),
        )
        fields.whole(
            held,
            "rounds",
            say("Rounds"),
            1,
            MOST_ROUNDS,
            help=say("How often each cell is measured."),
        )
        fields.choice(
            held,
            "metric",
            say("Cells show"),
            {name: say(metric.name) for name, metric in METRICS.items()},
            help=say("Changes what is shown; nothing is measured again."),
            width=230,
        )


def _picture(result: PrefillAndDecode, shown: Shown) -> None:
    metric = shown.held.inputs.metric
    st.html(grid_table(result, metric, shown.other))
    st.caption(say(METRICS[metric].about))
    if not shown.is_running:
        left, right = st.columns(2)
        with left:
            chart(
                "cache_first_token",
                say("First-token wait"),
                say(
                    "Over all cells with that prompt. Whiskers go from the fastest to the "
                    "slowest round."
                ),
                wait_figure(result, shown.dark, shown.other),
            )
        with right:
            chart(
                "cache_total_time",
                say("Time of the whole output"),
                say(
                    "One line for each prompt length. Whiskers go from the fastest to the "
                    "slowest round."
                ),
                time_figure(result, shown.dark, shown.other),
            )
    steadiness(result.reference_ms, result.changed_cells, marked("each cell"))
    st.caption(say(TIMED))
    st.subheader(say("Cost of input and output"), anchor=False)
    if not shown.is_running:
        cost_fields(shown.held)
    cost_lens(result, shown.held.inputs)


def _notice(result: PrefillAndDecode) -> str:
    cell = result.largest
    per_output = cell.per_output
    read = say(
        "Prefill took {first} ms for {prompt} prompt tokens, {prefill_per_second} tokens/s.",
        prompt=f"{cell.prompt:,}",
        first=f"{cell.first:,.0f}",
        prefill_per_second=f"{cell.prefill_per_second:,.0f}",
    )
    if per_output is None:
        return read
    ratio = per_output / (cell.first / cell.prompt)
    decode = say(
        "Decode took {per_output} ms for each later token, {decode_per_second} tokens/s.",
        per_output=f"{per_output:.1f}",
        decode_per_second=f"{cell.decode_per_second:,.0f}",
    )
    if ratio < 1:
        return say(
            "{read} {decode} Per token, this prefill was the slower of the two.",
            read=read,
            decode=decode,
        )
    share = 1 - cell.first / cell.total
    return say(
        "{read} {decode} An output token takes {ratio} times as long as an input "
        "token. With {output} output tokens, decode is {share} % of the time.",
        read=read,
        decode=decode,
        ratio=f"{ratio:.1f}",
        output=f"{cell.output:,}",
        share=f"{100 * share:.0f}",
    )


def _cells(result: PrefillAndDecode) -> Table:
    rows = [
        (
            one.prompt,
            one.output,
            one.first,
            one.per_output,
            max(one.step_p95_ms) or None,
            one.total,
            one.prefill_per_second,
            one.decode_per_second,
            one.spread,
            len(one.first_ms),
        )
        for one in sorted(result.cells, key=lambda one: (one.prompt, one.output))
    ]
    head = (
        say("prompt tokens"),
        say("output tokens"),
        say("first-token wait, ms"),
        say("per output token, ms"),
        say("p95 of the worst round, ms"),
        say("total, ms"),
        say("prefill, tokens/s"),
        say("decode, tokens/s"),
        say("slowest / fastest round"),
        say("rounds"),
    )
    return Table(say("Cells"), head, rows)


SECTION = Section(
    key="prefill_and_decode",
    name=marked("Prefill and decode"),
    about=(
        marked(
            "Every cell is one prompt length and one output length. Notice along which axis "
            "the time grows."
        )
    ),
    inputs=GridInputs,
    result=PrefillAndDecode,
    fields=_fields,
    picture=_picture,
    notice=_notice,
    tables=lambda result: (_cells(result),),
    begin=_begin,
    start=marked("Measure grid"),
    seconds=_seconds,
    first=_first,
)
