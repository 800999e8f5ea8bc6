"""Ceilings of this machine: speed of reading memory, of copying it, and of matrix products.

Everything runs like a forward pass: through PyTorch, with the model's threads, in turn with other
visitors. On a GPU, each repetition waits for the device before and after.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from engine.errors import msg
from engine.measure.reference import synchronize
from engine.measure.roofline.results import COPY, PRODUCT, READ, READ_SMALL, Ceiling
from engine.model import LanguageModel
from engine.model.kernels import Kernels, has_onednn_float32
from engine.model.linear import linear
from engine.runner.turns import exclusive

MEMORY = 2**28  # bytes to read on a CPU: above the caches of all but the largest
GPU_MEMORY = 2**31
WIDTH = 4096  # values per row
PRODUCTS = (256, 512, 1024, 2048)
GPU_PRODUCTS = (1024, 2048, 4096, 8192)
REPEATS = 7
LONG_SECONDS = 0.15  # a product that would take longer is left out: others wait for their turn


@dataclass(frozen=True)
class Way:
    """An operation that is timed for a ceiling.

    Attributes:
        ceiling: the ceiling, still without rates.
        amount: bytes or operations of one repetition.
        kernels: CPU kernels that run it.
        made: allocates what the operation needs, and returns the function to time.
    """

    ceiling: Ceiling
    amount: int
    kernels: Kernels
    made: Callable[[], Callable[[], object]]

    def measured(self, device: torch.device) -> Ceiling:
        """Return the ceiling with its rates; raises `CancelledError` as any turn does."""
        rates = []
        with torch.inference_mode():
            run = self.made()
            for repeat in range(REPEATS + 1):
                with exclusive(self.kernels):
                    synchronize(device)
                    start = time.perf_counter()
                    run()
                    synchronize(device)
                    seconds = time.perf_counter() - start
                if repeat:  # the first one is slower than the others
                    rates.append(self.amount / seconds)
        return replace(self.ceiling, rates=tuple(rates))


def bandwidths(model: LanguageModel, large: int) -> Iterator[Way]:
    """Yield ways to read and copy `large` bytes, and with all threads if single steps use fewer."""
    is_cpu = model.device.type == "cpu"
    small = max(2**20, min(large, model.read_bytes))
    every = torch.get_num_threads()
    usual = (model.kernels.threads or every) if is_cpu else 0
    for threads in dict.fromkeys((usual, every if is_cpu else 0)):
        yield from _reads(model, READ, large, threads)
        yield _copy(model, large, threads)
    yield from _reads(model, READ_SMALL, small, usual)


def _reads(model: LanguageModel, kind: str, size: int, threads: int) -> Iterator[Way]:
    kernels = replace(model.kernels, threads=threads, prefill_threads=threads)

    def summed() -> Callable[[], object]:
        return _filled(model, size, torch.float32).sum

    def multiplied() -> Callable[[], object]:
        matrix = _filled(model, size, model.dtype).view(-1, WIDTH)
        row = torch.ones(1, WIDTH, dtype=model.dtype, device=model.device)
        return lambda: linear(row, matrix)

    size = size // (4 * WIDTH) * 4 * WIDTH
    name = _dtype(model.dtype)
    summing = Ceiling(kind, msg("sum of all values"), "float32", threads, size, ())
    yield Way(summing, size, kernels, summed)
    product = Ceiling(kind, msg("matrix times one row"), name, threads, size, ())
    yield Way(product, size, kernels, multiplied)


def _copy(model: LanguageModel, size: int, threads: int) -> Way:
    def copied() -> Callable[[], object]:
        source = _filled(model, size // 2, torch.float32)
        target = torch.empty_like(source)
        return lambda: target.copy_(source)

    ceiling = Ceiling(COPY, msg("copy; bytes read and written"), "float32", threads, size, ())
    return Way(ceiling, size, Kernels(threads=threads, prefill_threads=threads), copied)


def products(model: LanguageModel, sizes: Sequence[int]) -> Iterator[Way]:
    """Yield products of growing matrices, in the model's dtype and in float32."""
    is_cpu = model.device.type == "cpu"
    threads = (model.kernels.prefill_threads or torch.get_num_threads()) if is_cpu else 0
    for dtype in dict.fromkeys((model.dtype, torch.float32)):
        for size in sizes:
            yield _product(model, dtype, size, threads)


def _product(model: LanguageModel, dtype: torch.dtype, size: int, threads: int) -> Way:
    def multiplied() -> Callable[[], object]:
        generator = torch.Generator().manual_seed(0)
        matrix = torch.randn(size, size, generator=generator).to(model.device, dtype)
        return lambda: linear(matrix, matrix)

    ceiling = Ceiling(PRODUCT, msg("product of two matrices"), _dtype(dtype), threads, size, ())
    kernels = Kernels(True, threads, threads, onednn_float32=has_onednn_float32())
    return Way(ceiling, 2 * size**3, kernels, multiplied)


def takes_long(way: Way, measured: list[Ceiling]) -> bool:
    """Return whether a product would keep others waiting, judged by the best rate of its dtype."""
    ceiling = way.ceiling
    if ceiling.kind != PRODUCT:
        return False
    rates = [one.best for one in measured if (one.kind, one.dtype) == (PRODUCT, ceiling.dtype)]
    return bool(rates) and way.amount / max(rates) > LONG_SECONDS


def _filled(model: LanguageModel, size: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.ones(size // dtype.itemsize, dtype=dtype, device=model.device)


def _dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
