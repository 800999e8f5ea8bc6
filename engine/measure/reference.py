"""A fixed matrix product, timed repeatedly to see if the machine keeps its speed.

A warm laptop lowers its clock, another program takes a core, a container moves. Then figures from
before and after are not comparable. The reference shows this.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from functools import cached_property

import torch

from engine.model import LanguageModel
from engine.runner.turns import exclusive

SIZE = 384  # rows and columns: about a millisecond on one core
GPU_SIZE = 2048
PRODUCTS = 16  # long enough for another program to take the core in between
CHANGE = 0.25  # share by which a time must differ from the median to count as a different speed


class Reference:
    """The reference product of a model's machine: float32, on its device, with its threads.

    Args:
        model: the model whose device and threads the product uses.
        clock: the clock that times it.
    """

    def __init__(
        self, model: LanguageModel, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._model, self._clock = model, clock

    @cached_property  # a measurement that is only estimated needs none
    def _matrix(self) -> torch.Tensor:
        """The matrix to multiply, on the model's device: (size, size) float32."""
        size = SIZE if self._model.device.type == "cpu" else GPU_SIZE
        generator = torch.Generator().manual_seed(0)
        return torch.randn(size, size, generator=generator).to(self._model.device)

    def ms(self) -> float:
        """Return the product's mean time over sixteen; raises `CancelledError` as any turn does."""
        with exclusive(self._model.kernels, tokens=2):
            torch.mm(self._matrix, self._matrix)  # the first one is slower than the others
            synchronize(self._model.device)
            start = self._clock()
            for _ in range(PRODUCTS):
                torch.mm(self._matrix, self._matrix)
            synchronize(self._model.device)
            return (self._clock() - start) * 1e3 / PRODUCTS


def synchronize(device: torch.device) -> None:
    """Wait until the device has finished all its work; does nothing on a CPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def changed(times: Sequence[float]) -> list[int]:
    """Return the indices of the times that differ from the median by more than a quarter."""
    if len(times) < 2:
        return []
    middle = statistics.median(times)
    return [place for place, ms in enumerate(times) if abs(ms / middle - 1) > CHANGE]
