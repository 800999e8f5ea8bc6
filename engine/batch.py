"""Many texts at once: one forward pass gives every row of a batch its next token.

    >>> rows = [Row("Once upon a time", SamplingSettings(top_p=0.9, seed=k)) for k in range(20)]
    >>> batch = Batch(model, rows)
    >>> for progress in batch.run():
    ...     print(progress.rows_done, progress.tokens_done)
    >>> batch.texts[3].text

Every row is the twin of a lone `Decoder` with the same prompt, settings and seed: its n-th token is
drawn with the n-th uniform number of its own seed, whatever the other rows do, and the same rules
end it. Rows of one prompt share its prefill, bit for bit that of the decoder; then the cache is
repeated for as many rows as fit. So all rows of a batch stand at the same position: nothing is
padded, no mask is needed, and alibi, sliding windows and learned positions come out as they are.
Rows of different prompts take turns. That is fast where each prompt has many rows, as in a sweep,
and no faster than lone decoders where each has one.

Equal tokens, up to rounding: a product over many rows adds in another order than one over a single
row. In float32 logits then differ by some 1e-6, and a draw only where `u` lies as close to the edge
between two tokens. In bfloat16 one unit in the last place is 1 part in 256, so that logits differ
by hundredths and some texts part from their twins. They are samples of the same distributions as
far as bfloat16 tells them apart, but not the same texts; for those, load the model in float32.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from transformers.cache_utils import Cache, LinearAttentionCacheLayerMixin

from engine import cache as caches
from engine import stopping
from engine.batch_row import RECORD, BatchText, GrowingText, Row, at_least_one
from engine.errors import OutOfMemoryError
from engine.inputs import prompt_ids
from engine.kernels import ENGINE_LOCK
from engine.model import LanguageModel, is_out_of_memory

__all__ = ["MOST_ROWS", "RECORD", "Batch", "BatchText", "Progress", "Row", "can_repeat"]

# Beyond this a product over more rows is hardly faster for each, and cancelling takes longer.
MOST_ROWS = 128


@dataclass(frozen=True)
class Progress:
    """How far a batch has come.

    Attributes:
        rows_done, rows: texts that have ended, and all of them.
        tokens_done: tokens generated so far.
        tokens_at_most: tokens there will be if every text that has not ended runs to its limit.
        tokens_expected: tokens there will be if texts go on ending early as often as so far.
        seconds: wall time of this run so far.
    """

    rows_done: int
    rows: int
    tokens_done: int
    tokens_at_most: int
    tokens_expected: float
    seconds: float


class Batch:
    """Texts being generated together by a shared model.

    Args:
        model: the model; decoders and other batches may use it meanwhile.
        rows: the texts to generate, in any mixture of prompts, settings and limits.
        stop_strings: texts that end generation, for all rows.
        max_rows: most rows in one forward pass; the memory for caches may allow fewer.

    Attributes:
        rows_per_pass: most rows that one forward pass has had so far.

    Raises:
        PromptError, TokenizerError, SettingError: a row that does not fit this model, or `max_rows`
            out of range; before anything runs.
    """

    def __init__(
        self,
        model: LanguageModel,
        rows: Sequence[Row],
        *,
        stop_strings: str | Sequence[str] = (),
        max_rows: int = MOST_ROWS,
    ) -> None:
        self.model = model
        self.rows_per_pass = 0
        strings = stopping.checked_stop_strings(stop_strings)
        self._most = at_least_one("max_rows", max_rows)
        prompts: dict[str, tuple[int, ...]] = {}
        self._rows: list[GrowingText] = []
        for row in rows:
            ids = prompts.get(row.prompt) if isinstance(row.prompt, str) else None
            if ids is None:
                ids = tuple(prompt_ids(model, row.prompt))
            if isinstance(row.prompt, str):
                prompts[row.prompt] = ids
            self._rows.append(GrowingText(model, ids, row, strings))
        # Kept up to date, as counting afresh after every token would take longer than the token.
        self._ended = self._ended_early = self._tokens = 0
        self._at_most = sum(row.limit for row in self._rows)
        self._notices: dict[str, None] = {}  # in the order in which they came up
        self._is_running = False

    @property
    def texts(self) -> tuple[BatchText, ...]:
        """All rows as they stand now, in the order they were given."""
        return tuple(row.snapshot() for row in self._rows)

    def text(self, index: int) -> BatchText:
        """One row as it stands now."""
        return self._rows[index].snapshot()

    def has_ended(self, index: int) -> bool:
        """Whether a row is finished, without making a copy of it."""
        return self._rows[index].has_ended

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences on what went another way than in one batch per prompt, or failed."""
        return tuple(self._notices)

    @property
    def is_done(self) -> bool:
        """Whether every row has ended."""
        return self._ended == len(self._rows)

    def run(self, cancel: threading.Event | None = None) -> Iterator[Progress]:
        """Generate all rows; yields after every token of the rows in work.

        Closing the iterator or setting `cancel` ends it between two tokens. What is there stays,
        and another `run` goes on from it, to the same tokens.

        Raises:
            RuntimeError: another run of this batch has not ended.
        """
        if self._is_running:
            raise RuntimeError("This batch is already running; close the other run first.")
        self._is_running = True
        start = time.perf_counter()
        try:
            yield self._progress(start)
            if cancel is not None and cancel.is_set():
                return
            for prompt_ids, rows in self._by_prompt():
                for _ in self._run_prompt(prompt_ids, rows):
                    yield self._progress(start)
                    if cancel is not None and cancel.is_set():
                        return
        finally:
            self._is_running = False
            self.model.cache_budget.used(self, 0)

    def release_cache(self) -> bool:
        """A batch in work keeps its cache (see `engine.cache.CacheOwner`)."""
        return False

    def _progress(self, start: float) -> Progress:
        going_on = len(self._rows) - self._ended
        left = self._at_most - self._tokens
        if self._ended_early and going_on:
            # A constant chance to end at each token, estimated from those so far: the mean length
            # of the texts that have ended would be that of the short ones.
            chance = self._ended_early / self._tokens
            left = going_on * (1 - (1 - chance) ** (left / going_on)) / chance
        return Progress(
            rows_done=self._ended,
            rows=len(self._rows),
            tokens_done=self._tokens,
            tokens_at_most=self._at_most,
            tokens_expected=self._tokens + left,
            seconds=time.perf_counter() - start,
        )

    def _step(self, row: GrowingText, logits: np.ndarray) -> None:
        """One token more for a row, and what that changes in the counts."""
        length = row.length
        row.append(logits)
        self._tokens += row.length - length
        if row.has_ended:
            self._count_ended(row)

    def _count_ended(self, row: GrowingText) -> None:
        self._ended += 1
        self._ended_early += row.length < row.limit
        self._at_most -= row.limit - row.length
        if row.error is not None:
            self._notice(f"A text could not go on: {row.error}")

    def _by_prompt(self) -> list[tuple[tuple[int, ...], list[GrowingText]]]:
        groups: dict[tuple[int, ...], list[GrowingText]] = {}
        for row in self._rows:
            if not row.has_ended:
                groups.setdefault(row.prompt_ids, []).append(row)
        return list(groups.items())

    def _run_prompt(self, prompt_ids: tuple[int, ...], rows: list[GrowingText]) -> Iterator[None]:
        """All rows of one prompt, in as many parts as it takes; yields after every token."""
        cache = self.model.new_cache()
        try:
            logits = self.model.forward(prompt_ids, cache, 0).logits
        except OutOfMemoryError as error:
            self._fail(rows, str(error))
            yield
            return
        most = self._most_rows(cache, rows)
        by_length: dict[int, list[GrowingText]] = {}  # more than one length after a cancelled run
        for row in rows:
            by_length.setdefault(row.length, []).append(row)
        waiting = list(reversed(by_length.values()))
        while waiting:
            part = waiting.pop()
            if len(part) > most:
                waiting.append(part[most:])
                part = part[:most]
            failure = ""  # the words alone: the error itself would hold the pass' memory
            try:
                yield from self._run_part(part, cache, logits)
            except OutOfMemoryError as error:
                failure = str(error)
            if failure:
                part = [row for row in part if not row.has_ended]
                if len(part) == 1:
                    self._fail(part, failure)
                    yield
                    continue
                most = len(part) // 2
                self._notice(
                    f"{self.model.device} ran out of memory with {len(part):,} texts at once, so "
                    f"they went on with {most:,} at a time."
                )
                _hand_back_memory(self.model.device)
                waiting.append(part)

    def _run_part(
        self, rows: list[GrowingText], prompt_cache: Cache, logits: np.ndarray
    ) -> Iterator[None]:
        """Rows of one prompt and one length, to their ends; yields after every token.

        Raises:
            OutOfMemoryError: the rows have the tokens they had; their cache is thrown away.
        """
        self.rows_per_pass = max(self.rows_per_pass, len(rows))
        position = len(rows[0].prompt_ids)
        with _naming_memory(self.model, len(rows)):
            cache = _repeated(prompt_cache, len(rows))
        step_logits = np.broadcast_to(logits, (len(rows), logits.size))
        for place in range(rows[0].length):  # drawn before a split or a cancel: read again
            tokens = [row.token_id(place) for row in rows]
            step_logits = self._forward(tokens, cache, position + place)
            yield
        while True:
            for row, row_logits in zip(rows, step_logits, strict=True):
                self._step(row, row_logits)
            going_on = [i for i, row in enumerate(rows) if not row.has_ended]
            yield
            if not going_on:
                return
            if len(going_on) < len(rows):
                rows = [rows[i] for i in going_on]
                with _naming_memory(self.model, len(rows)), torch.inference_mode():
                    cache.batch_select_indices(torch.tensor(going_on, device=self.model.device))
            end = position + rows[0].length - 1
            step_logits = self._forward([row.token_id(-1) for row in rows], cache, end)

    def _forward(self, token_ids: list[int], cache: Cache, position: int) -> np.ndarray:
        """(rows, vocab) float32 logits after one more token in each row."""
        model = self.model
        if len(token_ids) == 1:  # as a lone decoder steps
            logits = model.forward(token_ids, cache, position).logits[None]
        else:
            logits = _forward_rows(model, token_ids, cache, position)
        model.cache_budget.used(self, caches.size(cache).held)
        return logits

    def _most_rows(self, cache: Cache, rows: list[GrowingText]) -> int:
        """How many rows of this prompt go into one pass, from its cache after the prefill."""
        if not can_repeat(cache):
            if len(rows) > 1:
                self._notice(
                    f"The cache of {self.model.name} holds states that transformers cannot repeat "
                    "for a batch, so texts of one prompt were generated one by one."
                )
            return 1
        prompt = len(rows[0].prompt_ids)
        positions = prompt + max(row.limit for row in rows)
        if self.model.context_length is not None:
            positions = min(positions, self.model.context_length)
        formula = caches.formula(cache)
        if formula is not None:
            per_row = formula.bytes_at(positions)
        else:  # another layout, whose size grows at most with the positions
            per_row = math.ceil(caches.size(cache).logical * positions / prompt)
        # Old and new tensors exist side by side while one is made from the other; logits are there
        # in the model's dtype, in float32, and shaped.
        per_row = 2 * per_row + 16 * self.model.vocab_size
        fitting = max(1, self.model.cache_budget.limit // per_row)
        if fitting < min(self._most, len(rows)):
            self._notice(
                f"The memory for caches holds {fitting:,} texts of {positions:,} tokens at a time, "
                f"so {len(rows):,} texts of one prompt were generated in parts."
            )
        return min(self._most, fitting)

    def _fail(self, rows: list[GrowingText], out_of_memory: str) -> None:
        for row in rows:
            row.error = OutOfMemoryError(out_of_memory)
            self._count_ended(row)

    def _notice(self, sentence: str) -> None:
        self._notices[sentence] = None


def can_repeat(cache: Cache) -> bool:
    """Whether a filled cache can be repeated and thinned out along its batch dimension.

    Transformers offers that for attention layers of every kind, sliding windows included. States of
    recurrent layers and convolutions have no such operation, also where a layer has both.
    """
    return all(
        hasattr(layer, "batch_repeat_interleave")
        and hasattr(layer, "batch_select_indices")
        and not isinstance(layer, LinearAttentionCacheLayerMixin)
        for layer in cache.layers
    )


def _repeated(cache: Cache, rows: int) -> Cache:
    """An independent cache with a batch of `rows` equal rows."""
    twin = caches.fork(cache)
    if rows > 1:
        with torch.inference_mode():
            twin.batch_repeat_interleave(rows)
    return twin


def _forward_rows(
    model: LanguageModel, token_ids: list[int], cache: Cache, position: int
) -> np.ndarray:
    """(rows, vocab) float32 logits of one pass over one token per row, all at one position.

    Raises:
        OutOfMemoryError: the cache may be half updated and must be thrown away.
    """
    with ENGINE_LOCK, torch.inference_mode(), _naming_memory(model, len(token_ids)):
        ids = torch.tensor(token_ids, dtype=torch.long, device=model.device)[:, None]
        with model.kernels.apply(len(token_ids)):
            logits = model.hf(**model._inputs(ids, cache, position)).logits  # (rows, 1, V)
        return logits[:, -1].to(torch.float32).cpu().numpy()


@contextmanager
def _naming_memory(model: LanguageModel, rows: int) -> Iterator[None]:
    """Turn PyTorch's ways to say that there is no memory left into `OutOfMemoryError`."""
    try:
        yield
    except (torch.OutOfMemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise OutOfMemoryError(
            f"{model.device} ran out of memory with {rows:,} texts at once; use fewer or shorter "
            "texts, a smaller model or a smaller dtype."
        ) from error


def _hand_back_memory(device: torch.device) -> None:
    if device.type == "cuda":  # what the failed pass had is cached in pieces of the wrong size
        torch.cuda.empty_cache()
