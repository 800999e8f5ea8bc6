"""Many texts per column in the background: progress, Cancel, what is there so far."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable, Sequence

import pandas as pd

from engine.batch import Batch, BatchText, Row
from engine.errors import DecodingError, SettingError
from engine.metrics import Summary, TextMetrics, summary, text_metrics
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sweep import seconds_left
from ui.sweep_work import room

MOST_SAMPLES = 200  # per column
MAX_ROWS = 32  # in one forward pass, for which other visitors' steps wait
LOOK_SECONDS = 0.1  # between two looks, while it waits, whether it is still wanted


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


class SamplingRun:
    """Samples of several settings, made by a thread of its own.

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
        is_waiting: whether sweeps and samples of other visitors go first.
        problem: why it ended early, empty if it did not.

    Raises:
        SettingError: a count out of range, or settings that do not fit.
        PromptError: a prompt that does not fit.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompt: str | Sequence[int],
        columns: Sequence[tuple[int, str, SamplingSettings]],
        *,
        count: int,
        first_seed: int,
        max_tokens: int,
        prompt_text: str = "",
    ) -> None:
        if not 1 <= count <= MOST_SAMPLES:
            remedy = f"use 1 to {MOST_SAMPLES}"
            raise SettingError("samples", count, "is out of range", remedy)
        self.columns = tuple(columns)
        self.prompt_text = prompt_text
        self.problem = ""
        self.is_waiting = False
        rows, self._columns_of_rows = [], []
        for seed in range(first_seed, first_seed + count):  # every column soon has its first text
            for number, _, settings in columns:
                rows.append(Row(prompt, settings.replace(seed=seed), max_tokens))
                self._columns_of_rows.append(number)
        self._batch = Batch(model, rows, max_rows=MAX_ROWS)
        self._cancel = threading.Event()
        self._thread: threading.Thread | None = None
        self._samples: dict[int, Sample] = {}
        self._share = 0.0
        self._done = 0
        self._left: float | None = None

    def start(self, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Begin, or go on after a cancel.

        Args:
            is_wanted: asked after every token and while it waits for its turn; where the visitor
                has gone, it ends.
        """
        if self.is_running or self.is_done:
            return
        self._cancel = threading.Event()
        # A daemon: ending the app does not wait for texts.
        self._thread = threading.Thread(
            target=self._run, args=(self._cancel, is_wanted), name="samples", daemon=True
        )
        self._thread.start()

    def _run(self, cancel: threading.Event, is_wanted: Callable[[], bool]) -> None:
        if not self._has_room(cancel, is_wanted):
            return
        try:
            self._generate(cancel, is_wanted)
        except DecodingError as error:  # for the page to show: here it would be lost
            self.problem = str(error)
        finally:
            room.release()

    def _has_room(self, cancel: threading.Event, is_wanted: Callable[[], bool]) -> bool:
        """Wait for one of the places that sweeps and samples share; False if ended meanwhile."""
        self.is_waiting = True
        try:
            while not room.acquire(timeout=LOOK_SECONDS):
                if cancel.is_set() or not is_wanted():
                    return False
            return True
        finally:
            self.is_waiting = False

    def _generate(self, cancel: threading.Event, is_wanted: Callable[[], bool]) -> None:
        first = None
        for progress in self._batch.run(cancel):
            first = progress if first is None else first
            self._done = progress.rows_done
            self._share = progress.tokens_done / max(1.0, progress.tokens_expected)
            self._left = seconds_left(
                progress.seconds,
                progress.tokens_done - first.tokens_done,
                progress.tokens_expected - progress.tokens_done,
            )
            if not is_wanted():
                cancel.set()

    def cancel(self) -> None:
        """End it after the token in work; what is there stays."""
        self._cancel.set()

    def wait(self, seconds: float | None = None) -> None:
        """Until it has ended, at most so long."""
        if self._thread is not None:
            self._thread.join(seconds)

    @property
    def is_running(self) -> bool:
        """Whether texts are being made."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def is_done(self) -> bool:
        """Whether every text has ended."""
        return self._batch.is_done

    @property
    def share(self) -> float:
        """How much is done, 0 to 1."""
        return 1.0 if self.is_done else min(1.0, self._share)

    @property
    def progress(self) -> str:
        """How far it has come, in words."""
        if self.is_waiting:
            return "Waiting for the sweeps and samples of other visitors"
        words = f"{self._done:,} of {len(self._columns_of_rows):,} texts"
        if self.is_running and self._left is not None:
            words += f", about {max(1, round(self._left)):,} s left"
        return words

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
