"""Which CPU kernels, dtype and threads a model decodes with, found by a short calibration.

A decode step multiplies one row by every weight matrix, a prefill many rows. On some CPUs bf16 runs
twice as fast through PyTorch's own kernels as through oneDNN for one row, and many times slower for
a prefill; on others oneDNN wins both. So nothing is assumed: a few steps of each kind are timed
when a model is loaded.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

# The oneDNN switch and the number of threads belong to the whole process, so one lock guards every
# forward pass, whichever model it runs.
ENGINE_LOCK = threading.RLock()

_REPEATS = 3
_PRODUCT_REPEATS = 12  # a single product takes a millisecond, so noise can be waited out
# Fewer threads are taken only for a clear gain: on a busy machine a few steps measure noise too.
_CLEAR_GAIN = 0.85


@dataclass(frozen=True)
class Kernels:
    """How single-token steps run.

    Attributes:
        onednn: whether decode steps go through oneDNN (prefills always do).
        threads: CPU threads of a forward pass.
    """

    onednn: bool = True
    threads: int = 0  # 0: as PyTorch chooses

    @contextmanager
    def apply(self, *, single_token: bool) -> Iterator[None]:
        """Run a forward pass with these kernels. To be entered with `ENGINE_LOCK` held."""
        if self.threads and torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)
        if self.onednn or not single_token:
            yield
            return
        # `flags` would set the TF32 switch too and warn about it; this sets the one switch.
        before = torch.backends.mkldnn.set_flags(_enabled=False)
        try:
            yield
        finally:
            torch.backends.mkldnn.set_flags(*before[:1])


DEFAULT_KERNELS = Kernels()


def fastest_cpu_dtype(checkpoint_dtype: torch.dtype, rows: int, columns: int) -> torch.dtype:
    """The dtype to decode in on this CPU: the checkpoint's, or float32 where that is faster.

    Half-precision weights are half as much to read, but a CPU without instructions for them loses
    more by converting. Times one product of the size of the output layer each way. A float32
    checkpoint stays float32: precision is never given up for speed unasked.
    """
    if checkpoint_dtype == torch.float32:
        return torch.float32
    best: dict[torch.dtype, float] = {}
    with ENGINE_LOCK, torch.inference_mode():
        for dtype in (checkpoint_dtype, torch.float32):
            weight = torch.ones(rows, columns, dtype=dtype)
            row = torch.ones(1, columns, dtype=dtype)

            def product(weight: torch.Tensor = weight, row: torch.Tensor = row) -> None:
                torch.nn.functional.linear(row, weight)

            best[dtype] = min(
                _time(Kernels(onednn=onednn), product, _PRODUCT_REPEATS) for onednn in (True, False)
            )
    return min(best, key=best.__getitem__)


def calibrate(step: Callable[[], None], *, half_precision: bool) -> Kernels:
    """The fastest kernels for a model's decode step on this CPU.

    Args:
        step: runs one decode step (already warmed up).
        half_precision: whether the weights are bf16 or fp16; only then does oneDNN matter.
    """
    threads = torch.get_num_threads()
    candidates = [Kernels(onednn=True, threads=threads)]
    if half_precision:
        candidates.append(Kernels(onednn=False, threads=threads))
    times = {kernels: _time(kernels, step) for kernels in candidates}
    best = min(times, key=times.__getitem__)
    if threads > 1:
        single = Kernels(onednn=best.onednn, threads=1)
        if _time(single, step) < _CLEAR_GAIN * times[best]:
            best = single
        torch.set_num_threads(threads)
    return best


def _time(kernels: Kernels, step: Callable[[], None], repeats: int = _REPEATS) -> float:
    """Seconds of the fastest of a few runs, after one that is not counted."""
    with kernels.apply(single_token=True):
        step()
        fastest = float("inf")
        for _ in range(repeats):
            start = time.perf_counter()
            step()
            fastest = min(fastest, time.perf_counter() - start)
    return fastest
