"""Which CPU kernels, dtype and threads a model decodes with, found by a short calibration.

A decode step multiplies one row by every weight matrix, a prefill many rows. On some CPUs bf16 runs
twice as fast through PyTorch's own kernels as through oneDNN for one row, and many times slower for
a prefill; on others oneDNN wins both. So nothing is assumed: a few steps of each kind are timed
when a model is loaded.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import torch

# The oneDNN switch and the number of threads belong to the whole process, so one lock guards every
# forward pass, whichever model it runs.
ENGINE_LOCK = threading.RLock()

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # names of mallopt(3)
_REPEATS = 3
_PRODUCT_REPEATS = 12  # a single product takes a millisecond, so noise can be waited out
# Several threads must gain this much over one.
_CLEAR_GAIN = 0.85
_HOPELESS = 4.0  # how much slower than usual shows that a core is taken
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 300.0  # seconds on a single thread
_SPIN = 0.02  # seconds that PyTorch's threads may go on spinning after a step
# From here on a prefill gains from every core; below, waking the threads costs more.
_MANY_TOKENS = 128


@dataclass(frozen=True)
class Kernels:
    """How forward passes run on a CPU.

    Attributes:
        onednn: whether single-token steps go through oneDNN (longer inputs always do).
        threads: CPU threads of passes over few tokens; 0 leaves all to PyTorch.
    """

    onednn: bool = True
    threads: int = 0

    @contextmanager
    def apply(self, tokens: int) -> Iterator[None]:
        """Run a forward pass over so many tokens. To be entered with `ENGINE_LOCK` held.

        The process' own setting is put back, so that nothing else notices.
        """
        threads = torch.get_num_threads()
        fewer = 0 < self.threads != threads and tokens < _MANY_TOKENS
        without_onednn = tokens == 1 and not self.onednn
        if fewer:
            torch.set_num_threads(self.threads)
        if without_onednn:
            _switch_onednn(False)
        try:
            yield
        finally:
            if fewer:
                torch.set_num_threads(threads)
            if without_onednn:
                _switch_onednn(True)


def _switch_onednn(on: bool) -> None:
    # The public context manager would set the TF32 switch too, and warn about it.
    torch.backends.mkldnn.set_flags(_enabled=on, _fp32_precision=None)


DEFAULT_KERNELS = Kernels()


def keep_freed_memory() -> None:
    """Let the C library reuse freed rows of logits instead of handing them back to the system.

    A row of 152k scores is above the size from which glibc maps fresh, zeroed pages each time, and
    faulting those in takes longer than the arithmetic on them: shaping a row is up to three times
    faster without. The price is at most 256 MiB of freed memory that stays with the process. Other
    C libraries do not have the switch and are left alone.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, 256 * 2**20)
        mallopt(_M_MMAP_THRESHOLD, 32 * 2**20)


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


def calibrate(step: Callable[[], None], dtype: torch.dtype) -> tuple[Kernels, float]:
    """The fastest kernels for a model's decode step on this CPU, and its seconds with them.

    Args:
        step: runs one decode step.
        dtype: what the weights are stored in.
    """
    times = _times(_candidates(dtype), step, _REPEATS)
    best = min(times, key=times.__getitem__)
    return best, times[best]


class CrowdGuard:
    """Decode steps on several threads, but on one while other programs take the cores.

    Where one of the cores in use is taken, all threads wait for the slowest at every product, and a
    step takes a hundred times as long. So a step far slower than usual sends the next ones to a
    single thread; after a while several are tried again, later each time that they fail. And where
    steps come one by one, as a person asks for them, a step looks first whether a core is taken: a
    browser that draws the last step often does.

    Attributes:
        kernels: what to use while the machine is free; their results must not depend on the number
            of threads.
        usual: seconds of a step then.
    """

    def __init__(self, kernels: Kernels, usual: float) -> None:
        self.kernels = kernels
        self.usual = usual
        self._alone = replace(kernels, threads=1)
        self._pause = _FIRST_PAUSE
        self._until = 0.0
        self._last = 0.0

    def current(self) -> Kernels:
        """The kernels for the next step."""
        now = time.perf_counter()
        if now < self._until:
            return self._alone
        # Right after a step its own threads still spin, and would be counted.
        is_lone = self.kernels.threads > 1 and now - self._last > _SPIN
        if is_lone and _busy_elsewhere() + self.kernels.threads > _cores():
            return self._alone
        return self.kernels

    def took(self, kernels: Kernels, seconds: float) -> None:
        """Note how long a single-token step took with these kernels."""
        self._last = time.perf_counter()
        if kernels.threads == 1:
            return
        if seconds > _HOPELESS * self.usual:
            self._until = time.perf_counter() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        else:
            self._pause = _FIRST_PAUSE


def _busy_elsewhere() -> int:
    """Other threads on this machine that run or wait for a core now; 0 where nobody can say."""
    if _cores() < (os.cpu_count() or 1):
        return 0  # this process has cores of its own, and the count below is the whole machine's
    try:
        return int(Path("/proc/loadavg").read_bytes().split()[3].split(b"/")[0]) - 1
    except (OSError, IndexError, ValueError):  # not Linux
        return 0


@cache
def _cores() -> int:
    """Cores that this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def _candidates(dtype: torch.dtype) -> list[Kernels]:
    """All ways to run a step in this dtype; float32 products hardly depend on oneDNN."""
    threads = sorted({1, torch.get_num_threads()})
    onednn = (True,) if dtype == torch.float32 else (True, False)
    return [Kernels(on, count) for on in onednn for count in threads]


def _times(
    candidates: list[Kernels], step: Callable[[], None], repeats: int
) -> dict[Kernels, float]:
    """Seconds of the fastest run of each; more threads are charged for being less dependable."""
    times: dict[Kernels, float] = {}
    for kernels in candidates:
        fastest = min(times.values(), default=float("inf"))
        charge = 1 if kernels.threads == 1 else _CLEAR_GAIN
        times[kernels] = _time(kernels, step, repeats, give_up=_HOPELESS * fastest) / charge
    return times


def _time(kernels: Kernels, step: Callable[[], None], repeats: int, give_up: float) -> float:
    """Seconds of the fastest of a few runs after a first; or of that one, if above `give_up`."""
    with kernels.apply(tokens=1):
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
