"""Tables of the tokens page: tokens, stages, samples, prices."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

import pandas as pd

from engine.tokenizing import Stage, Token, TokenizedText
from ui.cache.prefill_and_decode.prices import Cost
from ui.measurements.section import Table
from ui.tokens.measures import MEASURES
from ui.tokens.message import shortened
from ui.tokens.samples import Sample, samples
from ui.tokens.state import Shown
from ui.words.labels import token_label, visible
from ui.words.language import marked, say

MOST_PARTS = 40  # parts of a stage that are shown
MOST_WORDS = 100  # words of a text that are shown
YOURS = marked("Your text")
_NAMES = {
    "text": marked("text"),
    "control tokens": marked("control tokens set apart"),
    "normalised": marked("normalised"),
    "pre-tokens": marked("pre-tokens"),
    "ids": marked("ids, with those added around the text"),
}

Cutter = Callable[[str, str], TokenizedText]  # tokenizes a text, given a tokenizer's key


def stage_rows(cut: TokenizedText) -> list[tuple[str, str, str]]:
    """Return each stage's name, the components that carry it out, and the text after it."""
    return [(say(_NAMES[stage.name]), _by(stage), _parts(stage)) for stage in cut.stages]


def _by(stage: Stage) -> str:
    if stage.by:
        return ", ".join(stage.by)
    return say("none: nothing changes") if stage.name == "normalised" else ""


def _parts(stage: Stage) -> str:
    shown = [str(part) if isinstance(part, int) else visible(part) for part in stage.parts]
    rest = len(shown) - MOST_PARTS
    more = [say("and {rest} more", rest=f"{rest:,}")] if rest > 0 else []
    return " | ".join(shown[:MOST_PARTS] + more)


def token_frame(shown: Shown) -> pd.DataFrame:
    """Return a row for every token of a text, for a file; positions count from 1."""
    rows = [_token_row(shown, place, token) for place, token in enumerate(shown.cut.tokens, 1)]
    columns = ("place", "id", "token", "bytes", "first character", "last character", "first byte")
    return pd.DataFrame(rows, columns=[*columns, "kind", "pre-token"])


def _token_row(shown: Shown, place: int, token: Token) -> tuple[str | int | None, ...]:
    has_place = token.end > token.start
    return (
        place,
        token.id,
        token_label(shown.tokenizer.label(token.id)),
        token.data.hex(" ").upper(),
        token.start + 1 if has_place else None,
        token.end if has_place else None,
        None if token.first_byte is None else token.first_byte + 1,
        kind(token),
        None if token.pre_token is None else token.pre_token + 1,
    )


def kind(token: Token) -> str:
    """Say where a token comes from."""
    if token.is_inserted:
        return say("put there by the tokenizer")
    if token.is_unknown:
        return say("unknown to the tokenizer")
    return say("control token") if token.is_special else say("text")


def figures(
    shown: Sequence[Shown], cut: Cutter, measure: str, text: str
) -> list[tuple[str, list[float | None]]]:
    """Compute one measure of the visitor's text and of every sample, for each tokenizer."""
    return [
        (say(one.name), [_figure(side, cut, measure, one) for side in shown])
        for one in _texts(text)
    ]


def sample_table(shown: Sequence[Shown], cut: Cutter, text: str) -> Table:
    """Return a table of all measures of the visitor's text and of every sample."""
    head = [say("text"), say("characters"), say("bytes")]
    head += [f"{say(measure.name)}, {one.name}" for one in shown for measure in MEASURES.values()]
    rows = [
        (
            say(one.name),
            len(one.text),
            len(one.text.encode()),
            *(_figure(side, cut, measure, one) for side in shown for measure in MEASURES),
        )
        for one in _texts(text)
    ]
    return Table(say("Samples"), head, rows)


def _texts(text: str) -> tuple[Sample, ...]:
    return (Sample(YOURS, text), *samples())


def _figure(shown: Shown, cut: Cutter, measure: str, sample: Sample) -> float | None:
    english = samples()[0]
    return MEASURES[measure].of(sample, cut(shown.key, sample.text), cut(shown.key, english.text))


def price_table(shown: Sequence[Shown], input_price: float, output_price: float) -> Table:
    """Return a table of the text's price by each tokenizer's count."""
    rows = [
        (
            one.name,
            len(one.cut.tokens),
            f"$ {len(one.cut.tokens) * input_price:,.2f}",
            f"$ {len(one.cut.tokens) * output_price:,.2f}",
        )
        for one in shown
    ]
    head = (
        say("counted by"),
        say("tokens"),
        say("a million texts as input"),
        say("a million texts as output"),
    )
    return Table(say("Price of such texts"), head, rows)


def time_table(cost: Cost) -> Table:
    """Return a table of a token's time on the page's model, with its price."""
    rows = [
        (say("an input token"), cost.input_ms, cost.input_price),
        (say("an output token"), cost.output_ms, cost.output_price),
        (say("output / input"), cost.time_ratio, cost.price_ratio),
    ]
    return Table(
        say("Time and price of a token"), ("", say("measured, ms"), say("$ per million")), rows
    )


def word_rows(shown: Sequence[Shown]) -> list[tuple[str, ...]]:
    """Return the words of the text with their numbers of tokens, largest first."""
    words = list(re.finditer(r"\S+", shown[0].cut.text))
    counts = [_tokens_of(one.cut, [word.span() for word in words]) for one in shown]
    order = sorted(range(len(words)), key=lambda place: -(counts[0][place] or 0))
    rows = (
        (shortened(words[place].group()), *(_whole(column[place]) for column in counts))
        for place in order
    )
    return list(dict.fromkeys(rows))[:MOST_WORDS]


def _tokens_of(cut: TokenizedText, spans: Sequence[tuple[int, int]]) -> list[int | None]:
    """Count the tokens that overlap each span of a text; None if unknown."""
    starts = sorted(token.start for token in cut.typed)
    ends = sorted(token.end for token in cut.typed)
    if not any(ends):
        return [None] * len(spans)
    return [bisect_left(starts, end) - bisect_right(ends, start) for start, end in spans]


def _whole(count: int | None) -> str:
    return "–" if count is None else f"{count:,}"
