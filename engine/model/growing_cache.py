"""An attention layer of a cache that grows without copying itself at every step.

transformers' `DynamicLayer` concatenates all keys and values at every token. So the cost of a
step rises with the length of the text, for any model. The layer here allocates room for more
positions. It writes new positions after the old ones, and returns views of the written part.

Forks share that room until one of them grows: see `GrowingLayer.fork`.
"""

from __future__ import annotations

import torch
from transformers.cache_utils import DynamicLayer

from engine.cache_formula import Layout

# Room is allocated in blocks of this many positions, for an eighth more positions than there are.
# So at most an eighth and one block are empty, and a position is copied about eight times in all.
BLOCK = 64
_SPARE = 8


def room_for(positions: int) -> int:
    """Return the number of positions that a layer allocates to hold `positions`."""
    return -(-(positions + positions // _SPARE) // BLOCK) * BLOCK


class Grown(Layout):
    """Upper bound on the memory of the app's caches, which have room for more positions.

    Layers with a sliding window have no such room. Between two steps, their tensors are views of
    the positions that the last step read: a window, or the whole prompt after the prefill.
    """

    name = "held"
    rule = "memory that this app holds, with room for further positions"

    def all(self, positions: int) -> int:
        """Return the number of positions that memory is allocated for."""
        return room_for(positions)


GROWN = Grown()


def _kind(states: torch.Tensor) -> tuple[object, ...]:
    """Return the properties that successive keys (or values) must have in common."""
    rows, heads, _, size = states.shape
    return rows, heads, size, states.dtype, states.device


class _Room:
    """Memory for the keys, or for the values, of a fixed number of positions.

    Args:
        like: a (rows, heads, any, size) tensor of the same kind.
        positions: number of positions to allocate.
    """

    def __init__(self, like: torch.Tensor, positions: int) -> None:
        rows, heads, _, size = like.shape
        self.positions = positions
        self.kind = _kind(like)
        self._memory = like.new_empty(rows, heads, positions, size)
        self._strides = self._memory.stride()
        storage = self._memory.untyped_storage()
        self.storage = {storage.data_ptr(): storage.nbytes()}

    def view(self, start: int, end: int) -> torch.Tensor:
        """Return a view of positions `start` to `end`: (rows, heads, end - start, size)."""
        rows, heads, size, _, _ = self.kind
        # Like `narrow`, in half the time: so a short text is read as fast as one grown by `cat`.
        return self._memory.as_strided(
            (rows, heads, end - start, size), self._strides, start * self._strides[2]
        )


class _Shared:
    """State that the forks of a layer share.

    Attributes:
        keys, values: the memory.
        written: positions written so far, by any fork.
        by_many: whether more than one fork may read the memory.
        storages: bytes of the memory by address.
    """

    def __init__(self, keys: _Room, values: _Room, written: int) -> None:
        self.keys = keys
        self.values = values
        self.written = written
        self.by_many = False
        self.storages = keys.storage | values.storage

    def takes(self, keys: torch.Tensor, values: torch.Tensor, start: int) -> bool:
        """Return whether these fit at `start`, in room that no other fork reads."""
        return (
            start + keys.shape[2] <= self.keys.positions
            and (start == self.written or not self.by_many)
            and self.keys.kind == _kind(keys)
            and self.values.kind == _kind(values)
        )


class GrowingLayer(DynamicLayer):
    """Keys and values of all positions, (rows, heads, positions, size), with room for more.

    It returns the same as transformers' `DynamicLayer`, bit for bit, and has the same operations.
    `keys` and `values` are views of the written part of the room. The whole room stays allocated.
    """

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self._room: _Shared | None = None

    @property
    def storages(self) -> dict[int, int]:
        """Bytes of the layer's room by address; empty without one."""
        return self._room.storages if self._room else {}

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write new positions after the old ones.

        Args:
            key_states, value_states: (rows, heads, new positions, size).

        Returns:
            The keys and values of all positions: views, to be read until the next update.
        """
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start = self.get_seq_length()
        room = self._room
        if room is None or not room.takes(key_states, value_states, start):
            if start and (_kind(self.keys), _kind(self.values)) != (
                _kind(key_states),
                _kind(value_states),
            ):
                # Of a different kind than the old ones: transformers converts them or raises.
                self._room = None
                return super().update(key_states, value_states)
            room = self._moved(key_states, value_states, start)
        end = start + key_states.shape[2]
        room.keys.view(start, end).copy_(key_states)
        room.values.view(start, end).copy_(value_states)
        room.written = end
        self.keys, self.values = room.keys.view(0, end), room.values.view(0, end)
        return self.keys, self.values

    def _moved(self, key_states: torch.Tensor, value_states: torch.Tensor, start: int) -> _Shared:
        """Move the old positions into a new room, with space for the new ones."""
        positions = room_for(start + key_states.shape[2])
        self._room = None
        keys = _Room(key_states, positions)
        if start:  # the old keys are freed before the new values get memory
            self.keys = keys.view(0, start).copy_(self.keys)
        values = _Room(value_states, positions)
        if start:
            self.values = values.view(0, start).copy_(self.values)
        self._room = _Shared(keys, values, start)
        return self._room

    def fork(self) -> GrowingLayer:
        """Return an independent copy that shares the room.

        The first fork to grow writes after the positions that the others read. Each of the others
        moves its positions into a room of its own when it grows, and so does a cropped layer.
        """
        if self._room is not None:
            self._room.by_many = True
        twin = object.__new__(type(self))  # as `copy.copy` does it, in a third of the time
        twin.__dict__.update(self.__dict__)
        return twin

    # Operations that replace the keys and values give up the room. The next update makes a new one.

    def reset(self) -> None:
        """Reset the layer and give up its room."""
        super().reset()
        self._room = None

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Keep the rows `beam_idx`, in that order."""
        super().reorder_cache(beam_idx)
        self._room = None

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat every row `repeats` times."""
        super().batch_repeat_interleave(repeats)
        self._room = None

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep the rows `indices`, in that order; a row may occur more than once."""
        super().batch_select_indices(indices)
        self._room = None

    def join(self, other: GrowingLayer) -> None:
        """Append the rows of another layer with the same number of positions."""
        self.keys = torch.cat([self.keys, other.keys])
        self.values = torch.cat([self.values, other.values])
        self._room = None

    def offload(self) -> None:
        """Move keys and values to the CPU."""
        super().offload()
        self._room = None
