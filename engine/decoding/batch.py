"""Generate many texts at once: a few forward passes give every row of a batch its next token.

    >>> rows = [Row("Once upon a time", SamplingSettings(top_p=0.9, seed=k)) for k in range(20)]
    >>> batch = Batch(model, rows)
    >>> for progress in batch.run():
    ...     print(progress.rows_done, progress.tokens_done)
    >>> batch.texts[3].text

Every row is the twin of a lone `Decoder` with the same prompt, settings and seed: its n-th token is
drawn with the n-th uniform number of its own seed, whatever the other rows do, and the same rules
end it. Rows with the same prompt share its prefill, which equals the decoder's bit for bit. Then
the cache is repeated for as many rows as fit. Rows with a longer prompt join when the others have
reached its length (see `batch_part`).

Tokens are equal up to rounding: a product over many rows adds in a different order than one over a
single row. In float32, logits then differ by some 1e-6, and a draw differs only if `u` lies as
close to the edge between two tokens. In bfloat16, one unit in the last place is 1 part in 256, so
logits differ by hundredths and some texts diverge from their twins. Those are samples of the same
distributions as far as bfloat16 can tell, but not the same texts. For the same texts, load the
model in float32.

Under guidance (see `guidance`) a row has a second cache, for the negative prompt's text. Rows share
passes if that text is longer by the same number of tokens in each, whatever their scales.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from engine.backend import Backend
from engine.checks import at_least_one
from engine.decoding.batch_part import BatchPart, by_length
from engine.decoding.batch_row import STEP_RECORD, BatchText, GrowingText, Row
from engine.decoding.guidance import checked_guidance
from engine.decoding.prompt import encode_prompt
from engine.errors import OutOfMemoryError, msg
from engine.runner.batch_runner import BatchRunner, Prompts
from engine.runner.budget import budget_of
from engine.text import stopping

__all__ = ["MOST_ROWS", "STEP_RECORD", "Batch", "BatchText", "Progress", "Row"]

# More would hardly be faster per row, and cancelling would take longer.
MOST_ROWS = 128


@dataclass(frozen=True)
class Progress:
    """Progress of a batch: texts and tokens done, and time.

    Attributes:
        rows_done, rows: number of finished texts, and of all texts.
        tokens_done: tokens generated so far.
        tokens_at_most: total tokens if every unfinished text runs to its limit.
        seconds: wall time of this run so far.
        seconds_left: estimated time left at this run's rate so far, if every text runs to its
            limit. It may be too low, as the last few texts take longer per token. None before the
            first token.
    """

    rows_done: int
    rows: int
    tokens_done: int
    tokens_at_most: int
    seconds: float
    seconds_left: float | None


class Batch:
    """Texts being generated together by a shared model.

    Args:
        model: the model; decoders and other batches may use it at the same time.
        rows: the texts to generate, in any mixture of prompts, settings and limits.
        stop_strings: strings that end generation, for all rows.
        max_rows: most rows that run together; the memory for caches may allow fewer. They may be
            read in several passes (see `engine.runner.batch_runner`).

    Attributes:
        rows_together: most rows that have run together so far.

    Raises:
        PromptError, TokenizerError, SettingError: a row that does not fit this model, or `max_rows`
            out of range; raised before anything runs.
    """

    def __init__(
        self,
        model: Backend,
        rows: Sequence[Row],
        *,
        stop_strings: str | Sequence[str] = (),
        max_rows: int = MOST_ROWS,
    ) -> None:
        self.model = model
        self.rows_together = 0
        strings = stopping.checked_stop_strings(stop_strings)
        self._most = at_least_one("max_rows", max_rows)
        prompts: dict[str, tuple[int, ...]] = {}
        self._rows: list[GrowingText] = []
        for row in rows:
            ids = prompts.get(row.prompt) if isinstance(row.prompt, str) else None
            if ids is None:
                ids = tuple(encode_prompt(model, row.prompt))
            if isinstance(row.prompt, str):
                prompts[row.prompt] = ids
            guided_by = checked_guidance(model, ids, row.negative_prompt, row.guidance_scale)
            self._rows.append(GrowingText(model, ids, row, strings, guided_by))
        # Updated as rows grow: a full count after every token would take longer than the token.
        self._ended = self._tokens = self._tokens_before = 0
        self._at_most = sum(row.limit for row in self._rows)
        self._notices: dict[str, None] = {}  # in order of appearance
        self._is_running = False
        self._prefill: BatchRunner | None = None

    @property
    def texts(self) -> tuple[BatchText, ...]:
        """All rows in their current state, in the order they were given."""
        return tuple(row.snapshot() for row in self._rows)

    def text(self, index: int) -> BatchText:
        """Return one row in its current state."""
        return self._rows[index].snapshot()

    def has_ended(self, index: int) -> bool:
        """Return whether a row has ended, without copying it."""
        return self._rows[index].has_ended

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences on texts that could not run in one batch, and on failures."""
        return tuple(self._notices)

    @property
    def is_done(self) -> bool:
        """Return whether every row has ended."""
        return self._ended == len(self._rows)

    def run(self, cancel: threading.Event | None = None) -> Iterator[Progress]:
        """Generate all rows; yields after every token of the rows in progress.

        Closing the iterator or setting `cancel` ends the run between two tokens. The texts so far
        stay, and another `run` continues them with the same tokens.

        Raises:
            RuntimeError: another run of this batch has not ended.
        """
        if self._is_running:
            raise RuntimeError("This batch is already running; close the other run first.")
        self._is_running = True
        self._tokens_before = self._tokens
        start = time.perf_counter()
        try:
            yield self._progress(start)
            if cancel is not None and cancel.is_set():
                return
            for rows in self._groups():
                for _ in self._run_group(rows):
                    yield self._progress(start)
                    if cancel is not None and cancel.is_set():
                        return
        finally:
            self._is_running = False
            self._prefill = None
            budget_of(self.model.device).give_back(self)

    def _progress(self, start: float) -> Progress:
        seconds, left = time.perf_counter() - start, None
        made = self._tokens - self._tokens_before
        if made:
            left = seconds / made * (self._at_most - self._tokens)
        return Progress(
            rows_done=self._ended,
            rows=len(self._rows),
            tokens_done=self._tokens,
            tokens_at_most=self._at_most,
            seconds=seconds,
            seconds_left=left,
        )

    def _step(self, row: GrowingText, logits: Sequence[np.ndarray]) -> None:
        """Append one token to a row and update the counts."""
        length = row.length
        row.append(*logits)
        self._tokens += row.length - length
        if row.has_ended:
            self._count_ended(row)

    def _count_ended(self, row: GrowingText) -> None:
        self._ended += 1
        self._at_most -= row.limit - row.length
        if row.error is not None:
            self._notice(msg("A text could not be continued: {error}", row.error))

    def _groups(self) -> list[list[GrowingText]]:
        """Return the unfinished rows, in groups that can run together."""
        groups: dict[int | None, list[GrowingText]] = {}
        for row in self._rows:
            if not row.has_ended:
                groups.setdefault(row.prompts.ahead, []).append(row)
        return [by_length(rows) for rows in groups.values()]

    def _run_group(self, rows: list[GrowingText]) -> Iterator[None]:
        """Run rows that can run together, in as many parts as needed; yields after every token."""
        most = 0
        waiting = [rows]
        while waiting:
            rows = waiting.pop()
            try:
                prefill = self._prefilled(rows[0].prompts)
            except OutOfMemoryError as error:
                same = [row for row in rows if row.prompts == rows[0].prompts]
                self._fail(same, error.message)
                if others := rows[len(same) :]:
                    waiting.append(others)
                yield
                continue
            most = most or self._most_rows(prefill, rows)
            if len(rows) > most:
                waiting.append(rows[most:])
                rows = rows[:most]
            part = BatchPart(rows, self._prefilled, self._step)
            failure = ""  # only the message: the error itself would keep the pass's memory
            try:
                for _ in part.run():
                    self.rows_together = max(self.rows_together, part.most_together)
                    yield
            except OutOfMemoryError as error:
                failure = error.message
            together = sum(not row.has_ended for row in part.rows)
            if failure and together == 1:
                self._fail([row for row in part.rows if not row.has_ended], failure)
                yield
            elif failure:
                most = together // 2
                self._notice(
                    msg(
                        "{device} ran out of memory with {together:,} texts at once, so "
                        "they went on with {most:,} at a time.",
                        (self.model.device, together, most),
                    )
                )
                self._prefill = None
                _hand_back_memory(self.model.device)
            if left := [row for row in rows if not row.has_ended]:
                waiting.append(left)

    def _prefilled(self, prompts: Prompts) -> BatchRunner:
        """Return a row that has read the prompts, cached for the next call.

        Raises:
            OutOfMemoryError: the device is out of memory.
        """
        if self._prefill is None or self._prefill.prompts != prompts:
            self._prefill = None
            self._prefill = BatchRunner.prefilled(self.model, prompts)
        return self._prefill

    def _most_rows(self, prefill: BatchRunner, rows: list[GrowingText]) -> int:
        """Return how many rows can be read together in the available memory."""
        if not prefill.can_select:
            if len(rows) > 1 and "batch" not in self.model.capabilities:
                name = self.model.name
                self._notice(msg("{name} makes one text at a time, so they came one by one.", name))
            elif len(rows) > 1:
                self._notice(
                    msg(
                        "The cache of {name} contains states that transformers cannot repeat "
                        "for a batch, so texts were generated one by one.",
                        self.model.name,
                    )
                )
            return 1
        wanted = min(self._most, len(rows))
        longest = max(len(row.prompt_ids) + row.limit for row in rows)
        per_row = prefill.bytes_per_row(longest - len(prefill.prompts.prompt_ids))
        fitting = max(1, budget_of(self.model.device).reserve(self, per_row * wanted) // per_row)
        if fitting < wanted:
            tokens = max(row.limit for row in rows)
            self._notice(
                msg(
                    "The memory for caches holds {fitting:,} texts of {tokens:,} new tokens at a "
                    "time, so {rows:,} texts were generated in parts.",
                    (fitting, tokens, len(rows)),
                )
            )
        return fitting

    def _fail(self, rows: list[GrowingText], out_of_memory: str) -> None:
        for row in rows:
            row.error = OutOfMemoryError(out_of_memory)
            self._count_ended(row)

    def _notice(self, sentence: str) -> None:
        self._notices[sentence] = None


def _hand_back_memory(device: torch.device) -> None:
    if device.type == "cuda":  # the failed pass's memory is cached in pieces of the wrong size
        torch.cuda.empty_cache()
