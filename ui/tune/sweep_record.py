"""A sweep as a record: what was asked for, and the texts that have ended with their figures."""

from __future__ import annotations

import math
from typing import Any

from engine.errors import Message
from engine.sampling import SamplingSettings
from engine.study.metrics import FIELDS
from engine.study.sweep import MOST_TEXTS, Axis, Sweep, SweepResult, frame_of
from ui.texts.limits import LONGEST_PROMPT, MOST_TOKENS
from ui.visits.records import BrokenRecord, Fields
from ui.words.language import is_translated

_MEASURES = tuple(item.name for item in FIELDS)
_LONGEST_TEXT = 50_000  # characters of one generated text


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


def sweep_of(data: Fields) -> tuple[Sweep, SweepResult]:
    """The sweep of a record and what there is of it; the inverse of `sweep_record`.

    Raises:
        BrokenRecord: another shape.
        DecodingError: a value that is refused today.
    """
    sweep = Sweep(
        base=SamplingSettings.from_dict(data.plain("base")),
        x=_axis(data, "x"),
        y=None if data.plain("y") is None else _axis(data, "y"),
        prompts=[_prompt(item) for item in data.items("prompts", 64)],
        seeds=tuple(data.wholes("seeds", MOST_TEXTS)),
        max_tokens=data.whole("max_tokens", 1, MOST_TOKENS),
        stop_strings=tuple(data.texts("stop_strings", 32)),
    )
    rows, token_ids = [], []
    for item in data.items("texts", MOST_TEXTS):
        row, ids = _text(item, sweep)
        rows.append(row)
        token_ids.append(ids)
    result = SweepResult(
        sweep,
        frame_of(rows),
        tuple(token_ids),
        tuple(_message(item) for item in data.items("notices", 100)),
        float(data.number("seconds")),
        is_complete=len(rows) == sweep.count,
    )
    return sweep, result


def _axis(data: Fields, name: str) -> Axis:
    pair = data.items(name, 2)
    if len(pair) != 2 or not isinstance(pair[0], str) or not isinstance(pair[1], list):
        raise BrokenRecord(f"Its axis {name} is none.")
    return Axis(pair[0], pair[1])


def _prompt(item: Any) -> str | tuple[int, ...]:
    if isinstance(item, str):
        return Fields({"prompt": item}).text("prompt", LONGEST_PROMPT)
    return tuple(Fields({"prompt": item}).wholes("prompt", 10 * LONGEST_PROMPT))


def _text(item: Any, sweep: Sweep) -> tuple[dict[str, Any], tuple[int, ...]]:
    if not isinstance(item, list) or len(item) != 9:
        raise BrokenRecord("One of its texts has another shape.")
    names = ("cell", "prompt", "seed", "text", "ended", "stop_reason", "error", "figures", "ids")
    data = Fields(dict(zip(names, item, strict=True)))
    cell = sweep.cells[data.whole("cell", 0, len(sweep.cells) - 1)]
    figures = data.items("figures", len(_MEASURES))
    if len(figures) != len(_MEASURES):
        raise BrokenRecord("One of its texts has other figures.")
    if data.whole("seed") not in sweep.seeds:
        raise BrokenRecord("One of its texts has a seed that the sweep has not.")
    row = {
        "x": cell.x,
        "y": cell.y,
        "prompt": data.whole("prompt", 0, len(sweep.prompts) - 1),
        "seed": data.whole("seed"),
        "text": data.text("text", _LONGEST_TEXT),
        "ended": data.truth("ended"),
        "stop_reason": None if data.plain("stop_reason") is None else data.text("stop_reason", 40),
        "error": None if data.plain("error") is None else _message(data.plain("error")),
        **{
            name: math.nan if value is None else Fields({name: value}).number(name)
            for name, value in zip(_MEASURES, figures, strict=True)
        },
    }
    return row, tuple(data.wholes("ids", MOST_TOKENS))


def _recorded(said: object) -> Any:
    """A message as its template and values, each of them likewise; all else as a plain value."""
    if isinstance(said, Message) and is_translated(said.template):
        return [said.template, *map(_recorded, said.values.values())]
    return said if isinstance(said, str | int) else float(said)


def _message(record: Any, depth: int = 5) -> Any:
    """The inverse of `_recorded`, of templates that are translated."""
    if not isinstance(record, list):
        return Fields({"text": record}).text("text", 2000) if depth == 5 else record
    template, *values = record or [""]
    if not depth or not isinstance(template, str) or not is_translated(template):
        raise BrokenRecord("One of its messages is unknown.")
    try:
        return Message(template, tuple(_message(value, depth - 1) for value in values))
    except (ValueError, TypeError) as error:
        raise BrokenRecord("One of its messages has other values.") from error


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
