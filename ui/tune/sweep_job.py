"""A sweep in the background, which sums up its results without blocking the page.

Every visitor who opens the page sees the same sweep, so it runs only once (`opening_sweep`).
Sweeps that visitors start themselves are private.
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Self

from msgspec import Meta, Struct

from engine.errors import Message
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.study import METRICS, MOST_TEXTS, Axis, Sweep, SweepProgress, SweepResult, frame_of
from engine.values import Amount, Name, Number, Whole
from ui.jobs import UNKNOWN, Job, Owner
from ui.texts.limits import LONGEST_PROMPT, MOST_TOKENS
from ui.texts.texts import Messages
from ui.visits.records import BrokenRecord, read
from ui.words.language import is_translated, marked

_LONGEST_TEXT = 50_000  # characters of one generated text

FIGURES = len(METRICS)
Prompt = Annotated[str, Meta(max_length=LONGEST_PROMPT)]
Sentence = Annotated[str, Meta(max_length=2000)]
Ids = Annotated[tuple[Whole, ...], Meta(max_length=10 * LONGEST_PROMPT)]


def sweep_record(sweep: Sweep, result: SweepResult) -> dict[str, Any]:
    """Return the sweep and its finished texts as plain values."""
    cells = {(cell.x, cell.y): place for place, cell in enumerate(sweep.cells)}
    texts = []
    for row, ids in zip(result.texts.to_dict("records"), result.token_ids, strict=True):
        error = _recorded(row["error"]) if isinstance(row["error"], str) else None
        if not row["ended"] and error is None:
            continue
        y = None if math.isnan(row["y"]) else row["y"]
        stop = row["stop_reason"] if isinstance(row["stop_reason"], str) else None
        figures = [_finite(row[name]) for name in METRICS]
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
    """The record of a sweep, as `sweep_record` returns it."""

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
    """Restore a sweep and its finished texts from a record; the inverse of `sweep_record`.

    Raises:
        BrokenRecord: the record is inconsistent.
        DecodingError: a value is no longer valid.
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
            for name, value in zip(METRICS, text.figures, strict=True)
        },
    }


def _recorded(said: object) -> Any:
    """Return a message as its template and recorded values; anything else as a plain value."""
    if isinstance(said, Message) and is_translated(said.template):
        return [said.template, *map(_recorded, said.values.values())]
    return said if isinstance(said, str | int) else float(said)


def _message(record: Any, depth: int = 5) -> Any:
    """Restore a message from `_recorded`; raises `BrokenRecord` for an unknown template."""
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


MAX_ROWS = 32  # in one batch, of which Cancel loses at most one token each
SUM_UP_SECONDS = 2.0  # minimum time between two summaries

_speeds: weakref.WeakKeyDictionary[LanguageModel, float] = weakref.WeakKeyDictionary()


def tokens_per_second(model: LanguageModel) -> float | None:
    """Return the model's speed in its last sweep; None before the first."""
    return _speeds.get(model)


