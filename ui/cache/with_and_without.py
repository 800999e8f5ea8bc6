"""The same text decoded with and without the cache, to show how much work the cache saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from engine.measure import (
    MOST_POSITIONS,
    Pace,
    WithAndWithout,
    WithAndWithoutMeasurement,
    median,
    p95,
)
from engine.model import LanguageModel
from ui.charts.template import SYMBOLS, Palette, literal, log_axis, palette, template
from ui.labs import fields
from ui.labs.inputs import Inputs
from ui.measurements.drawing import chart, sheet, steadiness
from ui.measurements.job import MeasureJob
from ui.measurements.section import Laid, Section, Shown, Table
from ui.measurements.section_state import SectionState
from ui.texts.examples import EXAMPLES
from ui.texts.texts import check_prompt
from ui.words.glossary import meaning
from ui.words.labels import counted, size, token_label
from ui.words.language import marked, say

RANGES = 12  # maximum number of rows of the table by position
LEAST_RANGE = 8  # minimum number of steps per row
TIMED = marked(
    "A time runs from the moment the pass gets the device until the logits are in memory. It "
    "excludes waiting for others, also between two layers, and choosing the token. Without "
    "the cache, a step reads the whole text again into an empty cache, which is then "
    "discarded."
)


@dataclass(frozen=True)
class TextInputs(Inputs):
    """Inputs that select the text to decode.

    Attributes in addition to the prompt:
        positions: length of the text in tokens at the last step.
        every: interval between the steps that are measured without the cache.
    """

    prompt: str = "Once upon a time, there was a little"
    positions: int = 96
    every: int = 1


def _first(model: LanguageModel) -> TextInputs:
    """Return the first inputs, with fewer positions if the model's context is short."""
    return TextInputs(positions=min(TextInputs.positions, model.context_length or MOST_POSITIONS))


def _prompt_ids(model: LanguageModel, inputs: TextInputs) -> list[int]:
    check_prompt("prompt", inputs.prompt)
    return model.vocabulary.encode(inputs.prompt)


def _begin(model: LanguageModel, inputs: TextInputs) -> MeasureJob[WithAndWithout]:
    ids = _prompt_ids(model, inputs)
    return MeasureJob(WithAndWithoutMeasurement(model, ids, inputs.positions, inputs.every))


def _seconds(model: LanguageModel, inputs: TextInputs, pace: Pace) -> float:
    ids = _prompt_ids(model, inputs)
    return WithAndWithoutMeasurement.estimated_seconds(
        model, len(ids), inputs.positions, inputs.every, pace
    )


def _fields(held: SectionState) -> None:
    fields.prompt(held, {say(one.name): one.prompt for one in EXAMPLES}, help=meaning("prompt"))
    most = min(held.model.context_length or MOST_POSITIONS, MOST_POSITIONS)
    with fields.row():
        fields.whole(
            held,
            "positions",
            say("Positions"),
            2,
            MOST_POSITIONS,
            help=say(
                "Tokens of the text at its last step; {name} takes at most {most}.",
                name=held.model.name,
                most=f"{most:,}",
            ),
        )
        fields.whole(
            held,
            "every",
            say("Uncached: every n-th step"),
            1,
            10_000,
            width=190,
            help=say(
                "1 measures every step without the cache, 16 one in sixteen; the total is "
                "then an estimate."
            ),
        )


# --- results --------------------------------------------------------------------------------------


def _picture(result: WithAndWithout, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            "cache_latency",
            say("Latency per step"),
            say("A cross marks a step that stands out among its neighbours."),
            latency_figure(result, shown.dark, shown.other),
        )
    if result.is_state:
        st.info(
            say(
                "This model has no KV cache. It keeps a state of {cached_bytes}, however long "
                "the text is, and continues from that.",
                cached_bytes=size(result.cached_bytes[-1]),
            )
        )
    sheet(_totals(result))
    sheet(_by_position(result))
    steadiness(result.reference_ms, result.changed_blocks, marked("each block"))
    st.caption(say(TIMED))
    if max(result.passes) > 1:
        st.caption(
            say(
                "One pass over so long a text would make others wait: without the cache, a "
                "step took up to {passes} passes.",
                passes=f"{max(result.passes):,}",
            )
        )
    with st.expander(say("The text")):
        st.text(result.text)


def _notice(result: WithAndWithout) -> str:
    # The median of several last steps, so that a single slow one has no effect.
    cached = median(result.cached_ms[-8:])
    without = median(result.uncached_ms[-8:])
    times = without / cached
    what = say("a state of constant size") if result.is_state else say("the cache")
    sentences = [
        say(
            "At {positions} positions a step takes {cached} ms with {what} and {without} "
            "ms without, {times} times as long.",
            positions=f"{result.positions[-1]:,}",
            cached=f"{cached:.1f}",
            what=what,
            without=f"{without:.1f}",
            times=f"{times:.1f}",
        ),
        say(
            "The first token took {first} ms, a pass over {tokens} of the prompt; the same pass "
            "without the cache took {again} ms. See Prefill and decode for longer prompts.",
            first=f"{result.cached_ms[0]:.1f}",
            again=f"{result.uncached_ms[0]:.1f}",
            tokens=counted(result.prompt_tokens, "token"),
        ),
        _same_text(result),
    ]
    return " ".join(sentences)


def _same_text(result: WithAndWithout) -> str:
    difference = result.difference
    if difference is None:
        checked = say("every step") if not result.is_sampled else say("every measured step")
        return say("Both texts are the same: {checked} chose the same token.", checked=checked)
    return say(
        "The texts first differ at {position} tokens: “{cached}” with the cache, “{uncached}” "
        "without. With the cache the two logits are {margin} apart. Both texts continue with "
        "the first token.",
        position=f"{difference.position:,}",
        cached=token_label(difference.cached),
        uncached=token_label(difference.uncached),
        margin=f"{difference.margin:.3g}",
    )


