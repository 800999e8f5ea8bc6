"""Operations on a model's cache, and its true size.

A cache belongs to one decoder and is passed to the model as an argument. Attention layers keep one
key and one value vector per position; sliding-window layers keep those of the last positions only;
recurrent layers (Mamba and its kin) keep a state of constant size.
"""

from __future__ import annotations

import copy
import os
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from transformers import DynamicCache, PretrainedConfig
from transformers.cache_utils import Cache, LinearAttentionCacheLayerMixin


@dataclass(frozen=True)
class CacheSize:
    """Bytes of a cache.

    Attributes:
        logical: bytes of the values that the next step reads.
        held: bytes of memory kept for them. More than `logical` where views of larger tensors are
            kept, as after a rewind.
    """

    logical: int
    held: int


def new_cache(config: PretrainedConfig) -> Cache:
    """An empty cache with the layer types that the model's configuration names."""
    return DynamicCache(config=config)


def tensors(cache: Cache) -> Iterator[torch.Tensor]:
    """Every tensor that holds cached values, whatever the kind of layer."""
    for layer in cache.layers:
        for value in vars(layer).values():
            if isinstance(value, torch.Tensor):
                if value.dim() >= 3:
                    yield value
            elif isinstance(value, dict):
                yield from (v for v in value.values() if isinstance(v, torch.Tensor))
            elif isinstance(value, (list, tuple)):
                yield from (v for v in value if isinstance(v, torch.Tensor))


def size(cache: Cache | None, *kept: Cache) -> CacheSize:
    """Bytes of a cache, counted over its tensors; shared memory counts once.

    Args:
        cache: the cache in use.
        kept: further caches held for it (earlier states), which count as held.
    """
    if cache is None:
        return CacheSize(0, 0)
    logical = 0
    storages = {}
    for tensor in tensors(cache):
        logical += tensor.numel() * tensor.element_size()
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
    for other in kept:
        for tensor in tensors(other):
            storage = tensor.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
    return CacheSize(logical, sum(storages.values()))


def forgets(cache: Cache) -> bool:
    """Whether a filled cache drops or overwrites what it held, now or once its window is full."""
    return any(_overwrites(layer) or _window(layer) is not None for layer in cache.layers)


def can_crop(cache: Cache) -> bool:
    """Whether the newest positions can be taken off again, exactly.

    To be asked after the prefill: only then do layers show what they hold. A sliding window that
    has begun to forget and a convolution state cannot go back, and transformers would raise; a
    recurrent state would silently give wrong logits.
    """
    if not cache.is_croppable or any(_overwrites(layer) for layer in cache.layers):
        return False
    return all(
        _window(layer) is None or layer.get_seq_length() < _window(layer) for layer in cache.layers
    )


def _overwrites(layer) -> bool:
    """Whether a layer holds a state that each step replaces."""
    return isinstance(layer, LinearAttentionCacheLayerMixin) or not layer.is_croppable


def _window(layer) -> int | None:
    return layer.sliding_window if getattr(layer, "is_sliding", False) else None


def crop(cache: Cache, keep: int) -> None:
    """Keep the first `keep` positions. Only where `can_crop` says so."""
    cache.crop(keep - cache.get_seq_length())


def fork(cache: Cache) -> Cache:
    """An independent copy that shares what is never written to.

    Attention layers replace their tensors at each update (by concatenation), so the copy can share
    them. Recurrent and convolution states are updated in place and are cloned.
    """
    twin = copy.copy(cache)
    twin.layers = [_fork_layer(layer) for layer in cache.layers]
    return twin


def _fork_layer(layer):
    twin = copy.copy(layer)
    for name, value in vars(layer).items():
        if isinstance(value, dict):
            cloned = {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in value.items()}
            setattr(twin, name, cloned)
    return twin


@dataclass(frozen=True)
class CacheFormula:
    """The textbook size of a key/value cache, layer by layer.

    bytes = 2 (key and value) * layers * kv_heads * head_dim * bytes per value * positions, where a
    sliding-window layer counts at most window - 1 positions, the most that it keeps.

    Attributes:
        layers: (kv_heads, head_dim, window or None) of each layer.
        bytes_per_value: 2 for bf16 and fp16, 4 for fp32.
    """

    layers: tuple[tuple[int, int, int | None], ...]
    bytes_per_value: int

    def bytes_at(self, positions: int) -> int:
        """Bytes of the cache at a number of positions, batch 1."""
        total = 0
        for kv_heads, head_dim, window in self.layers:
            kept = positions if window is None else min(positions, window - 1)
            total += 2 * kv_heads * head_dim * self.bytes_per_value * kept
        return total

    def __str__(self) -> str:
        shapes = {(heads, dim) for heads, dim, _ in self.layers}
        sliding = sum(window is not None for _, _, window in self.layers)
        note = f", {sliding} of them with a sliding window" if sliding else ""
        if len(shapes) > 1:
            return f"2 x {len(self.layers)} layers of different shapes x positions{note}"
        heads, dim = next(iter(shapes))
        return (
            f"2 (K and V) x {len(self.layers)} layers x {heads} KV heads x {dim} per head x "
            f"{self.bytes_per_value} bytes x positions{note}"
        )


def formula(cache: Cache) -> CacheFormula | None:
    """The formula for a filled cache; None where a layer keeps anything but keys and values."""
    shapes = []
    itemsize = 0
    for layer in cache.layers:
        keys, values = getattr(layer, "keys", None), getattr(layer, "values", None)
        others = {"conv_states", "recurrent_states"} & vars(layer).keys()
        if others or keys is None or values is None or keys.shape != values.shape:
            return None
        shapes.append((keys.shape[1], keys.shape[3], _window(layer)))
        itemsize = keys.element_size()
    return CacheFormula(tuple(shapes), itemsize) if shapes else None


class CacheOwner(Protocol):
    """Whoever holds a cache and can do without it."""

    def release_cache(self) -> bool:
        """Give the memory back; False if it is in use just now."""


class CacheBudget:
    """A limit on the bytes of all caches of one model together.

    Where it is exceeded, the owners that have not stepped for longest give their caches back; they
    rebuild them from their token ids when they step again. Batches cannot do without theirs: they
    reserve beforehand what they will need, and share the limit among themselves.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._reserved: dict[int, tuple[weakref.ref, int]] = {}
        self._held: dict[int, tuple[weakref.ref[CacheOwner], int]] = {}  # oldest use first
        self._lock = threading.Lock()

    def used(self, owner: CacheOwner, held: int) -> None:
        """Note that `owner` has just stepped and holds this many bytes."""
        key = id(owner)
        with self._lock:
            is_new = self._held.pop(key, None) is None
            self._held[key] = (weakref.ref(owner), held)
            total = self._total()
            if is_new or total > self.limit:  # those that are gone hold nothing
                self._held = {k: entry for k, entry in self._held.items() if entry[0]() is not None}
                total = self._total()
            if total > self.limit:
                self._evict(total, keep=key)

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

    def _total(self) -> int:
        return sum(held for _, held in self._held.values())

    def _evict(self, total: int, keep: int) -> None:
        for key, (reference, held) in list(self._held.items()):
            if key == keep or total <= self.limit:
                continue
            owner = reference()
            if owner is None or owner.release_cache():
                del self._held[key]
                total -= held


def default_budget(device: torch.device) -> int:
    """Half of the memory that is free on a GPU, a quarter of what the machine has on a CPU."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0] // 2
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
