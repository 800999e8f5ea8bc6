"""A cached sequence: tokens that a model has read, and the cache to continue from.

    runner = Runner(model)
    runner.extend(prompt_ids)              # prefill: the logits of the next token
    runner.extend([token_id])              # one more
    runner.truncate(len(prompt_ids))         # back again
    many = runner.fork()
    many.select([0, 0, 0])               # three rows with the same past
    many.join(other)                     # plus the rows of another past of equal length

A runner remembers its tokens. So its cache may be released at any time (`release`), and the next
reading rebuilds it. Long inputs are read in chunks, so that others need not wait long. In chunks a
model adds in a different order than in one pass, which changes the last bits. So a reading lists
the passes that it took.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from collections.abc import Sequence as Ids
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

import numpy as np
import torch
from transformers.cache_utils import Cache

from engine.backend import Backend, Reading, Sequence
from engine.cache_formula import CacheFormula
from engine.errors import CancelledError, OutOfMemoryError, msg
from engine.model import LanguageModel
from engine.model import cache as caches
from engine.model.cache_size import CacheSize, cache_size
from engine.model.loaded import is_out_of_memory
from engine.runner.budget import budget_of
from engine.runner.job import this_job
from engine.runner.scheduler import SCHEDULER, Kind

# Tokens in one pass over a long input: few enough that a person does not notice the time.
CHUNK = 256
# With more parameters than this, a CPU takes as long for fewer tokens (see `chunk_of`).
LARGE_PARAMETERS = 100_000_000
LEAST_CHUNK = 32
# Inputs up to this length queue as a single step, longer ones as a prompt.
SHORT = 16
# A cache that cannot be cropped is saved after the prefill and then every this many tokens, so that
# going back need not reread everything.
SNAPSHOT_EVERY = 32
# Most tokens after the first reading that are reread one by one when a cache is rebuilt.
EXACT = 64
MOST_SNAPSHOTS = 4
FEWER_TEXTS = msg("use fewer or shorter texts, a smaller model or a smaller dtype")


class _Plan(NamedTuple):
    """The passes in which new tokens are read.

    Attributes:
        ids: (rows, tokens) to read.
        kind: kind of the passes.
        chunks: tokens in each pass.
        passes: `chunks`, preceded by the passes that rebuilt the cache.
        is_prefill: True if reading starts at the first position.
    """

    ids: np.ndarray
    kind: Kind
    chunks: tuple[int, ...]
    passes: tuple[int, ...]
    is_prefill: bool


class Runner:
    """Rows of tokens of equal length that a model has read, with its cache.

    Args:
        model: the model; many runners, in many threads, may share it.
        remedy: what to do if there is not enough memory for all rows.

    Attributes:
        positions: tokens of each row read so far.
        cache: the model's cache; None before the first reading and while it is released.
        usage: bytes of the cache, and of the memory held for it.

    A runner may be used from any thread, one call at a time; further calls wait.
    """

    def __init__(self, model: LanguageModel, remedy: str = FEWER_TEXTS) -> None:
        self.model = model
        self.remedy = remedy
        self.positions = 0
        self.cache: Cache | None = None
        self.usage = CacheSize(0, 0)
        self._ids = np.empty((1, 64), np.int64)  # (rows, capacity); grows by doubling
        self._beginning: tuple[int, ...] = ()  # tokens of each pass that read the prompt
        self._continues = False  # whether the next reading completes the prompt
        self._snapshots: list[tuple[int, Cache]] = []
        self._lock = threading.RLock()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self._ids)

    @property
    def formula(self) -> CacheFormula | None:
        """Formula for the cache's size; None without a cache and for other kinds of state."""
        if self.cache is None or not caches.holds_keys_and_values(self.cache):
            return None
        return self.model.cache_formula

    @property
    def has_cache(self) -> bool:
        """False before the first reading, and while the cache is released."""
        return self.cache is not None

    @property
    def can_select(self) -> bool:
        """True if the rows of this cache can be repeated or dropped."""
        return self.cache is not None and caches.can_repeat(self.cache)

    # --- reading ----------------------------------------------------------------------------------

    def extend(
        self,
        token_ids: Ids[int] | np.ndarray,
        *,
        parity: bool = False,
        all_positions: bool = False,
    ) -> Reading:
        """Read more tokens of a single row.

        Args:
            token_ids: (tokens,) at least one.
            parity: use PyTorch's default kernels and read a prompt in one pass, as `generate` does.
            all_positions: return the logits after each of these tokens, which are read in one pass.

        Raises:
            OutOfMemoryError: even after all idle caches were released; nothing has been read.
            CancelledError: the job of this thread was cancelled; nothing has been read.
        """
        start = time.perf_counter()
        ids, whole = np.asarray(token_ids, np.int64)[None], parity or all_positions
        positions = {"all_positions": True} if all_positions else {}
        with self._lock:
            for attempt in self._attempts():
                with attempt:
                    plan, forward_ms = self._plan(ids, whole=whole, parity=parity), 0.0
                    for part in self._parts(plan):
                        with SCHEDULER.turn(plan.kind):
                            forward = self.model.forward(
                                part[0].tolist(),
                                self.cache,
                                self.positions,
                                parity=parity,
                                **positions,
                            )
                        forward_ms += forward.ms
                    if self._continues:
                        self._beginning += plan.chunks
                        self._continues = False
                    ms = (time.perf_counter() - start) * 1e3
                    return Reading(forward, ms, forward_ms, plan.passes, plan.is_prefill)

    def read_rows(
        self,
        token_ids: Ids[Ids[int]] | np.ndarray,
        *,
        hidden_states: bool = False,
        tries: int = 1,
    ) -> tuple[np.ndarray, torch.Tensor | None]:
        """Read more tokens of every row in one pass, queued as a batch.

        Args:
            token_ids: (rows, tokens).
            hidden_states: whether to return the hidden states of the last layer.
            tries: number of attempts if memory runs out; each failure releases the idle caches. 1
                if the caller can make do with fewer rows.

        Returns:
            (rows, vocab) float32 logits after each row, and (rows, tokens, d_model) hidden states
            in the model's dtype and on its device, or None.

        Raises:
            OutOfMemoryError: nothing has been read.
            CancelledError: the job of this thread was cancelled; nothing has been read.
        """
        ids = np.asarray(token_ids, np.int64)
        naming = self.model.naming_memory(
            msg("with {rows:,} texts at once", self.rows), self.remedy
        )
        with naming, self._lock:
            for attempt in self._attempts(tries):
                with attempt:
                    plan = self._plan(ids, whole=True)
                    for part in self._parts(plan):
                        with SCHEDULER.turn(max(plan.kind, Kind.BATCH)):
                            read = self.model.forward_rows(
                                part.tolist(),
                                self.cache,
                                self.positions,
                                hidden_states=hidden_states,
                            )
                    return read

    def _attempts(self, tries: int = 2) -> Iterator[AbstractContextManager[None]]:
        """Yield a context for each attempt at a reading, at most `tries`."""
        before = self.positions
        for left in reversed(range(tries)):
            yield self._attempt(before, left)

    @contextmanager
    def _attempt(self, before: int, left: int) -> Iterator[None]:
        """Undo a reading that fails in the block; suppresses a lack of memory if tries are left."""
        try:
            yield
        except CancelledError:
            if self.positions > before:
                self.truncate(before)
            elif self.positions < before:
                self._back_to(before)
            else:
                self._count()  # the cache may have been rebuilt
            raise
        except BaseException as error:
            self._back_to(before)  # the cache may be half updated
            is_memory = isinstance(error, OutOfMemoryError) or is_out_of_memory(error)
            if not (is_memory and self.make_room() and left):
                raise

    def _plan(self, ids: np.ndarray, *, whole: bool, parity: bool = False) -> _Plan:
        """Plan the passes over new tokens, and create or rebuild a missing cache.

        Args:
            ids: (rows, tokens) to read.
            whole: True if they are read in one pass.
            parity: see `extend`.
        """
        is_prefill, is_first, again = not self.positions, not self.positions, ()
        if self._starts_again(ids.shape[1]):
            # The model reads a text of this length in a different way, all in one pass.
            ids = np.concatenate([self._ids[:, : self.positions], ids], axis=1)
            self.positions, self._snapshots = 0, []
            self.cache, is_prefill, whole = self.model.new_cache(), True, True
        elif is_prefill:
            self.cache = self.model.new_cache()
        elif self.cache is None:
            is_prefill, again = self._rebuild(parity=parity)
        tokens = ids.shape[1]
        chunks = (tokens,) if whole else self._chunks(self.positions, tokens)
        if is_first:
            self._beginning = chunks
        return _Plan(ids, _kind(tokens), chunks, again + chunks, is_prefill)

    def _parts(self, plan: _Plan) -> Iterator[np.ndarray]:
        """Yield each pass's ids, (rows, tokens), and record them as read once the pass is done."""
        end = self.positions + plan.ids.shape[1]
        read = 0
        for chunk in plan.chunks:
            part = plan.ids[:, read : read + chunk]
            yield part
            self._took(part)
            read += chunk
            if len(plan.chunks) > 1:
                this_job().told("Reading the prompt", self.positions, end)
        self._count()

    def _rebuild(self, *, parity: bool) -> tuple[bool, tuple[int, ...]]:
        """Rebuild the cache; returns whether it began at the first token, and the passes.

        Tokens that were read one by one are reread one by one, which repeats the same bits. A long
        text without a snapshot would take too long that way, so it is read in chunks, except in
        parity mode.
        """
        wanted = self.positions
        if self._snapshots:
            self.positions, snapshot = self._snapshots[-1]
            self.cache = caches.fork(snapshot)
            if self.rows > 1:
                self.cache.batch_select_indices(torch.zeros(self.rows, dtype=torch.long))
            passes = (1,) * (wanted - self.positions)
        else:
            self.positions, self.cache = 0, self.model.new_cache()
            first = min(sum(self._beginning), wanted)
            switch = self.model.reads_again_after
            if switch is not None and first <= switch < wanted:
                first = switch + 1
            rest = wanted - first
            passes = _within(self._beginning, first)
            if parity or sum(passes) < first:
                passes = (first,) if parity else self._chunks(0, first)
            passes += (1,) * rest if parity or rest <= EXACT else self._chunks(first, rest)
        start = self.positions
        for tokens in passes:
            part = self._ids[:, self.positions : self.positions + tokens]
            with SCHEDULER.turn(_kind(tokens)):
                if self.rows == 1:
                    self.model.forward(part[0].tolist(), self.cache, self.positions, parity=parity)
                else:
                    self.model.forward_rows(part.tolist(), self.cache, self.positions)
            self.positions += tokens
            self._keep_snapshot()
            if len(passes) > 1:
                this_job().told("Reading the text again", self.positions, wanted)
        return not start, passes

    def chunks(self, tokens: int) -> tuple[int, ...]:
        """Return the size of each pass in which `tokens` more tokens would be read."""
        return self._chunks(self.positions, tokens)

    def restore(self) -> tuple[int, ...]:
        """Rebuild the cache if it was released; returns the passes, none if the cache is there.

        Raises:
            OutOfMemoryError, CancelledError: as `extend`.
        """
        with self._lock:
            if self.cache is not None or not self.positions:
                return ()
            for attempt in self._attempts():
                with attempt:
                    _, passes = self._rebuild(parity=False)
                    self._count()
                    return passes

    def _starts_again(self, tokens: int) -> bool:
        """Return whether reading `tokens` more requires rereading the text into a new cache."""
        switch = self.model.reads_again_after
        return switch is not None and 0 < self.positions <= switch < self.positions + tokens

    def _chunks(self, start: int, tokens: int) -> tuple[int, ...]:
        """Return the size of each pass in which `tokens` tokens are read from position `start`."""
        if tokens <= 1:
            return (1,) * tokens
        switch = self.model.reads_again_after
        if switch is not None and start <= switch < start + tokens:
            return (tokens,)  # at once, as `generate` does
        chunk = chunk_of(self.model)
        if not start and tokens <= chunk:
            return (tokens,)
        if self.model.can_chunk:
            full, rest = divmod(tokens, chunk)
            return (chunk,) * full + ((rest,) if rest else ())
        # Such a model takes many tokens at once only at the beginning of a text.
        return (1,) * tokens if start else (tokens,)

    def _took(self, ids: np.ndarray) -> None:
        """Record that these tokens are now in the cache."""
        end = self.positions + ids.shape[1]
        if end > self._ids.shape[1]:
            grown = np.empty((self.rows, 2 * end), np.int64)
            grown[:, : self.positions] = self._ids[:, : self.positions]
            self._ids = grown
        self._ids[:, self.positions : end] = ids
        self.positions = end
        self._keep_snapshot()

    def _keep_snapshot(self) -> None:
        if (self.positions - sum(self._beginning)) % SNAPSHOT_EVERY or self.rows > 1:
            return
        if self.cache is None or not caches.forgets(self.cache):
            return
        if self.positions not in {positions for positions, _ in self._snapshots}:
            self._snapshots.append((self.positions, caches.fork(self.cache)))
            if len(self._snapshots) > MOST_SNAPSHOTS:
                del self._snapshots[1]  # the first is the prefill, the costliest to repeat

    # --- changing positions and rows --------------------------------------------------------------

    def truncate(self, positions: int) -> None:
        """Keep the first `positions` positions of every row."""
        with self._lock:
            if positions >= self.positions:
                return
            self._snapshots = [kept for kept in self._snapshots if kept[0] <= positions]
            switch = self.model.reads_again_after
            is_of_other_kind = switch is not None and positions <= switch < self.positions
            if self.cache is not None and not is_of_other_kind and caches.can_crop(self.cache):
                caches.crop(self.cache, positions)
                self.positions = positions
                self._count()
            else:
                self._back_to(positions)

    def fork(self) -> Runner:
        """Return an independent copy, which shares the memory that is never overwritten."""
        with self._lock:
            twin = Runner(self.model, self.remedy)
            twin.positions = self.positions
            twin._ids = self._ids.copy()
            twin._beginning, twin._continues = self._beginning, self._continues
            twin._snapshots = list(self._snapshots)
            if self.cache is not None:
                twin.cache = caches.fork(self.cache)
            twin.usage = self.usage
            budget_of(self.model.device).used(twin, twin.usage.held)
            return twin

    def continued(self, positions: int) -> Runner:
        """Return a fork with the first `positions` positions, for a text with the same beginning.

        The next reading completes that text's prompt.
        """
        with self._lock:
            twin = self.fork()
            twin.truncate(positions)
            begun = _within(self._beginning, positions)
            twin._beginning = begun + (1,) * (positions - sum(begun))
            twin._continues = True
            return twin

    @property
    def prompt_passes(self) -> tuple[int, ...]:
        """Tokens of each pass that read the prompt so far; see `continued`."""
        return self._beginning

    def follow(self, token_ids: Ids[int], passes: Ids[int]) -> None:
        """Read the first tokens in these passes when more are read; nothing has been read yet.

        Args:
            token_ids: the prompt, at least one token longer than the passes.
            passes: tokens of each pass.
        """
        read = sum(passes)
        self._ids, self.positions = np.asarray(token_ids, np.int64)[None], read
        self._beginning, self._continues = tuple(passes), True

    def select(self, rows: Ids[int]) -> None:
        """Keep the given rows, in this order; a row may occur more than once.

        Raises:
            OutOfMemoryError: idle caches were released, and the rows stay as they were. The next
                reading rebuilds their cache.
        """
        with self._lock:
            if list(rows) == list(range(self.rows)):
                return
            if self.cache is not None:
                self._select(rows)
            if self.rows > 1:  # otherwise the snapshots have the past that all rows share
                self._snapshots = []
            self._ids = self._ids[list(rows)]
            self._keep_snapshot()
            self._count()

    def _select(self, rows: Ids[int]) -> None:
        with self._changing_rows(len(rows)):
            places = torch.tensor(rows, device=self.model.device)
            self.cache.batch_select_indices(places)

    def can_join(self, other: Runner) -> bool:
        """Return whether the rows of `other` can be appended: same position, joinable caches."""
        return (
            self.positions == other.positions
            and self.cache is not None
            and other.cache is not None
            and caches.can_join(self.cache, other.cache)
        )

    def join(self, other: Runner) -> None:
        """Append the rows of another runner; only if `can_join` allows it.

        Raises:
            OutOfMemoryError: as `select`.
        """
        with self._lock, other._lock:
            with self._changing_rows(self.rows + other.rows):
                caches.join(self.cache, other.cache)
            read = self.positions
            self._ids = np.concatenate([self._ids[:, :read], other._ids[:, :read]])
            self._beginning = max(self._beginning, other._beginning, key=sum)
            self._snapshots = []  # each has one past, and the rows have several
            self._count()

    @contextmanager
    def _changing_rows(self, rows: int) -> Iterator[None]:
        """Guard a change of the cache's rows; drops the cache if memory runs out."""
        try:
            with (
                self.model.naming_memory(msg("with {rows:,} texts at once", rows), self.remedy),
                SCHEDULER.turn(Kind.BATCH),
                torch.inference_mode(),
            ):
                yield
        except OutOfMemoryError:
            self._drop()  # some of its layers may have the new rows already
            self.make_room()
            raise

    def release(self) -> bool:
        """Release the cache, to be rebuilt when needed; returns False while it is in use."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._drop()
            return True
        finally:
            self._lock.release()

    def distrust(self) -> None:
        """Drop a cache that may contain a wrong value; the next reading rebuilds it."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        self.cache = None
        self._snapshots = []
        self.usage = CacheSize(0, 0)
        budget_of(self.model.device).keeps(self, 0)

    def _back_to(self, positions: int) -> None:
        """Go back to `positions` positions: drop the cache, keep the snapshots up to there."""
        self.positions = positions
        self.cache = None
        self._snapshots = [kept for kept in self._snapshots if kept[0] <= positions]
        self._count()

    def _count(self) -> None:
        """Measure the cache's size and report it to the budget."""
        self.usage = cache_size(self.cache, *(cache for _, cache in self._snapshots))
        budget_of(self.model.device).used(self, self.usage.held)

    def make_room(self) -> bool:
        """Release every idle cache on this device; returns False if nothing was freed."""
        freed = budget_of(self.model.device).make_room(keep=self)
        if self.model.device.type == "cuda":
            torch.cuda.empty_cache()
        return freed > 0


def open_sequence(model: Backend, remedy: str = FEWER_TEXTS) -> Sequence:
    """Return a new, empty sequence of a model.

    Args:
        model: a local model or any other back end.
        remedy: what to do if a local model runs out of memory.
    """
    return Runner(model, remedy) if isinstance(model, LanguageModel) else model.open()


def chunk_of(model: LanguageModel) -> int:
    """Return the tokens per pass over a long input: fewer for a large model on a CPU.

    The number depends on the model alone, so a busy machine gives the same bits.
    """
    if model.device.type != "cpu":
        return CHUNK
    fewer = CHUNK // math.ceil(model.parameters / LARGE_PARAMETERS)
    return min(CHUNK, max(LEAST_CHUNK, fewer))


def _within(passes: Ids[int], positions: int) -> tuple[int, ...]:
    """Return the passes that read the first `positions` tokens, the last one cut if needed."""
    taken, left = [], positions
    for tokens in passes:
        if left <= 0:
            break
        taken.append(min(tokens, left))
        left -= tokens
    return tuple(taken)


def _kind(tokens: int) -> Kind:
    return Kind.STEP if tokens <= SHORT else Kind.PREFILL
