"""Prefix reuse: the time of a second prompt whose beginning is in a cache already."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from engine.errors import PromptError
from engine.measure.pace import Pace
from engine.measure.prefix_reuse import PrefixMeasurement, PrefixResult
from engine.measure.samples import p95
from engine.model import LanguageModel
from ui.cache.prefix.charts import reuse_figure
from ui.cache.prefix.texts import BEGINNING, FIRST, SECOND
from ui.labs import fields
from ui.labs.inputs import PlainInputs
from ui.measurements.held import Held
from ui.measurements.measured import chart, sheet
from ui.measurements.section import Section, Shown, Table
from ui.measurements.work import MeasureWork
from ui.texts.texts import check_prompt
from ui.words.glossary import meaning

SHARES = (1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0)  # of the longest beginning that are measured
MOST_SHARED = 100_000
CLASS = 30  # visitors of the example in words
TIMED = (
    "Full: an empty cache reads the whole second prompt. Reused: a copy of the first prompt's "
    "cache is cropped to the shared tokens and reads the rest; copy and crop are timed too. "
    "Waiting for others is not. One round before the first warms up. Bars go from the fastest to "
    "the slowest repeat, and a cross stands out."
)
ROUNDING = (
    "Both ways give the same logits up to float rounding: passes of other lengths add in another "
    "order."
)


@dataclass(frozen=True)
class PrefixInputs(PlainInputs):
    """Two prompts.

    Attributes:
        beginning: what both begin with.
        first, second: what follows in each.
        longest: most tokens of the beginning that are shared.
        repeats: timed readings of each.
    """

    beginning: str = BEGINNING
    first: str = FIRST
    second: str = SECOND
    longest: int = 384
    repeats: int = 5


def _parts(model: LanguageModel, inputs: PrefixInputs) -> tuple[list[int], list[int], list[int]]:
    texts = {
        "shared beginning": inputs.beginning,
        "text that the first prompt goes on with": inputs.first,
        "text that the second prompt goes on with": inputs.second,
    }
    for name, text in texts.items():
        if not text:
            raise PromptError(f"The {name} is empty; type at least one character.")
        check_prompt(name, text)
    return tuple(map(model.vocabulary.encode, texts.values()))


def _lengths(inputs: PrefixInputs) -> list[int]:
    return sorted({round(share * inputs.longest) for share in SHARES})


def _begin(model: LanguageModel, inputs: PrefixInputs) -> MeasureWork[PrefixResult]:
    parts = _parts(model, inputs)
    return MeasureWork(PrefixMeasurement(model, *parts, _lengths(inputs), inputs.repeats))


def _seconds(model: LanguageModel, inputs: PrefixInputs, pace: Pace) -> float:
    rest = len(_parts(model, inputs)[2])
    each = [
        pace.read_seconds(length + rest) + pace.read_seconds(rest) for length in _lengths(inputs)
    ]
    return (inputs.repeats + 2) * sum(each)  # the first prompt, and the round that warms up


def _fields(held: Held) -> None:
    fields.text(
        held, "beginning", "Shared beginning, such as a system prompt", help=meaning("prefix reuse")
    )
    left, right = st.columns(2)
    with left:
        fields.text(held, "first", "First prompt goes on with", help=meaning("prompt"))
    with right:
        fields.text(held, "second", "Second prompt goes on with", help=meaning("prompt"))
    with fields.row():
        fields.whole(
            held,
            "longest",
            "Shared tokens, at most",
            1,
            MOST_SHARED,
            width=190,
            help="The first so many tokens of the beginning; shorter parts of it are measured too.",
        )
        fields.whole(
            held, "repeats", "Repeats", 1, 50, help="Timed readings of each kind and length."
        )


def _picture(result: PrefixResult, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            "cache_prefix",
            "Time until the second prompt is read",
            "The gap between the lines is what the cache of the shared beginning saves.",
            reuse_figure(result, shown.dark, shown.other),
        )
    sheet(_table(result))
    st.caption(TIMED)
    if not result.can_crop:
        st.caption(
            "Not all states of this model can be cropped. Where they cannot, the state after the "
            "shared tokens was kept instead, which an engine must know to do beforehand."
        )


def _notice(result: PrefixResult) -> str:
    longest = result.lengths[-1]
    saved = longest.full - longest.reused
    share = saved / longest.full
    sentences = [f"{longest.shared:,} of {longest.tokens:,} tokens are shared."]
    if saved > 0:
        sentences.append(
            f"The second prompt takes {longest.reused:.0f} ms instead of {longest.full:.0f} ms, "
            f"{100 * share:.0f} % less."
        )
        sentences.append(
            f"Were it the system prompt of {CLASS} visitors, each but the first would be spared "
            f"that: {(CLASS - 1) * saved / 1e3:.1f} s together (computed)."
        )
    else:
        sentences.append(
            f"Reuse saves no time here: {longest.reused:.0f} ms against {longest.full:.0f} ms."
        )
    difference = max(one.largest_difference for one in result.lengths)
    if difference == 0:
        sentences.append("All logits are equal to the last bit.")
    else:
        same = all(one.same_top for one in result.lengths)
        token = "the same" if same else "another one at some length"
        sentences.append(
            f"Logits differ by up to {difference:.2g}, and the likeliest token is {token}. "
            f"{ROUNDING}"
        )
    return " ".join(sentences)


def _table(result: PrefixResult) -> Table:
    rows = [
        (
            f"{one.shared:,} of {one.tokens:,}",
            round(one.full, 1),
            round(p95(one.full_ms), 1),
            round(one.reused, 1),
            round(p95(one.reused_ms), 1),
            round(one.full - one.reused, 1),
            round(one.full / one.reused, 2) if one.reused else None,
            f"{one.full_passes:,}, {one.reused_passes:,}",
            f"{one.largest_difference:.2g}",
            "yes" if one.same_top else "no",
            len(one.full_ms),
        )
        for one in result.lengths
    ]
    head = (
        "shared tokens",
        "full, median ms",
        "p95",
        "reused, median ms",
        "p95 ",
        "saved, ms",
        "times as fast",
        "passes: full, reused",
        "logits differ by",
        "same likeliest token",
        "repeats",
    )
    return Table("Prefix reuse", head, rows)


def _repeats(result: PrefixResult) -> Table:
    rows = [
        (one.shared, repeat, full, reused)
        for one in result.lengths
        for repeat, (full, reused) in enumerate(
            zip(one.full_ms, one.reused_ms, strict=True), start=1
        )
    ]
    return Table("Repeats", ("shared tokens", "repeat", "full, ms", "reused, ms"), rows)


SECTION = Section(
    key="prefix",
    name="Prefix reuse",
    about="A second prompt with the same beginning reads only what is new. Notice that its time "
    "hardly grows with what is shared.",
    inputs=PrefixInputs,
    result=PrefixResult,
    fields=_fields,
    picture=_picture,
    notice=_notice,
    tables=lambda result: (_table(result), _repeats(result)),
    begin=_begin,
    seconds=_seconds,
)
