"""One limit on the memory that texts take on a device, shared by all models and visitors.

Caches, recent rows and hidden states grow with every token of every visitor. Their owners report to
the budget how much they hold. If the total exceeds the limit, the least recently used ones release
their memory, and rebuild the contents when they continue.

A batch cannot release its caches while it runs, so it reserves its memory beforehand.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Protocol, TypeVar

import psutil
import torch

from engine.errors import OutOfMemoryError
from engine.model.loaded import is_out_of_memory
from engine.model.loading.memory import on_shortage

# Share of the memory that this process may have; the rest is for weights, activations, the system.
SHARE = 0.25
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


_Result = TypeVar("_Result")


class Holder(Protocol):
    """Protocol of an object that holds memory and can release it."""

    def release(self) -> bool:
        """Release the memory; returns False while it is in use.

        A holder that must keep a part calls `MemoryBudget.keeps`. May be called from any thread,
        even while the caller holds locks, so it must not wait.
        """


class MemoryBudget:
    """A limit on the memory of all holders together, and the bytes that each has.

    Attributes:
        limit: most bytes that all holders together may have.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._reserved: dict[int, tuple[weakref.ref, int]] = {}
        self._held: dict[int, tuple[weakref.ref[Holder], int]] = {}  # least recently used first
        self._sum = 0
        # Garbage-collected holders. Collection may run at any time, even in a thread that holds the
        # lock, so it only notes them.
        self._gone: deque[tuple[int, weakref.ref]] = deque()
        self._lock = threading.Lock()

    def used(self, holder: Holder, held: int) -> None:
        """Note that `holder` was just used and holds `held` bytes; may release others' memory."""
        with self._lock:
            self._note(holder, held, moves=True)
            total = self._sum
        if total > self.limit:
            self._release(total - self.limit, keep=holder)

    def keeps(self, holder: Holder, held: int) -> None:
        """Note that `holder` has released all but `held` bytes; it keeps its place in line."""
        with self._lock:
            self._note(holder, held, moves=False)

    def _note(self, holder: Holder, held: int, *, moves: bool) -> None:
        self._settle()
        key = id(holder)
        before = self._held.get(key)
        if before is None:
            reference = weakref.ref(holder, lambda gone: self._gone.append((key, gone)))
        else:
            reference = before[0]
            self._sum -= before[1]
            if moves:
                del self._held[key]
        self._held[key] = (reference, held)
        self._sum += held

    def _settle(self) -> None:
        """Remove garbage-collected holders, whose ids new holders may already have."""
        while self._gone:
            key, reference = self._gone.popleft()
            entry = self._held.get(key)
            if entry is not None and entry[0] is reference:
                del self._held[key]
                self._sum -= entry[1]

    def make_room(self, keep: Holder | None = None) -> int:
        """Release all memory not in use, since memory has run out; returns the bytes freed."""
        return self._release(self.held, keep=keep)

    def reserve(self, owner: object, wanted: int) -> int:
        """Reserve up to `wanted` bytes for `owner`, as far as available; returns the bytes.

        A reservation replaces the owner's last one. It ends with `give_back` or with the owner.
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
        """Bytes that all holders have at the moment."""
        with self._lock:
            self._settle()
            return self._sum

    def _release(self, wanted: int, keep: Holder | None) -> int:
        """Release at least `wanted` bytes, if possible; returns the bytes freed."""
        with self._lock:
            self._settle()
            oldest_first = list(self._held.items())
        freed = 0
        for key, entry in oldest_first:
            if freed >= wanted:
                break
            reference, held = entry
            holder = reference()
            # Outside the lock: a holder in use holds its own lock, and asks for ours.
            if holder is keep or (holder is not None and not holder.release()):
                continue
            with self._lock:
                now = self._held.get(key)
                if now is entry:  # the holder has not reported what it keeps
                    del self._held[key]
                    self._sum -= held
                elif now is not None and now[0] is reference:
                    held -= now[1]
            freed += max(0, held)
        return freed


def with_room(
    budget: MemoryBudget, work: Callable[[], _Result], keep: Holder | None = None
) -> _Result:
    """Return the result of `work`, retried once if memory runs out and holders can release some.

    Args:
        budget: the budget whose holders are asked to release memory.
        work: may run twice.
        keep: a holder that `work` needs.
    """
    try:
        return work()
    except Exception as error:
        if not (isinstance(error, OutOfMemoryError) or is_out_of_memory(error)):
            raise
        if not budget.make_room(keep):
            raise
    return work()  # out here: the error would keep alive what the first try allocated


@cache
def budget_of(device: torch.device) -> MemoryBudget:
    """Return the memory budget of a device, one for the whole process."""
    return MemoryBudget(int(memory_of(device) * SHARE))


on_shortage(lambda device: budget_of(device).make_room() > 0)


def memory_of(device: torch.device) -> int:
    """Return the bytes that this process may use on a device; a container may limit a CPU's."""
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
