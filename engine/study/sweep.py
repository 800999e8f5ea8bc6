"""Sweep over one or two settings, with several seeds and prompts: texts, metrics, a heatmap.

    >>> sweep = Sweep(
    ...     base=SamplingSettings(),
    ...     x=Axis("temperature", [0.5, 1.0, 1.5]),
    ...     y=Axis("top_p", [0.8, 0.9, 1.0]),
    ...     prompts=["Once upon a time"],
    ...     seeds=range(4),
    ... )
    >>> run = sweep.run(model)
    >>> for progress in run:
    ...     print(progress.texts_done, progress.seconds_left)
    >>> run.result().pivot("distinct_2")

Every cell uses the same seeds, and the n-th token of a seed is drawn with the same uniform number
in every cell ("same u"). So neighbouring cells differ by their settings rather than by luck. Such
common random numbers make differences between cells less noisy than independent draws would.
"""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, product
from numbers import Real
from os import PathLike

import numpy as np
import pandas as pd

from engine.checks import at_least_one
from engine.decoding.batch import MOST_ROWS, Batch, Row
from engine.errors import PromptError, SettingError, msg
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.study import metrics
from engine.text import stopping

MOST_TEXTS = 20_000
_NO_AXES = ("chain", "seed", "parity")  # arguments of SamplingSettings that are not stages


@dataclass(frozen=True)
class Axis:
    """One setting and the values it takes.

    Attributes:
        setting: keyword of a stage (``"top_p"``). For a stage with several fields, a field of a
            stage in the base settings (``"top_p.p"``).
        values: distinct numbers, in the order of display. A stage's off value leaves the
            stage out.

    Raises:
        SettingError: no values, a value that is not a number, or a duplicate.
    """

    setting: str
    values: Sequence[float]

    def __post_init__(self) -> None:
        if not isinstance(self.setting, str) or self.setting in _NO_AXES or not self.setting:
            remedy = msg("use the keyword of a stage, such as temperature or top_p")
            raise SettingError("axis", self.setting, "is not a setting to sweep over", remedy)
        name = msg("axis {setting}", self.setting)
        remedy = msg("give each value once, for example [0.5, 1.0]")
        values = _bounded(name, self.values)
        if not values:
            raise SettingError(name, [], "has no values", remedy)
        for value in values:
            if not isinstance(value, Real) or isinstance(value, bool):
                raise SettingError(name, value, "must contain numbers", remedy)
        values = tuple(v.item() if isinstance(v, np.generic) else v for v in values)
        if len(set(values)) < len(values):
            twice = next(value for value in values if values.count(value) > 1)
            raise SettingError(name, twice, "contains a value twice", remedy)
        object.__setattr__(self, "values", values)

    def applied(self, settings: SamplingSettings, value: float) -> SamplingSettings:
        """Return `settings` with this axis at `value`.

        Raises:
            SettingError: the value is out of range, or there is no such setting. It names the
                setting, which identifies the axis, as the two axes never share one.
        """
        stage_name, _, field_name = self.setting.partition(".")
        if not field_name:
            return settings.replace(**{stage_name: value})
        return settings.replace(chain=self._with_field(settings, stage_name, field_name, value))

    def _with_field(
        self, settings: SamplingSettings, stage_name: str, field_name: str, value: float
    ) -> list:
        chain = list(settings.chain)
        place = next((i for i, stage in enumerate(chain) if stage.setting == stage_name), None)
        if place is None:
            known = ", ".join(stage.setting for stage in chain) or "none"
            remedy = msg("switch the stage on in the base settings; already on: {known}", known)
            raise SettingError(stage_name, field_name, "is a stage that is off", remedy)
        names = [item.name for item in dataclasses.fields(chain[place])]
        if field_name not in names:
            remedy = msg("use one of {names}", ", ".join(names))
            raise SettingError(stage_name, field_name, "has no such field", remedy)
        chain[place] = dataclasses.replace(chain[place], **{field_name: value})
        return chain


@dataclass(frozen=True)
class Cell:
    """One point of the grid.

    Attributes:
        x, y: the values of the axes; `y` is None if there is only one axis.
        settings: the base settings with these values; each text replaces the seed with its own.
    """

    x: float
    y: float | None
    settings: SamplingSettings


