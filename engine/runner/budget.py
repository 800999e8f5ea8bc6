"""One limit on the memory that texts take on a device, shared by all models and visitors.

Caches, recent rows and hidden states grow with every token of every visitor. Their owners tell the
budget what they hold. Where all of it together is beyond the limit, those that were used longest
ago give theirs back, and make it again when they go on.

A batch cannot give its caches back while it runs: it reserves beforehand what it will need.
"""

from __future__ import annotations

import threading
import weakref
from functools import cache, partial
from pathlib import Path
from typing import Protocol

import psutil
import torch

# Of the memory that this process may have: the rest is for weights, activations and the system.
SHARE = 0.25
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class Holder(Protocol):
    """Whoever holds memory and can do without it."""

    def release(self) -> bool:
        """Give the memory back; False if it is in use just now."""


class MemoryBudget:
    """A limit in bytes, and who holds how much of it.

    Attributes:
        limit: bytes that all holders together may have.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._reserved: dict[int, tuple[weakref.ref, int]] = {}
        self._held: dict[int, tuple[weakref.ref[Holder], int]] = {}  # used longest ago first
        self._lock = threading.Lock()

    def used(self, holder: Holder, held: int) -> None:
        """Note that `holder` was just used and holds so many bytes; others may have to give."""
        key = id(holder)
        with self._lock:
            self._held.pop(key, None)
            self._held[key] = (weakref.ref(holder, partial(self._gone, key)), held)
            total = self._total()
        if total > self.limit:
            self._release(total - self.limit, keep=holder)

    def _gone(self, key: int, reference: weakref.ref) -> None:
        """A holder is no more; another one may have its id already. Called at any time: no lock."""
        entry = self._held.get(key)
        if entry is not None and entry[0] is reference:
            self._held.pop(key, None)

    def make_room(self, keep: Holder | None = None) -> int:
        """Take back all that nobody uses just now, as memory has run out; returns the bytes."""
        return self._release(self._total(), keep=keep)

    def reserve(self, owner: object, wanted: int) -> int:
        """Bytes that `owner` may hold from now on: what it wants, or what others have left of it.

        A reservation takes the place of the owner's last one, and ends with `give_back` or with the
        owner.
        """
        with self._lock:
            others = {
                key: entry
                for key, entry in self._reserved.items()
                if key != id(owner) and entry[0]() is not None
            }
            left = max(0, self.limit - sum(held for _, held in others.values()))
            granted = min(wanted, left)
            self._reserved = others | {id(owner): (weakref.ref(owner), granted)}
            return granted

    def give_back(self, owner: object) -> None:
        """End a reservation, if there is one."""
        with self._lock:
            self._reserved.pop(id(owner), None)

    @property
    def held(self) -> int:
        """Bytes that all holders have now."""
        with self._lock:
            return self._total()

    def _total(self) -> int:
        return sum(held for _, held in list(self._held.values()))

    def _release(self, wanted: int, keep: Holder | None) -> int:
        """Take back at least so many bytes, if there are; returns how many."""
        with self._lock:
            oldest_first = list(self._held.items())
        freed = 0
        for key, (reference, held) in oldest_first:
            if freed >= wanted:
                break
            holder = reference()
            # Outside the lock: a holder that is in use holds a lock of its own, and asks for ours.
            if holder is keep or (holder is not None and not holder.release()):
                continue
            with self._lock:
                entry = self._held.get(key)
                if entry is not None and entry[0] is reference:
                    del self._held[key]
            freed += held
        return freed


@cache
def budget_of(device: torch.device) -> MemoryBudget:
    """The budget of a device, one for the whole process."""
    return MemoryBudget(int(memory_of(device) * SHARE))


def memory_of(device: torch.device) -> int:
    """Bytes that this process may have on a device: on a CPU what its container allows."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[1]
    if device.type == "mps":
        return torch.mps.recommended_max_memory()
    return min(psutil.virtual_memory().total, _container_limit())


def _container_limit() -> int:
    limits = []
    for name in _CGROUP_LIMITS:
        try:
            limits.append(int(Path(name).read_text()))
        except (OSError, ValueError):  # not Linux, another version of cgroups, or "max"
            continue
    return min(limits, default=2**63)
