"""A sweep as a record: what was asked for, and the texts that have ended with their figures."""

from __future__ import annotations

import math
from typing import Annotated, Any

from msgspec import Meta, Struct

from engine.errors import Message
from engine.sampling import SamplingSettings
from engine.study.metrics import FIELDS
from engine.study.sweep import MOST_TEXTS, Axis, Sweep, SweepResult, frame_of
from engine.values import Amount, Name, Number, Whole
from ui.texts.limits import LONGEST_PROMPT, MOST_TOKENS
from ui.visits.records import BrokenRecord, read
from ui.words.language import is_translated

_MEASURES = tuple(item.name for item in FIELDS)
_LONGEST_TEXT = 50_000  # characters of one generated text

FIGURES = len(_MEASURES)
Prompt = Annotated[str, Meta(max_length=LONGEST_PROMPT)]
Sentence = Annotated[str, Meta(max_length=2000)]
Ids = Annotated[tuple[Whole, ...], Meta(max_length=10 * LONGEST_PROMPT)]


def sweep_record(sweep: Sweep, result: SweepResult) -> dict[str, Any]:
    """The sweep and its ended texts, as plain values."""
    cells = {(cell.x, cell.y): place for place, cell in enumerate(sweep.cells)}
    texts = []
    for row, ids in zip(result.texts.to_dict("records"), result.token_ids, strict=True):
        error = _recorded(row["error"]) if isinstance(row["error"], str) else None
        if not row["ended"] and error is None:
            continue
        y = None if math.isnan(row["y"]) else row["y"]
        stop = row["stop_reason"] if isinstance(row["stop_reason"], str) else None
        figures = [_finite(row[name]) for name in _MEASURES]
        place = [cells[row["x"], y], row["prompt"], row["seed"]]
        texts.append([*place, row["text"], row["ended"], stop, error, figures, list(ids)])
    return {
        "base": sweep.base.to_dict(),
        "x": [sweep.x.setting, list(sweep.x.values)],
        "y": None if sweep.y is None else [sweep.y.setting, list(sweep.y.values)],
        "prompts": [p if isinstance(p, str) else list(p) for p in sweep.prompts],
        "seeds": list(sweep.seeds),
        "max_tokens": sweep.max_tokens,
        "stop_strings": list(sweep.stop_strings),
        "texts": texts,
        "notices": [_recorded(notice) for notice in result.notices],
        "seconds": result.seconds,
    }


class _Text(Struct, array_like=True, forbid_unknown_fields=True):
    cell: Whole
    prompt: Whole
    seed: Whole
    text: Annotated[str, Meta(max_length=_LONGEST_TEXT)]
    ended: bool
    stop_reason: Name | None
    error: Any
    figures: Annotated[tuple[Number | None, ...], Meta(min_length=FIGURES, max_length=FIGURES)]
    ids: Ids


class SweepRecord(Struct):
    """The record of a sweep, as `sweep_record` makes it."""

    base: dict[str, Any]
    x: tuple[str, list]
    y: tuple[str, list] | None
    prompts: Annotated[list[Prompt | Ids], Meta(max_length=64)]
    seeds: Annotated[tuple[Whole, ...], Meta(max_length=MOST_TEXTS)]
    max_tokens: Annotated[int, Meta(ge=1, le=MOST_TOKENS)]
    stop_strings: Annotated[tuple[Name, ...], Meta(max_length=32)]
    texts: Annotated[list[_Text], Meta(max_length=MOST_TEXTS)]
    notices: Annotated[list[Any], Meta(max_length=100)]
    seconds: Amount


def sweep_of(record: SweepRecord) -> tuple[Sweep, SweepResult]:
    """The sweep of a record and what there is of it; the inverse of `sweep_record`.

    Raises:
        BrokenRecord: another shape.
        DecodingError: a value that is refused today.
    """
    sweep = Sweep(
        base=SamplingSettings.from_dict(record.base),
        x=Axis(*record.x),
        y=None if record.y is None else Axis(*record.y),
        prompts=record.prompts,
        seeds=record.seeds,
        max_tokens=record.max_tokens,
        stop_strings=record.stop_strings,
    )
    result = SweepResult(
        sweep,
        frame_of([_row(text, sweep) for text in record.texts]),
        tuple(text.ids for text in record.texts),
        tuple(map(_message, record.notices)),
        record.seconds,
        is_complete=len(record.texts) == sweep.count,
    )
    return sweep, result


def _row(text: _Text, sweep: Sweep) -> dict[str, Any]:
    is_within = text.cell < len(sweep.cells) and text.prompt < len(sweep.prompts)
    if not is_within or text.seed not in sweep.seeds:
        raise BrokenRecord("One of its texts has a place that the sweep has not.")
    cell = sweep.cells[text.cell]
    return {
        "x": cell.x,
        "y": cell.y,
        "prompt": text.prompt,
        "seed": text.seed,
        "text": text.text,
        "ended": text.ended,
        "stop_reason": text.stop_reason,
        "error": None if text.error is None else _message(text.error),
        **{
            name: math.nan if value is None else value
            for name, value in zip(_MEASURES, text.figures, strict=True)
        },
    }


def _recorded(said: object) -> Any:
    """A message as its template and values, each of them likewise; all else as a plain value."""
    if isinstance(said, Message) and is_translated(said.template):
        return [said.template, *map(_recorded, said.values.values())]
    return said if isinstance(said, str | int) else float(said)


def _message(record: Any, depth: int = 5) -> Any:
    """The inverse of `_recorded`, of templates that are translated."""
    if not isinstance(record, list):
        return read(record, Sentence) if depth == 5 else record
    template, *values = record or [""]
    if not depth or not isinstance(template, str) or not is_translated(template):
        raise BrokenRecord("One of its messages is unknown.")
    try:
        return Message(template, tuple(_message(value, depth - 1) for value in values))
    except (ValueError, TypeError) as error:
        raise BrokenRecord("One of its messages has other values.") from error


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
