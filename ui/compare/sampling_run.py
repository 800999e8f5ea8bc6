"""Many texts per column in the background: what is there so far, and its figures."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence

import pandas as pd

from engine.batch import Batch, BatchText, Row
from engine.metrics import Summary, TextMetrics, summary, text_metrics
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.time_left import TimeLeft
from ui.shared.background import BackgroundWork
from ui.shared.limits import MOST_SAMPLES, checked_whole

MAX_ROWS = 32  # in one forward pass, for which other visitors' steps wait
SAMPLES = "Samples per setting"  # what the page calls their number


@dataclasses.dataclass(frozen=True)
class Sample:
    """One finished text of a column.

    Attributes:
        column: number of the column.
        text: the text, with settings, records and stop reason.
        metrics: what it measures.
    """

    column: int
    text: BatchText
    metrics: TextMetrics


class SamplingRun(BackgroundWork):
    """Samples of several settings.

    The k-th text of every column has the same seed, so columns differ by their settings rather than
    by luck.

    Args:
        model: the model.
        prompt: text or token ids.
        columns: number, title and settings of each.
        count: texts per column.
        first_seed: seed of the first text of each column; the others follow.
        max_tokens: most tokens of a text.
        prompt_text: the prompt for reading.

    Attributes:
        columns, prompt_text: as given.

    Raises:
        DecodingError: a count out of range, settings or a prompt that do not fit.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompt: str | Sequence[int],
        columns: Sequence[tuple[int, str, SamplingSettings]],
        *,
        count: float | None,
        first_seed: int,
        max_tokens: int,
        prompt_text: str = "",
    ) -> None:
        per_column = checked_whole(SAMPLES, count, 1, MOST_SAMPLES)
        super().__init__(per_column * len(columns))
        self.columns = tuple(columns)
        self.prompt_text = prompt_text
        rows, self._columns_of_rows = [], []
        # Every column soon has its first text.
        for seed in range(first_seed, first_seed + per_column):
            for number, _, settings in columns:
                rows.append(Row(prompt, settings.replace(seed=seed), max_tokens))
                self._columns_of_rows.append(number)
        self._batch = Batch(model, rows, max_rows=MAX_ROWS)
        self._time_left = TimeLeft(len(rows), max_tokens)
        self._samples: dict[int, Sample] = {}
        self._done = 0

    def _passes(self) -> Iterator[float | None]:
        for progress in self._time_left.watched(self._batch.run(self._cancel)):
            self._done = progress.rows_done
            yield self._time_left.seconds(max(1, self._batch.rows_per_pass))

    @property
    def is_done(self) -> bool:
        """Whether every text has ended."""
        return self._batch.is_done

    @property
    def texts_done(self) -> int:
        """Texts that have ended."""
        return self._done

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences on what went another way than usual."""
        return self._batch.notices

    def samples(self, column: int | None = None) -> list[Sample]:
        """The finished texts, in the order of their seeds; of one column or of all."""
        for index, number in enumerate(self._columns_of_rows):
            if index not in self._samples and self._batch.has_ended(index):
                text = self._batch.text(index)
                self._samples[index] = Sample(number, text, text_metrics(text.records))
        found = [self._samples[index] for index in sorted(self._samples)]
        return [
            sample
            for sample in found
            if sample.text.error is None and column in (None, sample.column)
        ]

    def summaries(self) -> dict[int, Summary]:
        """What the finished texts of each column measure; columns without one are left out."""
        found = {}
        for number, _, _ in self.columns:
            samples = self.samples(number)
            if samples:
                found[number] = summary(
                    [sample.text.token_ids for sample in samples],
                    [sample.metrics for sample in samples],
                )
        return found

    def frame(self) -> pd.DataFrame:
        """One row per finished text: column, settings, seed, text, stop reason, metrics."""
        titles = {number: title for number, title, _ in self.columns}
        return pd.DataFrame(
            [
                {
                    "column": sample.column,
                    "name": titles[sample.column],
                    "seed": sample.text.settings.seed,
                    "text": sample.text.text,
                    "stop_reason": sample.text.stop_reason,
                    **dataclasses.asdict(sample.metrics),
                    "settings": json.dumps(sample.text.settings.to_dict()),
                }
                for sample in self.samples()
            ]
        )
