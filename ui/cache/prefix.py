"""Prefix reuse: the time of reading a second prompt whose beginning is already cached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from engine.errors import PromptError
from engine.measure import Pace, PrefixMeasurement, PrefixResult, Reuse, outliers, p95
from engine.model import LanguageModel
from ui.charts.template import SYMBOLS, Palette, literal, palette, template
from ui.labs import fields
from ui.labs.inputs import PlainInputs
from ui.measurements.drawing import chart, sheet
from ui.measurements.job import MeasureJob
from ui.measurements.section import Laid, Section, Shown, Table
from ui.measurements.section_state import SectionState
from ui.texts.texts import check_prompt
from ui.words.glossary import meaning
from ui.words.language import marked, say

BEGINNING = """\
You are the assistant of a small town library. You answer visitors who write to the library at \
any hour of the day. Be friendly, be brief, and write as one writes to a neighbour.

The library is open from Tuesday to Saturday. It opens at ten in the morning and closes at six \
in the evening, on Thursdays at eight. On Sundays and Mondays it is closed. The box for books \
beside the door is open at all times.

Anyone who lives in the town may have a card. It costs nothing. A child needs a parent to sign \
for it. With a card one may take home ten books, four films and two games at a time. Books \
stay for four weeks, films and games for one. Whoever needs more time may ask twice for \
another two weeks, unless somebody else waits for the book.

A book that comes back late costs ten cents a day, and never more than five euros. A book that \
is lost has to be paid for. Say so kindly, and say that nobody is turned away because of \
money.

On Wednesday afternoons stories are read to children in the room with the blue door. On the \
first Friday of the month a reading circle meets at seven. On Saturday mornings a helper \
explains how to use the computers. For all of these nobody has to sign up.

When a visitor asks for a book, ask what they liked last and suggest two or three. Name the \
author, say in one sentence what the book is about, and do not give away the end. When a \
visitor asks for something that the library does not have, offer to order it from the library \
of the next town, which takes about a week.

Never make up a book. Never give the address or the card number of a visitor to anyone. If you \
do not know an answer, say so, and say that the desk will know. Do not talk about politics, \
medicine or the law, but say which shelf has books about them. End every answer with one short \
sentence that wishes the visitor well.

