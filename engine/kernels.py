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
# Several threads must gain this much over one: where another program takes one of the cores, all of
# them wait for the slowest, and a step then takes ten times as long.
_CLEAR_GAIN = 0.85
_HOPELESS = 4.0  # a way this much slower at its first run is not tried again


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

            times = _times(_candidates(dtype), product, _PRODUCT_REPEATS)
            best[dtype] = min(times.values())
    return min(best, key=best.__getitem__)


def calibrate(step: Callable[[], None], dtype: torch.dtype) -> Kernels:
    """The fastest kernels for a model's decode step on this CPU.

    Args:
        step: runs one decode step.
        dtype: what the weights are stored in.
    """
    times = _times(_candidates(dtype), step, _REPEATS)
    return min(times, key=times.__getitem__)


def _candidates(dtype: torch.dtype) -> list[Kernels]:
    """All ways to run a step in this dtype; float32 products hardly depend on oneDNN."""
    threads = sorted({1, torch.get_num_threads()})
    onednn = (True,) if dtype == torch.float32 else (True, False)
    return [Kernels(on, count) for on in onednn for count in threads]


def _times(
    candidates: list[Kernels], step: Callable[[], None], repeats: int
) -> dict[Kernels, float]:
    """Seconds of the fastest run of each; more threads are charged for being less dependable."""
    before = torch.get_num_threads()
    times: dict[Kernels, float] = {}
    for kernels in candidates:
        fastest = min(times.values(), default=float("inf"))
        charge = 1 if kernels.threads == 1 else _CLEAR_GAIN
        times[kernels] = _time(kernels, step, repeats, give_up=_HOPELESS * fastest) / charge
    torch.set_num_threads(before)
    return times


def _time(kernels: Kernels, step: Callable[[], None], repeats: int, give_up: float) -> float:
    """Seconds of the fastest of a few runs after a first; or of that one, if above `give_up`."""
    with kernels.apply(single_token=True):
        fastest = float("inf")
        for run in range(1 + repeats):
            start = time.perf_counter()
            step()
            seconds = time.perf_counter() - start
            if run == 0:
                if seconds > give_up:
                    return seconds
                continue  # caches and lazy set-up
            fastest = min(fastest, seconds)
    return fastest
