"""Free memory of a device, if the system reports it, and ways to free more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

_MEMINFO = Path("/proc/meminfo")
# Version 2 and version 1 of Linux' control groups: a container's limit, and its use.
_GROUPS = (
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
)

_givers: list[Callable[[torch.device], bool]] = []


def on_shortage(give: Callable[[torch.device], bool]) -> None:
    """Register `give`, to be called when a device has too little memory for a model.

    Args:
        give: releases unused memory on that device; returns whether there was any.
    """
    _givers.append(give)


def make_room(device: torch.device) -> bool:
    """Have all registered functions release memory; returns False if there was none to release."""
    found = [give(device) for give in list(_givers)]
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return any(found)


def free_bytes(device: torch.device) -> int | None:
    """Return how many bytes can still be allocated on a device; None if the system does not say.

    On Linux, this is the minimum of the machine's and its container's free memory. It includes swap
    and memory that the system would release on demand (cached files).
    """
    if device.type == "cuda":
        # Blocks that PyTorch keeps for later use are free for it as well.
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + kept
    if device.type != "cpu" or not _MEMINFO.is_file():
        return None
    lines = (line.split() for line in _MEMINFO.read_text().splitlines())
    free = {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines}
    left = free.get("MemAvailable", free["MemFree"]) + free.get("SwapFree", 0)
    return min([left, *(_left_in(*group) for group in _GROUPS if (group[0] / group[1]).is_file())])


def _left_in(group: Path, limit: str, used: str) -> int:
    """Return the bytes that a control group has left; a huge number if it has no limit."""
    most = (group / limit).read_text().strip()
    if most == "max":
        return 2**63
    entries = (line.split() for line in (group / "memory.stat").read_text().splitlines())
    files = sum(int(n) for name, n in entries if name in ("inactive_file", "active_file"))
    return max(0, int(most) - int((group / used).read_text()) + files)
