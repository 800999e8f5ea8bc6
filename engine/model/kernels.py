"""Fixed rules for a model's CPU kernels, dtype and threads, so that a seed reproduces its text.

oneDNN and PyTorch's own kernels add in different orders. In float32, so do one thread and several.
Logits then differ in their last bits, and in bfloat16 the text of a seed soon differs too. So the
choice depends on the model and on the features of the CPU, never on a timing, which varies from day
to day. Every trace records its `Kernels`.

    dtype     half precision if the CPU has instructions for it, else float32
    oneDNN    for all except single rows in half precision: it repacks the weights at every
              product, which pays off for a prefill and not for one row (twice as slow on the CPUs
              tried); and for float32, which PyTorch gives to MKL (see `engine.model.linear`)
    threads   one for small models, whose products finish before a second thread wakes, else all;
              waiting threads sleep (see `engine/__init__.py`), so that another program on the same
              cores slows a step down as little as possible
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from engine.sampling.exponentials import compute_by


class EngineLock:
    """A reentrant lock that counts how many times its owner has acquired it.

    Attributes:
        depth: how many times its owner holds it; only the owner may read it.
    """

    def __init__(self) -> None:
        self.depth = 0
        self._lock = threading.RLock()

    def acquire(self) -> None:
        """Acquire the lock, or acquire it once more."""
        self._lock.acquire()
        self.depth += 1

    def release(self) -> None:
        """Release the lock once."""
        self.depth -= 1
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


# The oneDNN switch and the number of threads belong to the whole process, so one lock guards the
# forward passes of all models.
ENGINE_LOCK = EngineLock()

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # names of mallopt(3)
# Weights that a single thread reads about as fast as it can wake others.
_SMALL_BYTES = 100e6
# PyTorch does not split an array of this size among threads.
_ON_ONE_THREAD = 16_384
# From this many tokens on, a pass counts as a prefill.
_MANY_TOKENS = 128
# CPU features, one of which suffices, as `torch.cpu.get_capabilities` names them: x86, then ARM.
HALF_PRECISION: dict[torch.dtype, tuple[str, ...]] = {
    torch.bfloat16: ("avx512_bf16", "amx_bf16", "bf16"),
    torch.float16: ("avx512_fp16", "amx_fp16", "fp16_arith"),
}


@dataclass(frozen=True)
class Kernels:
    """Settings of forward passes on a CPU.

    Attributes:
        onednn: whether single-token steps may go through oneDNN (longer inputs always may).
        threads: CPU threads of passes over fewer than 128 tokens; 0 leaves it to PyTorch.
        prefill_threads: CPU threads of longer passes.
        onednn_float32: whether large linear layers in float32 go through oneDNN, whatever the
            number of tokens; if not, PyTorch gives them to MKL.
    """

    onednn: bool = True
    threads: int = 0
    prefill_threads: int = 0
    onednn_float32: bool = False

    @contextmanager
    def apply(self, tokens: int) -> Iterator[None]:
        """Apply the settings to a pass over `tokens` tokens; enter with `ENGINE_LOCK` held.

        The process' own settings are restored afterwards, so that no other code is affected.
        """
        _THREAD.take_its_number()
        usual = _Settings(torch.get_num_threads(), onednn=True, spares_rows=False, float32=False)
        wanted = self.threads if tokens < _MANY_TOKENS else self.prefill_threads
        without_onednn = tokens == 1 and not self.onednn
        own = _Settings(
            wanted or usual.threads,
            onednn=not without_onednn,
            spares_rows=not self.onednn and not without_onednn,
            float32=self.onednn_float32,
        )
        before = _Now.usual, _Now.own
        _Now.usual, _Now.own = usual, own
        own.replace(usual)
        try:
            yield
        finally:
            usual.replace(own)
            _Now.usual, _Now.own = before


class _Settings(NamedTuple):
    """Settings that passes change for the whole process.

    Attributes:
        threads: PyTorch's number of threads.
        onednn: whether oneDNN is used.
        spares_rows: whether single rows within a pass over many tokens skip oneDNN.
        float32: whether linear layers in float32 use oneDNN.
    """

    threads: int
    onednn: bool
    spares_rows: bool
    float32: bool

    def replace(self, before: _Settings) -> None:
        """Apply those settings that differ from `before`."""
        if self.threads != before.threads:
            torch.set_num_threads(self.threads)
        if self.onednn != before.onednn:
            _switch_onednn(self.onednn)


class _Now:
    """Settings of the process, and of the running pass (guarded by `ENGINE_LOCK`)."""

    usual: _Settings | None = None
    own: _Settings | None = None


def multiplies_float32_by_onednn() -> bool:
    """Return whether the running pass uses oneDNN for float32 products."""
    return _Now.own is not None and _Now.own.float32


def has_onednn_float32() -> bool:
    """Return whether PyTorch uses MKL for float32 here, and can use oneDNN instead."""
    both = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
    return both and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def can_set_aside() -> bool:
    """Return whether this thread's running pass may be suspended for others.

    A thread that holds the lock around several passes must have no other pass between them.
    """
    return ENGINE_LOCK.depth == 1 and _Now.own is not None


@contextmanager
def set_aside() -> Iterator[None]:
    """Suspend this thread's pass in the block; other threads get the lock and the usual settings.

    Only if `can_set_aside` allows it.
    """
    usual, own = _Now.usual, _Now.own
    usual.replace(own)
    _Now.usual = _Now.own = None
    ENGINE_LOCK.release()
    try:
        yield
    finally:
        ENGINE_LOCK.acquire()
        _Now.usual, _Now.own = usual, own
        own.replace(usual)


def spare_single_rows(layer: torch.nn.Module) -> None:
    """Make a layer skip oneDNN when it gets one row within a pass over many tokens.

    Only the last position goes through the output layer. Repacking its weights for one row took
    five times as long as the rest of a short prompt.
    """
    is_off = False

    def before(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        nonlocal is_off
        spares = _Now.own is not None and _Now.own.spares_rows
        is_off = spares and inputs[0].numel() == inputs[0].shape[-1]
        if is_off:
            _switch_onednn(False)

    def after(*_: object) -> None:
        if is_off:
            _switch_onednn(True)

    layer.register_forward_pre_hook(before)
    layer.register_forward_hook(after, always_call=True)


def _switch_onednn(on: bool) -> None:
    # The public context manager would set the TF32 switch too, and warn about it.
    torch.backends.mkldnn.set_flags(_enabled=on, _fp32_precision=None)


DEFAULT_KERNELS = Kernels()


def keep_freed_memory() -> None:
    """Let the C library reuse freed rows of logits instead of returning them to the system.

    A row of 152k scores is above the size from which glibc maps fresh, zeroed pages each time.
    Faulting those in takes longer than the arithmetic on them: applying samplers to a row is up to
    three times faster without. The price is at most 256 MiB of freed memory that stays with the
    process. Other C libraries lack the switch and are left alone.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, 256 * 2**20)
        mallopt(_M_MMAP_THRESHOLD, 32 * 2**20)


