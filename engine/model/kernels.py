"""Which CPU kernels, dtype and threads a model decodes with: fixed rules, so that texts come back.

oneDNN and PyTorch's own kernels add in different orders, and so, in float32, do one thread and
several. Logits then differ in their last bits, and in bfloat16 soon the text of a seed with them.
So the choice follows from the model and from what the CPU can do, never from a timing, which falls
out one way today and another tomorrow. `Kernels` goes into every trace.

    dtype     half precision where the CPU has instructions for it, else float32
    oneDNN    for all but single rows in half precision: it repacks the weights at every product,
              which a prefill earns back and one row does not (twice as slow on the CPUs tried)
    threads   one for small models, whose products are over before a second thread has woken, else
              all; those that wait sleep (see `engine/__init__.py`), so that another program on the
              same cores slows a step down no more than it must
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

# The oneDNN switch and the number of threads belong to the whole process, so one lock guards every
# forward pass, whichever model it runs.
ENGINE_LOCK = threading.RLock()

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # names of mallopt(3)
# Weights that a single thread reads about as fast as it can wake others.
_SMALL_BYTES = 100e6
# From here on a pass counts as a prefill.
_MANY_TOKENS = 128
# What a CPU must have any of, in the names of `torch.cpu.get_capabilities`: x86, then ARM.
HALF_PRECISION: dict[torch.dtype, tuple[str, ...]] = {
    torch.bfloat16: ("avx512_bf16", "amx_bf16", "bf16"),
    torch.float16: ("avx512_fp16", "amx_fp16", "fp16_arith"),
}


@dataclass(frozen=True)
class Kernels:
    """How forward passes run on a CPU.

    Attributes:
        onednn: whether single-token steps go through oneDNN (longer inputs always do).
        threads: CPU threads of passes over fewer than 128 tokens; 0 leaves it to PyTorch.
        prefill_threads: those of longer passes.
    """

    onednn: bool = True
    threads: int = 0
    prefill_threads: int = 0

    @contextmanager
    def apply(self, tokens: int) -> Iterator[None]:
        """Run a forward pass over so many tokens. To be entered with `ENGINE_LOCK` held.

        The process' own setting is put back, so that nothing else notices.
        """
        threads = torch.get_num_threads()
        wanted = self.threads if tokens < _MANY_TOKENS else self.prefill_threads
        others = 0 < wanted != threads
        without_onednn = tokens == 1 and not self.onednn
        _Rows.spared = not self.onednn and not without_onednn
        if others:
            torch.set_num_threads(wanted)
        if without_onednn:
            _switch_onednn(False)
        try:
            yield
        finally:
            _Rows.spared = False
            if others:
                torch.set_num_threads(threads)
            if without_onednn:
                _switch_onednn(True)


class _Rows:
    """Whether single rows do without oneDNN in the pass that runs just now (see `ENGINE_LOCK`)."""

    spared = False


def spare_single_rows(layer: torch.nn.Module) -> None:
    """Let a layer do without oneDNN where it is given one row amid a pass over many tokens.

    Only the last position goes through the output layer, and to repack its weights for one row took
    five times as long as all else of a short prompt.
    """
    is_off = False

    def before(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        nonlocal is_off
        is_off = _Rows.spared and inputs[0].numel() == inputs[0].shape[-1]
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


def cpu_dtype(checkpoint_dtype: torch.dtype) -> torch.dtype:
    """The dtype to decode in on this CPU: the checkpoint's, or float32 where that is faster.

    Half-precision weights are half as much to read, but a CPU without instructions for them loses
    more by converting, most of all in a prefill. A float32 checkpoint stays float32: precision is
    never given up for speed unasked.
    """
    wanted = HALF_PRECISION.get(checkpoint_dtype, ())
    able = torch.cpu.get_capabilities()
    return checkpoint_dtype if any(able.get(name) for name in wanted) else torch.float32


def cpu_kernels(dtype: torch.dtype, weight_bytes: int) -> Kernels:
    """The kernels of a model: by its dtype and size and by PyTorch's number of threads alone.

    Args:
        dtype: what the weights are stored in.
        weight_bytes: bytes of all weights.
    """
    threads = 1 if weight_bytes < _SMALL_BYTES else torch.get_num_threads()
    return Kernels(dtype not in HALF_PRECISION, threads, threads)