@dataclass(frozen=True)
class Sweep:
    """A grid of settings to try: cells times seeds times prompts.

    Attributes:
        base: settings for everything that no axis changes. Its seed is not used and becomes 0, so
            that equal sweeps compare equal.
        x, y: the axes; `y` may be None.
        prompts: texts, or lists of token ids.
        seeds: one text per seed, cell and prompt; the same seeds in every cell.
        max_tokens: maximum number of tokens per text.
        stop_strings: strings that end generation.

    Raises:
        SettingError: a value that a stage refuses (setting and value are named), one setting on
            both axes, parity mode, or more than 20,000 texts. All cells' settings are made here,
            so none of these errors comes up during a run.
        PromptError: no prompt.
    """

    base: SamplingSettings
    x: Axis
    y: Axis | None = None
    prompts: Sequence[str | Sequence[int]] = ()
    seeds: Sequence[int] = (0, 1, 2, 3)
    max_tokens: int = 64
    stop_strings: tuple[str, ...] = ()
    cells: tuple[Cell, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.prompts, str):
            object.__setattr__(self, "prompts", (self.prompts,))
        for name in ("prompts", "seeds"):
            object.__setattr__(self, name, _bounded(name, getattr(self, name)))
        strings = stopping.checked_stop_strings(self.stop_strings)
        object.__setattr__(self, "stop_strings", strings)
        object.__setattr__(self, "max_tokens", at_least_one("max_tokens", self.max_tokens))
        stopping.checked_max_new_tokens(self.max_tokens)
        if not self.prompts:
            raise PromptError("The sweep has no prompt; give at least one.")
        for seed in self.seeds:
            self.base.replace(seed=seed)
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            remedy = msg("give each seed once, for example range(4)")
            raise SettingError("seeds", list(self.seeds), "must be different numbers", remedy)
        if None in self.seeds:
            remedy = msg("give numbers, so that every cell draws with the same seeds")
            raise SettingError("seeds", list(self.seeds), "must be chosen beforehand", remedy)
        if self.y is not None and self.y.setting == self.x.setting:
            remedy = msg("choose another setting for y, or leave y out")
            raise SettingError("axes", self.x.setting, "are the same setting", remedy)
        if self.base.parity:
            remedy = msg("switch parity off")
            raise SettingError("parity", True, "is not possible in a sweep", remedy)
        object.__setattr__(self, "base", self.base.replace(seed=0))
        self._check_count()
        object.__setattr__(self, "cells", tuple(self._cells()))

    def _check_count(self) -> None:
        if self.count <= MOST_TEXTS:
            return
        cells = msg(
            "{values:,} x {values2:,} cells",
            (len(self.x.values), len(self.y.values) if self.y else 1),
        )
        others = msg("{seeds:,} seeds or {prompts:,} prompts", (len(self.seeds), len(self.prompts)))
        problem = msg("has more than {most_texts:,} texts", MOST_TEXTS)
        raise SettingError(
            "sweep", self.count, problem, msg("use fewer than {cells}, {others}", (cells, others))
        )

    def _cells(self) -> Iterator[Cell]:
        for x in self.x.values:
            with_x = self.x.applied(self.base, x)
            if self.y is None:
                yield Cell(x, None, with_x)
                continue
            for y in self.y.values:
                yield Cell(x, y, self.y.applied(with_x, y))

    @property
    def count(self) -> int:
        """Number of texts in the sweep."""
        cells = len(self.x.values) * (len(self.y.values) if self.y else 1)
        return cells * len(self.seeds) * len(self.prompts)

    def run(
        self,
        model: LanguageModel,
        *,
        cancel: threading.Event | None = None,
        max_rows: int = MOST_ROWS,
        done: SweepResult | None = None,
    ) -> SweepRun:
        """Return a run: an iterator over `SweepProgress` that has the result so far at any time.

        Args:
            model: the model.
            cancel: ends the run between two tokens once set; closing the iterator does so too.
            max_rows: maximum number of texts that run together.
            done: result of an earlier run of this sweep; its finished texts are reused.

        Raises:
            PromptError, TokenizerError, SettingError: a part of the sweep does not fit this model;
                raised before anything runs.
        """
        return SweepRun(self, model, cancel, max_rows, done)


@dataclass(frozen=True)
class SweepProgress:
    """Progress of a sweep.

    Attributes:
        texts_done, texts: number of texts that have ended, and of all texts.
        tokens_done: tokens generated so far.
        seconds: wall time so far.
        seconds_left: an estimate of the rest (see `engine.decoding.batch.Progress`); None before
            the first token.
    """

    texts_done: int
    texts: int
    tokens_done: int
    seconds: float
    seconds_left: float | None