def _totals(result: WithAndWithout) -> Table:
    steps = len(result.cached_ms)
    rows = [
        _total(
            say("with the state") if result.is_state else say("with the cache"),
            result.cached_ms[1:] or result.cached_ms,
            (result.cached_seconds, result.cached_tokens),
            (steps * result.weight_bytes, sum(result.cached_bytes)),
        ),
        _total(
            say("without, estimated") if result.is_sampled else say("without"),
            result.uncached_ms,
            (result.uncached_seconds, result.uncached_tokens),
            (result.uncached_passes * result.weight_bytes, 0),
        ),
    ]
    head = (
        say("decoding"),
        say("median, ms"),
        "p95, ms",
        say("{steps}, s", steps=counted(steps, "step")),
        say("tokens read"),
        say("weights read"),
        say("cache read"),
    )
    return Table(say("Totals"), head, rows)


def _total(name: str, ms: Sequence[float], work: tuple[float, int], read: tuple[int, int]) -> tuple:
    seconds, tokens = work
    return (name, median(ms), p95(ms), seconds, tokens, *(size(count) for count in read))


def _by_position(result: WithAndWithout) -> Table:
    rows, first = [], result.prompt_tokens
    count = len(result.cached_ms)
    width = LEAST_RANGE
    while count > width * RANGES:  # doubled, so that most rows keep their ranges as steps are added
        width *= 2
    for start in range(0, count, width):
        end = min(start + width, count)
        cached = result.cached_ms[max(1, start) : end] or result.cached_ms[start:end]
        without = [
            ms
            for position, ms in zip(result.positions, result.uncached_ms, strict=True)
            if start <= position - first < end
        ]
        rows.append(
            (
                say("{first} to {last}", first=f"{first + start:,}", last=f"{first + end - 1:,}"),
                median(cached),
                p95(cached),
                median(without) if without else None,
                p95(without) if without else None,
                median(without) / median(cached) if without else None,
            )
        )
    head = (
        say("positions"),
        say("with, median ms"),
        say("with, p95 ms"),
        say("without, median ms"),
        say("without, p95 ms"),
        say("times as long"),
    )
    return Table(say("By position"), head, rows)


def _steps(result: WithAndWithout) -> Table:
    without = dict(zip(result.positions, result.uncached_ms, strict=True))
    stands_out = set(result.cached_outliers)
    rows = [
        (position, ms, without.get(position), read, place in stands_out)
        for place, (position, ms, read) in enumerate(
            zip(result.cached_positions, result.cached_ms, result.cached_bytes, strict=True)
        )
    ]
    head = (
        say("position"),
        say("with cache, ms"),
        say("without, ms"),
        say("cache bytes read"),
        say("outlier, with cache"),
    )
    return Table(say("Steps"), head, rows)


WIDE = 30.0  # from this ratio of largest to smallest time on, the axis is logarithmic


def latency_figure(
    result: WithAndWithout, dark: bool = False, other: Laid[WithAndWithout] | None = None
) -> go.Figure:
    """Chart milliseconds per step by length of the text; another machine's are dashed."""
    colours = palette(dark)
    figure = go.Figure()
    _curves(figure, result, colours)
    if other is not None:
        _curves(figure, other.result, colours, literal(other.name, 40))
    every = [*result.cached_ms, *result.uncached_ms]
    is_wide = max(every) > WIDE * min(every)
    figure.update_layout(
        template=template(dark),
        height=380,
        xaxis={"title": say("tokens in the text"), "rangemode": "tozero"},
        yaxis={
            "title": say("milliseconds per step"),
            **(log_axis(every) if is_wide else {"rangemode": "tozero"}),
        },
    )
    return figure


def _curves(figure: go.Figure, result: WithAndWithout, colours: Palette, machine: str = "") -> None:
    curves = (
        (say("without the cache"), result.positions, result.uncached_ms, result.uncached_outliers),
        (say("with the cache"), result.cached_positions, result.cached_ms, result.cached_outliers),
    )
    for place, (name, positions, times, far) in enumerate(curves):
        colour = colours.series[1 - place]
        figure.add_scatter(
            x=list(positions),
            y=list(times),
            name=f"{name}, {machine}" if machine else name,
            mode="lines" if len(positions) > 64 else "lines+markers",
            line={"color": colour, "dash": "dash" if machine else "solid", "width": 1.8},
            marker={"symbol": SYMBOLS[place], "size": 5},
            hovertemplate=say("%{x:,} tokens: %{y:.2f} ms<extra></extra>"),
        )
        _marks(figure, [positions[i] for i in far], [times[i] for i in far], colour)


def _marks(
    figure: go.Figure, positions: Sequence[int], times: Sequence[float], colour: str
) -> None:
    if not positions:
        return
    figure.add_scatter(
        x=list(positions),
        y=list(times),
        mode="markers",
        marker={"symbol": "x-thin", "size": 8, "line": {"color": colour, "width": 2}},
        showlegend=False,
        hovertemplate=say("stands out: %{x:,} tokens, %{y:.2f} ms<extra></extra>"),
    )


SECTION = Section(
    key="with_and_without",
    name=marked("With and without"),
    about=marked(
        "The same text, with the cache and without. Notice how each curve grows with the text."
    ),
    inputs=TextInputs,
    result=WithAndWithout,
    follows=True,
    fields=_fields,
    picture=_picture,
    notice=_notice,
    tables=lambda result: (_totals(result), _by_position(result), _steps(result)),
    begin=_begin,
    seconds=_seconds,
    first=_first,
)