class SweepJob(Job):
    """Runs one sweep.

    The generating thread also sums up the results, for at most a tenth of its time. So a page that
    asks for the result never waits.

    Args:
        sweep: the sweep to run.
        model: the model.
        prompts: the prompts as their author wrote them; the sweep may contain their token ids.
        chat, before: whether the prompts went through the chat template, and the messages before
            each of them.
        result: earlier results of the same sweep, partial or complete.

    Attributes:
        sweep, model, prompts, chat, before: as given.
        result: texts and metrics so far; None before the first text starts.
        version: number of times that `result` was replaced.

    Raises:
        PromptError, TokenizerError, SettingError: an input does not fit this model.
    """

    doing = marked("the sweep")

    def __init__(
        self,
        sweep: Sweep,
        model: LanguageModel,
        prompts: Sequence[str],
        *,
        chat: bool = False,
        before: Messages = (),
        result: SweepResult | None = None,
    ) -> None:
        super().__init__(sweep.count)
        self.sweep = sweep
        self.model = model
        self.prompts = tuple(prompts)
        self.chat, self.before = chat, before
        self.version = 0
        self.result = result
        self._progress: SweepProgress | None = None
        self._run = None
        if result is None or not result.is_complete:
            self._run = sweep.run(model, cancel=self._cancel, max_rows=MAX_ROWS, done=result)

    def _passes(self) -> Iterator[float | None]:
        first = last = None
        next_sum, summed = 0.0, -1
        for last in self._run:
            first = first or last
            self._progress = last
            now = time.monotonic()
            if last.texts_done != summed and now >= next_sum:
                self._sum_up()
                summed, spent = last.texts_done, time.monotonic() - now
                next_sum = now + max(SUM_UP_SECONDS, 10 * spent)
            yield last.seconds_left
        if last is not None and last.tokens_done > first.tokens_done:
            _speeds[self.model] = (last.tokens_done - first.tokens_done) / max(self.worked, 1e-9)

    def _finish(self) -> None:
        self._sum_up()

    def left_by(self, owner: Owner) -> SweepJob:
        """End the sweep for a visitor, and return the job that this visitor keeps."""
        self.cancel()
        return self

    def _sum_up(self) -> None:
        result = self._run.result()
        _ = result.cells  # cached here, so that the thread that draws the page need not compute it
        self.result = result
        self.version += 1

    @property
    def is_done(self) -> bool:
        """True if every text has ended."""
        return self._run is None or self._run.is_done

    @property
    def texts_done(self) -> int:
        """Number of finished texts."""
        if self._progress is not None:
            return self._progress.texts_done
        return 0 if self.result is None else int(self.result.texts["ended"].sum())


# --- the sweep with which the page opens ----------------------------------------------------------

_made: weakref.WeakKeyDictionary[LanguageModel, SweepResult] = weakref.WeakKeyDictionary()
_under_way: list[_ForAll] = []
_lock = threading.Lock()


class _ForAll(SweepJob):
    """A sweep shared by several visitors; it is cancelled when the last one leaves."""

    def __init__(self, *about: Any, **layout: Any) -> None:
        super().__init__(*about, **layout)
        self._owners: list[Owner] = []

    def start(self, owner: Owner = UNKNOWN) -> Self:
        """Add a visitor to those who wait for this sweep, and start it if it is not running."""
        with _lock:
            self._owners.append(owner)
        if self.is_cancelled:
            self.wait()  # until the current pass is over
        return super().start(replace(owner, is_there=self._is_anyone_there))

    def _is_anyone_there(self) -> bool:
        return any(owner.is_there() for owner in list(self._owners))

    def left_by(self, owner: Owner) -> SweepJob:
        """Return a visitor's own copy of the job; the sweep continues while others want it."""
        with _lock:
            if self not in _under_way:  # one visitor continues it alone
                self._owners.clear()
            elif owner in self._owners:
                self._owners.remove(owner)
            if self._owners and not self.is_done:
                layout = {"chat": self.chat, "before": self.before}
                return SweepJob(self.sweep, self.model, self.prompts, **layout, result=self.result)
        return super().left_by(owner)

    def _finish(self) -> None:
        try:
            super()._finish()
        finally:
            with _lock:
                if self in _under_way:
                    _under_way.remove(self)
                if self.result is not None and self.result.is_complete:
                    _made[self.model] = self.result


def opening_sweep(
    sweep: Sweep,
    model: LanguageModel,
    prompts: Sequence[str],
    *,
    chat: bool = False,
    before: Messages = (),
) -> SweepJob:
    """Return the job of the sweep that all visitors share: finished, in progress or new.

    Raises:
        PromptError, TokenizerError, SettingError: an input does not fit this model.
    """
    with _lock:
        made = _made.get(model)
        if made is not None and made.sweep == sweep:
            return SweepJob(sweep, model, prompts, chat=chat, before=before, result=made)
        for work in _under_way:
            same = work.model is model and (work.sweep, work.chat) == (sweep, chat)
            if same and not work.is_cancelled:
                return work
        work = _ForAll(sweep, model, prompts, chat=chat, before=before)
        _under_way.append(work)
        return work
