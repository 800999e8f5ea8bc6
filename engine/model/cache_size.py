"""Size in bytes of a KV cache and of each of its layers, summed over their tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from transformers.cache_utils import Cache

from engine.model.growing_cache import GrowingLayer


@dataclass(frozen=True)
class CacheSize:
    """Size of a cache in bytes.

    Attributes:
        logical: bytes of the values that the next step reads.
        held: bytes of memory allocated for them. More than `logical` if there is room for more
            positions, and after a rewind.
    """

    logical: int
    held: int


def sum_of(sizes: Iterable[CacheSize | None]) -> CacheSize | None:
    """Return the size of several caches together; None if that of any is unknown."""
    known = list(sizes)
    if None in known:
        return None
    return CacheSize(sum(one.logical for one in known), sum(one.held for one in known))


def tensors(cache: Cache) -> Iterator[torch.Tensor]:
    """Yield every tensor with cached values, from layers of any kind."""
    for layer in cache.layers:
        yield from tensors_of(layer)


def tensors_of(layer: object) -> Iterator[torch.Tensor]:
    """Yield every tensor with values that one layer has cached."""
    for value in vars(layer).values():
        if isinstance(value, torch.Tensor):
            if value.dim() >= 3:
                yield value
        elif isinstance(value, dict):
            yield from (v for v in value.values() if isinstance(v, torch.Tensor))
        elif isinstance(value, (list, tuple)):
            yield from (v for v in value if isinstance(v, torch.Tensor))


def cache_size(cache: Cache | None, *kept: Cache) -> CacheSize:
    """Return the size of a cache, summed over its tensors; shared memory counts once.

    Args:
        cache: the cache in use; None without one.
        kept: further caches kept for it (earlier states), which count as held.
    """
    logical, storages = _measured(() if cache is None else cache.layers)
    for other in kept:
        storages |= _measured(other.layers)[1]
    return CacheSize(logical, sum(storages.values()))


def layer_sizes(cache: Cache) -> list[CacheSize]:
    """Return the size of each layer of a cache."""
    measured = (_measured([layer]) for layer in cache.layers)
    return [CacheSize(logical, sum(storages.values())) for logical, storages in measured]


def _measured(layers: Iterable[object]) -> tuple[int, dict[int, int]]:
    """Return the bytes of all values in the layers, and the bytes of each storage by address."""
    logical, storages, others = 0, {}, {}
    for layer in layers:
        if type(layer) is GrowingLayer and layer.storages:  # measured in advance, for speed
            logical += layer.keys.nbytes + layer.values.nbytes
            storages |= layer.storages
        else:
            others |= {id(tensor): tensor for tensor in tensors_of(layer)}
    for tensor in others.values():
        logical += tensor.nbytes
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
    return logical, storages