"""
FIRST = "Visitor: When may I bring my children to hear a story?\nAssistant:"
SECOND = "Visitor: I have lost a book about whales. What happens now?\nAssistant:"


SHARES = (1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0)  # shares of the longest beginning to measure
MOST_SHARED = 100_000
CLASS = 30  # visitors in the sentence that applies the result
TIMED = marked(
    "Full: the whole second prompt is read into an empty cache. Reused: a copy of the first "
    "prompt's cache is cropped to the shared tokens and only the rest is read; copying and "
    "cropping are timed too. Waiting for others is not. One round before the first warms up. "
    "Whiskers go from the fastest to the slowest repeat, and a cross marks an outlier."
)
ROUNDING = marked(
    "Both ways give the same logits up to float rounding: passes of different lengths add in "
    "a different order."
)


@dataclass(frozen=True)
class PrefixInputs(PlainInputs):
    """Two prompts with a common beginning.

    Attributes:
        beginning: the common beginning.
        first, second: the rest of each prompt.
        longest: maximum number of shared tokens.
        repeats: number of timings of each length.
    """

    beginning: str = BEGINNING
    first: str = FIRST
    second: str = SECOND
    longest: int = 384
    repeats: int = 5


def _parts(model: LanguageModel, inputs: PrefixInputs) -> tuple[list[int], list[int], list[int]]:
    texts = {
        say("shared beginning"): inputs.beginning,
        say("text that continues the first prompt"): inputs.first,
        say("text that continues the second prompt"): inputs.second,
    }
    for name, text in texts.items():
        if not text:
            raise PromptError(say("The {name} is empty; type at least one character.", name=name))
        check_prompt(name, text)
    return tuple(map(model.vocabulary.encode, texts.values()))


def _lengths(inputs: PrefixInputs) -> list[int]:
    return sorted({round(share * inputs.longest) for share in SHARES})


def _begin(model: LanguageModel, inputs: PrefixInputs) -> MeasureJob[PrefixResult]:
    parts = _parts(model, inputs)
    return MeasureJob(PrefixMeasurement(model, *parts, _lengths(inputs), inputs.repeats))


def _seconds(model: LanguageModel, inputs: PrefixInputs, pace: Pace) -> float:
    rest = len(_parts(model, inputs)[2])
    each = [
        pace.read_seconds(length + rest) + pace.read_seconds(rest) for length in _lengths(inputs)
    ]
    return (inputs.repeats + 2) * sum(each)  # + 2: the first prompt, and the warm-up round


def _fields(held: SectionState) -> None:
    fields.text(
        held,
        "beginning",
        say("Shared beginning, such as a system prompt"),
        help=meaning("prefix reuse"),
    )
    left, right = st.columns(2)
    with left:
        fields.text(held, "first", say("First prompt continues with"), help=meaning("prompt"))
    with right:
        fields.text(held, "second", say("Second prompt continues with"), help=meaning("prompt"))
    with fields.row():
        fields.whole(
            held,
            "longest",
            say("Shared tokens, at most"),
            1,
            MOST_SHARED,
            width=190,
            help=say(
                "The number of tokens in the shared beginning; shorter beginnings are measured too."
            ),
        )
        fields.whole(
            held,
            "repeats",
            say("Repeats"),
            1,
            50,
            help=say("Timed readings of each kind and length."),
        )


def _picture(result: PrefixResult, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            "cache_prefix",
            say("Time until the second prompt is read"),
            say("The gap between the lines is what the cache of the shared beginning saves."),
            reuse_figure(result, shown.dark, shown.other),
        )
    sheet(_table(result))
    st.caption(say(TIMED))
    if not result.can_crop:
        st.caption(
            say(
                "Not all states of this model can be cropped. Where they cannot, the state "
                "after the shared tokens was kept instead; an engine must plan for that in "
                "advance."
            )
        )


def _notice(result: PrefixResult) -> str:
    longest = result.lengths[-1]
    saved = longest.full - longest.reused
    share = saved / longest.full
    sentences = [
        say(
            "{shared} of {tokens} tokens are shared.",
            shared=f"{longest.shared:,}",
            tokens=f"{longest.tokens:,}",
        )
    ]
    if saved > 0:
        sentences.append(
            say(
                "The second prompt takes {reused} ms instead of {full} ms, {share} % less.",
                reused=f"{longest.reused:.0f}",
                full=f"{longest.full:.0f}",
                share=f"{100 * share:.0f}",
            )
        )
        sentences.append(
            say(
                "Were it the system prompt of {visitors} visitors, each but the first would be "
                "spared that: {seconds} s together (computed).",
                visitors=CLASS,
                seconds=f"{(CLASS - 1) * saved / 1e3:.1f}",
            )
        )
    else:
        sentences.append(
            say(
                "Reuse saves no time here: {reused} ms against {full} ms.",
                reused=f"{longest.reused:.0f}",
                full=f"{longest.full:.0f}",
            )
        )
    difference = max(one.largest_difference for one in result.lengths)
    if difference == 0:
        sentences.append(say("All logits are equal to the last bit."))
    else:
        same = all(one.same_top for one in result.lengths)
        token = say("the same") if same else say("different at some length")
        sentences.append(
            say(
                "Logits differ by up to {difference}, and the likeliest token is {token}. "
                "{rounding}",
                difference=f"{difference:.2g}",
                token=token,
                rounding=say(ROUNDING),
            )
        )
    return " ".join(sentences)


def _table(result: PrefixResult) -> Table:
    rows = [
        (
            say("{some} of {all}", some=f"{one.shared:,}", all=f"{one.tokens:,}"),
            round(one.full, 1),
            round(p95(one.full_ms), 1),
            round(one.reused, 1),
            round(p95(one.reused_ms), 1),
            round(one.full - one.reused, 1),
            round(one.full / one.reused, 2) if one.reused else None,
            f"{one.full_passes:,}, {one.reused_passes:,}",
            f"{one.largest_difference:.2g}",
            say("yes") if one.same_top else say("no"),
            len(one.full_ms),
        )
        for one in result.lengths
    ]
    head = (
        say("shared tokens"),
        say("full, median ms"),
        "p95",
        say("reused, median ms"),
        "p95 ",
        say("saved, ms"),
        say("times as fast"),
        say("passes: full, reused"),
        say("logits differ by"),
        say("same likeliest token"),
        say("repeats"),
    )
    return Table(say("Prefix reuse"), head, rows)


def _repeats(result: PrefixResult) -> Table:
    rows = [
        (one.shared, repeat, full, reused)
        for one in result.lengths
        for repeat, (full, reused) in enumerate(
            zip(one.full_ms, one.reused_ms, strict=True), start=1
        )
    ]
    return Table(
        say("Repeats"),
        (say("shared tokens"), say("repeat"), say("full, ms"), say("reused, ms")),
        rows,
    )


SERIES: Sequence[tuple[str, Callable[[Reuse], Sequence[float]], Callable[[Reuse], float]]] = (
    (marked("full prefill"), lambda one: one.full_ms, lambda one: one.full),
    (marked("prefix reused"), lambda one: one.reused_ms, lambda one: one.reused),
)


def reuse_figure(
    result: PrefixResult, dark: bool = False, other: Laid[PrefixResult] | None = None
) -> go.Figure:
    """Chart milliseconds with and without reuse: medians and ranges; another machine's dashed."""
    colours = palette(dark)
    figure = go.Figure()
    _lines(figure, result, colours)
    if other is not None:
        _lines(figure, other.result, colours, literal(other.name, 40))
    figure.update_layout(
        template=template(dark),
        height=380,
        xaxis={"title": say("shared tokens"), "rangemode": "tozero"},
        yaxis={"title": say("milliseconds"), "rangemode": "tozero"},
    )
    return figure