class SweepRun:
    """A running sweep: iterate over it, and call `result` in between or afterwards.

    After a cancel, iterating again continues where it stopped.
    """

    def __init__(
        self,
        sweep: Sweep,
        model: LanguageModel,
        cancel: threading.Event | None,
        max_rows: int,
        done: SweepResult | None = None,
    ) -> None:
        self.sweep = sweep
        self._cancel = cancel
        self._seconds = done.seconds if done else 0.0
        self._notices = done.notices if done else ()
        # Seeds vary more slowly than cells, so that every cell soon has its first text.
        self._places = [
            (prompt, seed, cell)
            for prompt, seed, cell in product(
                range(len(sweep.prompts)), range(len(sweep.seeds)), range(len(sweep.cells))
            )
        ]
        settings = [
            [cell.settings.replace(seed=seed) for cell in sweep.cells] for seed in sweep.seeds
        ]
        self._taken = _ended_texts(done) if done else {}
        left = [place for place in self._places if place not in self._taken]
        self._row_of = {place: row for row, place in enumerate(left)}
        rows = [
            Row(sweep.prompts[prompt], settings[seed][cell], sweep.max_tokens)
            for prompt, seed, cell in left
        ]
        self._batch = Batch(model, rows, stop_strings=sweep.stop_strings, max_rows=max_rows)
        self._measured: dict[int, metrics.TextMetrics] = {}

    def __iter__(self) -> Iterator[SweepProgress]:
        before, taken = self._seconds, len(self._taken)
        for done in self._batch.run(self._cancel):
            self._seconds = before + done.seconds
            rows_done, rows = done.rows_done + taken, done.rows + taken
            yield SweepProgress(rows_done, rows, done.tokens_done, self._seconds, done.seconds_left)

    @property
    def is_done(self) -> bool:
        """True once every text has ended."""
        return self._batch.is_done

    def result(self) -> SweepResult:
        """Return the texts so far, including unfinished ones (`ended` is False for them)."""
        rows, token_ids = [], []
        for place in self._places:
            if place in self._taken:
                row, ids = self._taken[place]
                rows.append(row)
                token_ids.append(ids)
                continue
            prompt, seed, cell_index = place
            index = self._row_of[place]
            text = self._batch.text(index)
            if not text.records.size and text.error is None:
                continue
            measured = self._measured.get(index)
            if measured is None:
                measured = metrics.text_metrics(text.records)
                if text.has_ended:
                    self._measured[index] = measured
            cell = self.sweep.cells[cell_index]
            rows.append(
                {
                    "x": cell.x,
                    "y": cell.y,
                    "prompt": prompt,
                    "seed": self.sweep.seeds[seed],
                    "text": text.text,
                    "ended": text.has_ended and text.error is None,
                    "stop_reason": text.stop_reason,
                    "error": text.error and text.error.message,
                    **dataclasses.asdict(measured),
                }
            )
            token_ids.append(tuple(text.token_ids))
        frame = frame_of(rows)
        notices = tuple(dict.fromkeys([*self._notices, *self._batch.notices]))
        return SweepResult(
            self.sweep, frame, tuple(token_ids), notices, self._seconds, self.is_done
        )


def _ended_texts(
    done: SweepResult,
) -> dict[tuple[int, int, int], tuple[dict[str, object], tuple[int, ...]]]:
    """Map (prompt, seed index, cell index) to the row and token ids of every finished text."""
    sweep = done.sweep
    seeds = {seed: place for place, seed in enumerate(sweep.seeds)}
    cells = {(cell.x, cell.y): place for place, cell in enumerate(sweep.cells)}
    found = {}
    rows = done.texts.to_dict("records")
    for row, ids in zip(rows, done.token_ids, strict=True):
        y = None if math.isnan(row["y"]) else row["y"]
        if row["ended"] or isinstance(row["error"], str):  # the others continue
            found[row["prompt"], seeds[row["seed"]], cells[row["x"], y]] = row, ids
    return found


def frame_of(rows: list[dict[str, object]]) -> pd.DataFrame:
    """Return the rows as a table of `COLUMNS`, in which errors are still of type `Message`."""
    frame = pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)
    errors = [row["error"] for row in rows]
    if any(isinstance(error, str) for error in errors):  # a column of type "str" has plain strings
        frame["error"] = pd.Series(errors, dtype=object)
    return frame


COLUMNS = {
    "x": "float64",
    "y": "float64",
    "prompt": "int64",
    "seed": "int64",
    "text": "str",
    "ended": "bool",
    "stop_reason": "str",
    "error": "str",
    **{
        item.name: "int64" if item.type == "int" else "float64" for item in metrics.FIELDS
    },  # annotations are text
}


