"""Generating many samples per column in the background, and their figures."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import pandas as pd
from msgspec import Meta, Struct

from engine.decoding import STEP_RECORD, Batch, BatchText, Row
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.study import Summary, TextMetrics, summary, text_metrics
from engine.values import Name, Number, Whole
from ui.jobs import Job
from ui.shell.csv_file import spreadsheet_csv
from ui.texts.limits import LONGEST_PROMPT, MOST_SAMPLES, MOST_TOKENS, checked_whole
from ui.texts.texts import Messages
from ui.visits.records import BrokenRecord
from ui.words.language import marked, say

MOST_COLUMNS = 6
LONGEST_TEXT = 50_000  # characters of a sample in a record
MAX_ROWS = 32  # in one forward pass, during which other visitors' steps wait
SAMPLES = marked("Samples per setting")  # label of the field for their number


@dataclasses.dataclass(frozen=True)
class Sample:
    """One finished text of a column.

    Attributes:
        column: number of the column.
        text: the text, with settings, records and stop reason.
        metrics: its metrics.
    """

    column: int
    text: BatchText
    metrics: TextMetrics


MEASURES = tuple(item.name for item in dataclasses.fields(TextMetrics))
FIGURES = len(MEASURES)


class SamplingRun(Job):
    """Generates samples of several settings.

    The k-th text of every column has the same seed, so columns differ by their settings, not by
    luck.

    Args:
        models: the model of each column, by its number.
        prompts: text or token ids, by model.
        columns: number, English title and settings of each column.
        count: texts per column.
        first_seed: seed of the first text of each column; the others follow.
        max_tokens: maximum number of tokens per text.
        prompt_text: the prompt as readable text.
        chat: whether the prompt went through the chat template.

    Attributes:
        columns, prompt_text, chat: as given.
        model_names: names of the columns' models, in their order.

    Raises:
        DecodingError: the count is out of range, or settings or a prompt do not fit.
    """

    doing = marked("the samples")

    def __init__(
        self,
        models: Mapping[int, LanguageModel],
        prompts: Mapping[LanguageModel, str | Sequence[int]],
        columns: Sequence[tuple[int, str, SamplingSettings]],
        *,
        count: float | None,
        first_seed: int,
        max_tokens: int,
        prompt_text: str = "",
        chat: bool = False,
        before: Messages = (),
    ) -> None:
        per_column = checked_whole(say(SAMPLES), count, 1, MOST_SAMPLES)
        super().__init__(per_column * len(columns))
        self.columns = tuple(columns)
        self.prompt_text, self.chat, self.before = prompt_text, chat, before
        self.model_names = tuple(models[number].name for number, _, _ in columns)
        rows: dict[LanguageModel, list[Row]] = {}
        places: list[tuple[LanguageModel, int, int]] = []
        # Seed by seed, so that every column of a model soon has its first text.
        for seed in range(first_seed, first_seed + per_column):
            for number, _, settings in columns:
                together = rows.setdefault(models[number], [])
                places.append((models[number], len(together), number))
                start = prompts[models[number]]
                together.append(Row(start, settings.replace(seed=seed), max_tokens))
        batches = {model: Batch(model, each, max_rows=MAX_ROWS) for model, each in rows.items()}
        self._batches: tuple[Batch, ...] = tuple(batches.values())
        # Each text's batch, its row in that, and its column.
        self._texts = [(batches[model], row, number) for model, row, number in places]
        self._samples: dict[int, Sample] = {}
        self._done = 0
        self._summaries: tuple[int, dict[int, Summary]] = (0, {})
        self._csv: tuple[int, bytes] = (0, b"")

    def _passes(self) -> Iterator[float | None]:
        done = 0
        for batch in self._batches:
            is_last = batch is self._batches[-1]
            for progress in batch.run(self._cancel):
                self._done = done + progress.rows_done
                yield progress.seconds_left if is_last else None
            done = self._done

    @property
    def is_done(self) -> bool:
        """True if every text has ended."""
        return all(batch.is_done for batch in self._batches)

    @property
    def texts_done(self) -> int:
        """Number of finished texts."""
        return self._done

    @property
    def version(self) -> int:
        """Number of usable finished texts: results computed from them are valid until it grows."""
        return len(self.samples())

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences about unusual events during generation."""
        return tuple(dict.fromkeys(each for batch in self._batches for each in batch.notices))

    def record(self) -> dict[str, Any]:
        """Return the finished texts and their metrics as plain values."""
        return {
            "prompt_text": self.prompt_text,
            "chat": self.chat,
            "before": list(self.before),
            "columns": [[number, title, s.to_dict()] for number, title, s in self.columns],
            "models": list(self.model_names),
            "notices": list(self.notices),
            "samples": [
                [
                    sample.column,
                    sample.text.settings.seed,
                    sample.text.text,
                    sample.text.stop_reason,
                    [_finite(getattr(sample.metrics, name)) for name in MEASURES],
                    sample.text.token_ids,
                ]
                for sample in self.samples()
            ],
        }

    def samples(self, column: int | None = None) -> list[Sample]:
        """Return the finished texts of one column or of all, in the order of their seeds."""
        for index, (batch, row, number) in enumerate(self._texts):
            if index not in self._samples and batch.has_ended(row):
                text = batch.text(row)
                self._samples[index] = Sample(number, text, text_metrics(text.records))
        found = [self._samples[index] for index in sorted(self._samples)]
        return [
            sample
            for sample in found
            if sample.text.error is None and column in (None, sample.column)
        ]

    def summaries(self) -> dict[int, Summary]:
        """Sum up the finished texts of each column; columns without one are left out."""
        version = self.version
        if self._summaries[0] != version:  # cached, as self-BLEU compares every pair of texts
            self._summaries = version, self._summed_up()
        return self._summaries[1]

    def _summed_up(self) -> dict[int, Summary]:
        found = {}
        for number, _, _ in self.columns:
            samples = self.samples(number)
            if samples:
                found[number] = summary(
                    [sample.text.token_ids for sample in samples],
                    [sample.metrics for sample in samples],
                )
        return found

    def csv(self) -> bytes:
        """Return the table of `frame` as a CSV file for spreadsheets."""
        version = self.version
        if not self._csv[1] or self._csv[0] != version:
            self._csv = version, spreadsheet_csv(self.frame())
        return self._csv[1]

    def frame(self) -> pd.DataFrame:
        """Return one row per finished text, with everything needed to reproduce it."""
        named = zip(self.columns, self.model_names, strict=True)
        about = {number: (title, model) for (number, title, _), model in named}
        return pd.DataFrame(
            [
                {
                    "column": sample.column,
                    "name": about[sample.column][0],
                    "seed": sample.text.settings.seed,
                    "text": sample.text.text,
                    "stop_reason": sample.text.stop_reason,
                    **dataclasses.asdict(sample.metrics),
                    "settings": json.dumps(sample.text.settings.to_dict()),
                    "model": about[sample.column][1],
                    "prompt": self.prompt_text,
                    "chat_template": self.chat,
                    "messages_before": json.dumps(self.before) if self.before else "",
                }
                for sample in self.samples()
            ]
        )


