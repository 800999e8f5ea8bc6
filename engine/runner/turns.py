"""Passes and operations outside of a runner: each in its turn, so that a step waits for a layer.

    with exclusive(model.kernels):        # behind the steps of visitors
        torch.mm(matrix, matrix)          # with nothing else on the device

A time goes from the moment at which the pass has the device to the one at which its logits are in
this process' memory. On a GPU it therefore holds all that the pass does there. Waiting for one's
turn, standing still between two layers while a visitor's step goes first, sampling and the record
of a decoder are not in it. With `processor_clock` it is processor time, which other programs hardly
lengthen.
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

# Tokens of one pass over a whole text: the bundled model takes 0.1 s for this many.
AT_ONCE = 1024
Clock = Callable[[], float]  # seconds since any moment
give_way = SCHEDULER.give_way  # between two passes of long work


@dataclass(frozen=True)
class TimedRead:
    """A text read from its beginning.

    Attributes:
        logits: (vocab,) float32 after its last token.
        ms: time of all its passes, in milliseconds.
        passes: how many there were.
        cache: what was cached of it.
    """

    logits: np.ndarray
    ms: float
    passes: int
    cache: Cache


def processor_clock(model: LanguageModel) -> Clock:
    """A clock of the processor time that passes take; of wall time on any other device.

    Where all passes take one thread, it counts the thread that asks; else all of this process.
    """
    if model.device.type != "cpu":
        return time.perf_counter
    is_single = model.kernels.threads == model.kernels.prefill_threads == 1
    return time.thread_time if is_single else time.process_time


def at_once(model: LanguageModel) -> int:
    """Tokens of a text that are read in one pass; longer ones take several.

    A large model on a CPU takes its usual chunks, so that others wait no longer than for any
    prompt. In half precision chunks gain nothing: a pass repacks all weights first (see
    `engine.model.kernels`), which takes far longer than the tokens themselves.
    """
    if not model.can_chunk:
        return model.context_length or 2**31
    repacks = model.device.type == "cpu" and not model.kernels.onednn
    return AT_ONCE if is_small(model) or repacks else chunk_of(model)


def is_small(model: LanguageModel) -> bool:
    """Tell whether the model's passes are short; a large model's are short only on a GPU."""
    return model.device.type != "cpu" or model.parameters < LARGE_PARAMETERS


def timed_read(
    model: LanguageModel, token_ids: Sequence[int], clock: Clock | None = None
) -> TimedRead:
    """Read a text from its beginning, into an empty cache; by wall time or another clock.

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
    """Read one more token: (vocab,) float32 logits, and milliseconds; the clock as `timed_read`'s.

    Raises:
        OutOfMemoryError: the device has no memory left; the cache is to be thrown away.
        CancelledError: the job of this thread was cancelled; nothing has been read.
    """
    with SCHEDULER.turn(Kind.BATCH):  # the steps of visitors go first
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
        at, remedy: what an `OutOfMemoryError` says; else it raises as `timed_step`.
    """
    at = at or msg("with {rows:,} texts at once", len(token_ids))
    with SCHEDULER.turn(Kind.BATCH) as turn, model.naming_memory(at, remedy):
        start = time.perf_counter()
        logits, _ = model.forward_rows([[token_id] for token_id in token_ids], cache, position)
        return logits, (time.perf_counter() - start - turn.seconds) * 1e3


def read_canvas(
    model: DiffusionModel, ids: Sequence[int], *, keep: Holder | None = None
) -> np.ndarray:
    """(length, vocab) logits of a canvas by a pass in its turn, if need be with more room.

    Args:
        model: the model.
        ids: the canvas.
        keep: what must not give its memory back.

    Raises:
        OutOfMemoryError: also after idle memory was given back.
        CancelledError: the job of this thread was cancelled.
    """
    with SCHEDULER.turn(Kind.STEP):
        return with_room(budget_of(model.device), lambda: model.logits(ids), keep=keep)


@contextmanager
def exclusive(
    kernels: Kernels = DEFAULT_KERNELS, tokens: int = 1, *, kind: Kind = Kind.BATCH
) -> Iterator[None]:
    """Have the device for operations outside a pass; a pass made within is not interrupted.

    A long pass stands still for a turn, and not for a thread that waits for the lock alone.

    Args:
        kernels, tokens: how they run on a CPU; see `Kernels.apply`.
        kind: their place in line.

    Raises:
        CancelledError: this thread's job was cancelled before its turn came.
    """
    with SCHEDULER.turn(kind), ENGINE_LOCK, torch.inference_mode(), kernels.apply(tokens):
        yield


short_turn = partial(exclusive, kind=Kind.STEP)  # for a few operations, in line as a single step