def _lines(figure: go.Figure, result: PrefixResult, colours: Palette, machine: str = "") -> None:
    shared = [one.shared for one in result.lengths]
    for place, (name, times, middle) in enumerate(SERIES):
        colour, name = colours.series[1 - place], say(name)
        medians = [middle(one) for one in result.lengths]
        figure.add_scatter(
            x=shared,
            y=medians,
            name=f"{name}, {machine}" if machine else name,
            mode="lines+markers",
            line={"color": colour, "dash": "dash" if machine else "solid", "width": 2},
            marker={"symbol": SYMBOLS[place], "size": 8},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [max(times(one)) - middle(one) for one in result.lengths],
                "arrayminus": [middle(one) - min(times(one)) for one in result.lengths],
                "thickness": 1.2,
            },
            hovertemplate=say("%{x:,} tokens shared: %{y:.1f} ms<extra></extra>"),
        )
        far = [
            (one.shared, times(one)[at]) for one in result.lengths for at in outliers(times(one))
        ]
        if far and not machine:
            figure.add_scatter(
                x=[x for x, _ in far],
                y=[y for _, y in far],
                mode="markers",
                showlegend=False,
                marker={"symbol": "x-thin", "size": 8, "line": {"color": colour, "width": 2}},
                hovertemplate=say("stands out: %{y:.1f} ms<extra></extra>"),
            )


SECTION = Section(
    key="prefix",
    name=marked("Prefix reuse"),
    about=marked(
        "For a second prompt with the same beginning, only the new tokens are read. Notice "
        "that the time hardly grows with the shared part."
    ),
    inputs=PrefixInputs,
    result=PrefixResult,
    fields=_fields,
    picture=_picture,
    notice=_notice,
    tables=lambda result: (_table(result), _repeats(result)),
    begin=_begin,
    seconds=_seconds,
)
