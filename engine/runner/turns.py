"""Passes and operations outside a runner, scheduled so that a step waits for at most one layer.

    with exclusive(model.kernels):        # after the visitors' steps
        torch.mm(matrix, matrix)          # with nothing else on the device

Times run from the moment a pass gets the device until its logits are in this process' memory. On a
GPU they therefore include all the work that the pass does there. They exclude the wait for a turn,
pauses between two layers for a visitor's step, sampling, and a decoder's record. With
`processor_clock` they are processor time, which other programs hardly lengthen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from transformers.cache_utils import Cache

from engine.errors import msg
from engine.model import LanguageModel
from engine.model.diffusion_model import DiffusionModel
from engine.model.kernels import DEFAULT_KERNELS, ENGINE_LOCK, Kernels
from engine.runner.budget import Holder, budget_of, with_room
from engine.runner.runner import LARGE_PARAMETERS, chunk_of
from engine.runner.scheduler import SCHEDULER, Kind

# Tokens in one pass over a whole text: the bundled model takes 0.1 s for this many.
AT_ONCE = 1024
Clock = Callable[[], float]  # seconds since an arbitrary moment
give_way = SCHEDULER.give_way  # between two passes of long work


@dataclass(frozen=True)
class TimedRead:
    """Result of reading a text from its beginning, with the time it took.

    Attributes:
        logits: (vocab,) float32 after its last token.
        ms: time of all its passes, in milliseconds.
        passes: number of passes.
        cache: the cache of the text.
    """

    logits: np.ndarray
    ms: float
    passes: int
    cache: Cache


def processor_clock(model: LanguageModel) -> Clock:
    """Return a processor-time clock for passes on a CPU, a wall clock for other devices.

    If all passes use one thread, it measures the calling thread; otherwise the whole process.
    """
    if model.device.type != "cpu":
        return time.perf_counter
    is_single = model.kernels.threads == model.kernels.prefill_threads == 1
    return time.thread_time if is_single else time.process_time


def at_once(model: LanguageModel) -> int:
    """Return the most tokens of a text to read in one pass; longer texts take several.

    A large model on a CPU reads its usual chunks, so that others wait no longer than for any
    prompt. In half precision, chunks gain nothing: a pass repacks all weights first (see
    `engine.model.kernels`), which takes far longer than the tokens themselves.
    """
    if not model.can_chunk:
        return model.context_length or 2**31
    repacks = model.device.type == "cpu" and not model.kernels.onednn
    return AT_ONCE if is_small(model) or repacks else chunk_of(model)


def is_small(model: LanguageModel) -> bool:
    """Return whether the model's passes are short; a large model's are short only on a GPU."""
    return model.device.type != "cpu" or model.parameters < LARGE_PARAMETERS


def timed_read(
    model: LanguageModel, token_ids: Sequence[int], clock: Clock | None = None
) -> TimedRead:
    """Read a text from its beginning into an empty cache, timed by wall time or by `clock`.

    Raises:
        OutOfMemoryError: the device has no memory left.
        CancelledError: the job of this thread was cancelled.
    """
    cache, most, ms = model.new_cache(), at_once(model), 0.0
    starts = range(0, len(token_ids), most)
    for start in starts:
        with SCHEDULER.turn(Kind.PREFILL):
            begun = clock and clock()
            forward = model.forward(token_ids[start : start + most], cache, start)
            ms += (clock() - begun) * 1e3 if clock else forward.ms
    return TimedRead(forward.logits, ms, len(starts), cache)


def timed_step(
    model: LanguageModel,
    token_id: int,
    cache: Cache,
    position: int,
    clock: Clock | None = None,
    *,
    parity: bool = False,
) -> tuple[np.ndarray, float]:
    """Read one more token: (vocab,) float32 logits, and milliseconds; the clock as in `timed_read`.

    Raises:
        OutOfMemoryError: the device has no memory left; the cache must be thrown away.
        CancelledError: the job of this thread was cancelled; nothing has been read.
    """
    with SCHEDULER.turn(Kind.BATCH):  # visitors' steps go first
        begun = clock and clock()
        forward = model.forward([token_id], cache, position, parity=parity)
        ms = (clock() - begun) * 1e3 if clock else forward.ms
    return forward.logits, ms


def timed_rows(
    model: LanguageModel,
    token_ids: Sequence[int],
    cache: Cache,
    position: int,
    at: str | None = None,
    remedy: str = msg("measure fewer texts"),
) -> tuple[np.ndarray, float]:
    """Read one more token in each row of a batch: (rows, vocab) float32 logits, and milliseconds.

    Args:
        at, remedy: parts of the message of an `OutOfMemoryError`.

    Raises:
        OutOfMemoryError, CancelledError: as `timed_step`.
    """
    at = at or msg("with {rows:,} texts at once", len(token_ids))
    with SCHEDULER.turn(Kind.BATCH) as turn, model.naming_memory(at, remedy):
        start = time.perf_counter()
        logits, _ = model.forward_rows([[token_id] for token_id in token_ids], cache, position)
        return logits, (time.perf_counter() - start - turn.seconds) * 1e3


def read_canvas(
    model: DiffusionModel, ids: Sequence[int], *, keep: Holder | None = None
) -> np.ndarray:
    """Return the logits of a canvas, read in its turn; frees memory if needed: (length, vocab).

    Args:
        model: the model.
        ids: the canvas.
        keep: a holder that must not release its memory.

    Raises:
        OutOfMemoryError: even after idle memory was released.
        CancelledError: the job of this thread was cancelled.
    """
    with SCHEDULER.turn(Kind.STEP):
        return with_room(budget_of(model.device), lambda: model.logits(ids), keep=keep)


@contextmanager
def exclusive(
    kernels: Kernels = DEFAULT_KERNELS, tokens: int = 1, *, kind: Kind = Kind.BATCH
) -> Iterator[None]:
    """Take the device for operations outside a pass; a pass made inside is not interrupted.

    A long pass pauses for a turn, but not for a thread that only waits for the lock.

    Args:
        kernels, tokens: how the operations run on a CPU; see `Kernels.apply`.
        kind: their place in line.

    Raises:
        CancelledError: this thread's job was cancelled before its turn came.
    """
    with SCHEDULER.turn(kind), ENGINE_LOCK, torch.inference_mode(), kernels.apply(tokens):
        yield


short_turn = partial(exclusive, kind=Kind.STEP)  # for a few operations, queued as a single step