class _KeptSample(Struct, array_like=True, forbid_unknown_fields=True):
    column: Whole
    seed: Whole
    text: Annotated[str, Meta(max_length=LONGEST_TEXT)]
    stop_reason: Name | None
    figures: Annotated[list[Number | None], Meta(min_length=FIGURES, max_length=FIGURES)]
    ids: Annotated[list[Annotated[int, Meta(ge=0, lt=2**31)]], Meta(max_length=MOST_TOKENS)]


class SamplesRecord(Struct):
    """The record of a `SamplingRun`."""

    prompt_text: Annotated[str, Meta(max_length=LONGEST_PROMPT)]
    chat: bool
    columns: Annotated[list[tuple[Whole, Name, dict[str, Any]]], Meta(max_length=MOST_COLUMNS)]
    notices: Annotated[list[Name], Meta(max_length=100)]
    samples: Annotated[list[_KeptSample], Meta(max_length=MOST_SAMPLES * MOST_COLUMNS)]
    models: Annotated[list[Name], Meta(max_length=MOST_COLUMNS)] = []
    before: Messages = ()


class KeptSamples(SamplingRun):
    """Finished samples from a record.

    Args:
        data: parsed data from `SamplingRun.record`.
        model: the model that generated them.

    Raises:
        BrokenRecord: the record is inconsistent.
        DecodingError: a setting is no longer valid.
    """

    is_done = True
    texts_done = notices = None  # set below

    def __init__(self, data: SamplesRecord, model: LanguageModel) -> None:
        Job.__init__(self, len(data.samples))
        self.texts_done, self.notices = self.count, tuple(data.notices)
        self.columns = tuple(
            (number, title, SamplingSettings.from_dict(settings))
            for number, title, settings in data.columns
        )
        self.prompt_text, self.chat, self.before = data.prompt_text, data.chat, data.before
        self.model_names = tuple(data.models) or (model.name,) * len(self.columns)
        if len(self.model_names) != len(self.columns):
            raise BrokenRecord("It has more or fewer models than columns.")
        settings = {number: settings for number, _, settings in self.columns}
        self._batches, self._texts = (), []
        self._samples = {
            place: _sample(sample, settings) for place, sample in enumerate(data.samples)
        }
        self._summaries = (0, {})
        self._csv = (0, b"")


def _sample(data: _KeptSample, settings: dict[int, SamplingSettings]) -> Sample:
    if data.column not in settings:
        raise BrokenRecord("One of its samples is of no column.")
    records = np.zeros(len(data.ids), STEP_RECORD)
    records["token_id"] = data.ids
    figures = (math.nan if value is None else value for value in data.figures)
    measured = dict(zip(MEASURES, figures, strict=True))
    text = BatchText(
        (),
        settings[data.column].replace(seed=data.seed),
        data.text,
        data.stop_reason,
        None,
        None,
        records,
    )
    return Sample(data.column, text, TextMetrics(**measured))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
