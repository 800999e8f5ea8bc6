"""Rows of logits on their way from the model's device to this process.

An ordinary copy from a GPU goes through pages that the driver pins and copies on its own, and waits
for everything that the GPU has to do. Here the row goes into one pinned buffer, used again and
again, and the only wait is for that copy.
"""

from __future__ import annotations

import numpy as np
import torch

# Numbers that the buffer holds at most, 16 MiB. More are brought in several parts.
MOST = 2**22


class ToHost:
    """Brings rows from one device. To be used by one thread at a time.

    Args:
        device: where the rows are.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._buffer: torch.Tensor | None = None

    def __call__(self, rows: torch.Tensor) -> np.ndarray:
        """Float32 of the same shape in this process' memory, read-only; waits until it is there."""
        host = self._from_cuda(rows) if self._device.type == "cuda" else _from_cpu(rows)
        array = host.numpy()
        array.setflags(write=False)  # nobody changes the record by accident
        return array

    def _from_cuda(self, rows: torch.Tensor) -> torch.Tensor:
        there = rows.to(torch.float32).reshape(-1)
        host = torch.empty(there.shape, dtype=torch.float32)
        if self._buffer is None or self._buffer.numel() < min(there.numel(), MOST):
            self._buffer = _pinned(min(there.numel(), MOST))
        for start in range(0, there.numel(), MOST):
            part = there[start : start + MOST]
            landing = self._buffer[: part.numel()]
            landing.copy_(part, non_blocking=True)
            _wait(self._device)
            host[start : start + part.numel()].copy_(landing)
        return host.view(rows.shape)


def _from_cpu(rows: torch.Tensor) -> torch.Tensor:
    """Rows of the CPU, or of a device whose copies know nothing of pinned memory."""
    host = rows.to(torch.float32).cpu()
    # A view would keep the logits of all positions alive.
    return host.clone() if host.untyped_storage().nbytes() > host.nbytes else host


def _pinned(numbers: int) -> torch.Tensor:
    return torch.empty(numbers, dtype=torch.float32, pin_memory=True)


def _wait(device: torch.device) -> None:
    """Wait for what was asked of the device so far in this thread's stream."""
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(device))
    event.synchronize()