@dataclass(frozen=True)
class SweepResult:
    """Result of a sweep, whole or in part.

    Attributes:
        sweep: the sweep that was run.
        texts: one row per started text: ``x``, ``y`` (NaN with one axis), ``prompt`` (index),
            ``seed``, ``text``, ``ended``, ``stop_reason``, ``error``, and every field of
            `engine.study.metrics.TextMetrics`.
        token_ids: generated ids of each of these rows.
        notices: deviations from one batch per prompt, and failures.
        seconds: wall time.
        is_complete: whether every text has ended.
    """

    sweep: Sweep
    texts: pd.DataFrame
    token_ids: tuple[tuple[int, ...], ...]
    notices: tuple[str, ...]
    seconds: float
    is_complete: bool

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per cell with a finished text: ``x``, ``y``, ``texts`` (how many), the means.

        Every field of `TextMetrics` has its mean and, as ``<name>_sd``, its standard deviation over
        the cell's texts. ``mean_logprob`` and ``perplexity`` cover all its tokens together, so long
        texts count for more. ``looped`` is the share that ended in a loop. ``sample_distinct_1`` to
        ``_3`` and ``self_bleu`` are computed over the texts of one prompt together, then averaged
        over the prompts. Unfinished texts are left out, because their lengths only show when the
        sweep was cancelled.
        """
        ended = self.texts[self.texts["ended"]]
        cell = ended.groupby(["x", "y"], dropna=False, sort=False).ngroup().rename("cell")
        grouped = ended.groupby(cell)
        names = list(metrics.METRICS)
        means = grouped[names].mean()
        totals = grouped[["logprob", "length"]].sum()
        means["mean_logprob"] = totals["logprob"] / totals["length"]
        means["perplexity"] = np.exp(-means["mean_logprob"])
        parts = [
            grouped[["x", "y"]].first(),
            grouped.size().rename("texts"),
            means,
            grouped[names].std().add_suffix("_sd"),
            (ended["loop_tokens"] > 0).groupby(cell).mean().rename("looped"),
            self._samples(ended, cell).groupby("cell").mean(),
        ]
        return pd.concat(parts, axis=1).reset_index(drop=True)

    def _samples(self, ended: pd.DataFrame, cell: pd.Series) -> pd.DataFrame:
        """Return the joint metrics of the texts of each cell and prompt."""
        rows = []
        for (number, _), places in ended.groupby([cell, "prompt"]).groups.items():
            ids = [self.token_ids[place] for place in places]
            row = {f"sample_distinct_{n}": metrics.distinct_n(ids, n) for n in (1, 2, 3)}
            rows.append({"cell": number} | row | {"self_bleu": metrics.self_bleu(ids)})
        columns = ["cell", *(f"sample_distinct_{n}" for n in (1, 2, 3)), "self_bleu"]
        return pd.DataFrame(rows, columns=columns)

    def pivot(self, metric: str) -> pd.DataFrame:
        """Return a heatmap's values, y down and x across, in the axes' order; NaN if missing.

        Raises:
            SettingError: no such column in `cells`.
        """
        if metric not in self.cells:
            known = [name for name in self.cells if name not in ("x", "y")]
            raise SettingError(
                "metric", metric, "is unknown", msg("use one of {known}", ", ".join(known))
            )
        y_values = [math.nan] if self.sweep.y is None else list(self.sweep.y.values)
        x_values = list(self.sweep.x.values)
        values = np.full((len(y_values), len(x_values)), np.nan)
        for x, y, value in zip(self.cells["x"], self.cells["y"], self.cells[metric], strict=True):
            row = 0 if self.sweep.y is None else y_values.index(y)
            values[row, x_values.index(x)] = value
        index = pd.Index(y_values, name=self.sweep.y.setting if self.sweep.y else "")
        return pd.DataFrame(values, index, pd.Index(x_values, name=self.sweep.x.setting))

    def pareto(self, *names: str) -> pd.DataFrame:
        """Return the cells on the Pareto front; see `engine.study.metrics.pareto_front`.

        Args:
            names: columns of `cells` that should be large, or small with a minus in front
                (``"-seq_rep_4"``).
        """
        return self.cells[metrics.pareto_front(self.oriented(*names))]

    def oriented(self, *names: str) -> np.ndarray:
        """Return columns of `cells`, signed so that more is better: (cells, names) float64.

        Args:
            names: as for `pareto`.
        """
        columns = [
            -self.cells[name[1:]] if name.startswith("-") else self.cells[name] for name in names
        ]
        return np.stack(columns, axis=1).astype(np.float64)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write `texts` as a CSV file."""
        self.texts.to_csv(path, index=False, lineterminator="\r\n")  # else a lone \r is not quoted

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write `texts` as a Parquet file."""
        self.texts.to_parquet(path, index=False)


def _bounded(name: str, values: Iterable) -> tuple:
    """Return the values as a tuple; refuses more than any sweep allows before they fill memory."""
    try:
        taken = tuple(islice(values, MOST_TEXTS + 1))
    except TypeError:
        raise SettingError(name, values, "must be a list", "give a list of values") from None
    if len(taken) > MOST_TEXTS:
        remedy = msg("use at most {most_texts:,} texts in all", MOST_TEXTS)
        raise SettingError(
            name, msg("more than {most_texts:,}", MOST_TEXTS), "are too many", remedy
        )
    return taken
