"""A product of matrices of one size, timed again and again: whether the machine keeps its speed.

A laptop that grows warm lowers its clock, another program takes a core, a container is moved. Then
figures measured before and after do not compare. The reference tells.
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
PRODUCTS = 16  # long enough for another program to take the core meanwhile
CHANGE = 0.25  # share by which it must differ from its median to count as another speed


class Reference:
    """The reference product of a model's machine: float32, on its device, with its threads.

    Args:
        model: whose device and threads it takes.
        clock: what it is timed by.
    """

    def __init__(
        self, model: LanguageModel, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._model, self._clock = model, clock

    @cached_property  # a measurement that is only estimated needs none
    def _matrix(self) -> torch.Tensor:
        """(size, size) on the device."""
        size = SIZE if self._model.device.type == "cpu" else GPU_SIZE
        generator = torch.Generator().manual_seed(0)
        return torch.randn(size, size, generator=generator).to(self._model.device)

    def ms(self) -> float:
        """Its time now, the mean of sixteen; raises `CancelledError` as any turn does."""
        with exclusive(self._model.kernels, tokens=2):
            torch.mm(self._matrix, self._matrix)  # the first one is slower than all others
            synchronize(self._model.device)
            start = self._clock()
            for _ in range(PRODUCTS):
                torch.mm(self._matrix, self._matrix)
            synchronize(self._model.device)
            return (self._clock() - start) * 1e3 / PRODUCTS


def synchronize(device: torch.device) -> None:
    """Wait until the device has done all that it was given; nothing on a CPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def changed(times: Sequence[float]) -> list[int]:
    """Places of the references that were measured at another speed than most."""
    if len(times) < 2:
        return []
    middle = statistics.median(times)
    return [place for place, ms in enumerate(times) if abs(ms / middle - 1) > CHANGE]