class _Thread(threading.local):
    """PyTorch's number of threads, as this thread has adopted it.

    A thread's first operation adopts the process' current number for good. Outside `ENGINE_LOCK`,
    that may be a number that another thread's running pass has set.
    """

    has_number = False  # of the process itself
    is_doubtful = False

    def takes_any_number(self) -> None:
        """Record that an operation outside the lock follows, which may adopt any number."""
        self.is_doubtful = not self.has_number

    def take_its_number(self) -> None:
        """Adopt the process' own number; call with the lock held, before a pass changes it."""
        if self.is_doubtful:
            numbers: list[int] = []
            fresh = threading.Thread(target=lambda: numbers.append(torch.get_num_threads()))
            fresh.start()
            fresh.join()
            torch.set_num_threads(numbers[0])
        self.has_number, self.is_doubtful = True, False


_THREAD = _Thread()


def speed_up_exponentials() -> None:
    """Have PyTorch compute the exponentials of large rows if it is faster than NumPy.

    Without AVX-512 NumPy takes 5 ns for one exp in float64, PyTorch 2.
    """
    if torch.backends.cpu.get_cpu_capability() == "AVX2":
        compute_by(_exponentials)


def _exponentials(values: np.ndarray, *, out: np.ndarray) -> None:
    _THREAD.takes_any_number()
    for start in range(0, values.size, _ON_ONE_THREAD):
        part = slice(start, start + _ON_ONE_THREAD)
        torch.exp(torch.from_numpy(values[part]), out=torch.from_numpy(out[part]))


def cpu_dtype(checkpoint_dtype: torch.dtype) -> torch.dtype:
    """Return the dtype to decode in on this CPU: the checkpoint's, or float32 if that is faster.

    Half-precision weights are half as much to read, but a CPU without instructions for them loses
    more by converting, most of all in a prefill. A float32 checkpoint stays float32: precision is
    never traded for speed unless requested.
    """
    wanted = HALF_PRECISION.get(checkpoint_dtype, ())
    able = torch.cpu.get_capabilities()
    return checkpoint_dtype if any(able.get(name) for name in wanted) else torch.float32


def cpu_kernels(dtype: torch.dtype, weight_bytes: int) -> Kernels:
    """Choose a model's kernels by its dtype, its size and PyTorch's number of threads alone.

    Args:
        dtype: dtype of the weights.
        weight_bytes: bytes of all weights.
    """
    threads = 1 if weight_bytes < _SMALL_BYTES else torch.get_num_threads()
    is_half = dtype in HALF_PRECISION
    return Kernels(not is_half, threads, threads, not is_half and has_onednn_float32())
