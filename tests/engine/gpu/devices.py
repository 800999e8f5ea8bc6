"""Marks for tests that need a GPU, and a check that no code waits for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

GPU = pytest.mark.gpu
WHERE_THERE_IS_ONE = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="there is no CUDA device here"
)


class _NoNumbers(TorchDispatchMode):
    """Refuse operations that would wait for a GPU, in which Python looks at a tensor's numbers."""

    LOOKS = ("item", "_local_scalar_dense", "is_nonzero", "nonzero", "equal", "masked_select")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.name().removeprefix("aten::").split(".")[0]
        if name in self.LOOKS:
            raise RuntimeError(f"called a synchronizing operation: {name}")
        return func(*args, **(kwargs or {}))


@contextmanager
def no_waiting(device: torch.device) -> Iterator[None]:
    """Fail if any code within waits for the device, except on an event on purpose."""
    if device.type != "cuda":
        with _NoNumbers():
            yield
        return
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def waiting(call: Callable) -> Callable:
    """Return `call`, allowed to wait for a GPU within `no_waiting`."""

    def allowed(rows: torch.Tensor) -> object:
        if rows.device.type != "cuda":
            return call(rows)
        mode = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode("default")
        try:
            return call(rows)
        finally:
            torch.cuda.set_sync_debug_mode(mode)

    return allowed
