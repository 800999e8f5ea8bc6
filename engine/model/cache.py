"""Operations on a model's cache.

A cache belongs to one decoder and is passed to the model as an argument. Attention layers keep one
key and one value vector per position; sliding-window layers keep only those of the last positions.
Recurrent layers (Mamba and its kin) keep a state of constant size.
"""

from __future__ import annotations

import copy

import torch
from transformers import DynamicCache, PretrainedConfig
from transformers.cache_utils import (
    Cache,
    DummyLayer,
    DynamicIndexedLayer,
    DynamicLayer,
    DynamicSlidingWindowLayer,
    LinearAttentionAndFullAttentionLayer,
    LinearAttentionAndSlidingWindowAttentionLayer,
    LinearAttentionLayer,
)

from engine.model.cache_size import tensors_of
from engine.model.growing_cache import GrowingLayer

_SET_ON_FIRST_USE = {"dtype", "device", "indexer_dtype", "indexer_device"}


def _known(*layers: object) -> dict[type, frozenset[str]]:
    return {type(layer): frozenset(vars(layer).keys() | _SET_ON_FIRST_USE) for layer in layers}


# Layers whose attributes are all known, with those attributes. A subclass may have more, which its
# inherited `crop` and copies miss, so only exact types count.
_ATTENTION = _known(
    DynamicLayer(),
    GrowingLayer(),
    DynamicIndexedLayer(),
    DynamicSlidingWindowLayer(sliding_window=2),
    DummyLayer(),
)
_RECURRENT = _known(
    LinearAttentionLayer(),
    LinearAttentionAndFullAttentionLayer(),
    LinearAttentionAndSlidingWindowAttentionLayer(sliding_window=2),
)
_KEYS_AND_VALUES = (DynamicLayer, GrowingLayer, DynamicSlidingWindowLayer)
# Layers whose rows can be joined: keys and values, row by row, and nothing else.
_JOINED = (*_KEYS_AND_VALUES, DummyLayer)
_OTHERWISE = 10.0  # `with_other_states` adds it to each number
_OF_A_CACHE = frozenset(vars(DynamicCache(config=None)))


def new_cache(config: PretrainedConfig) -> Cache:
    """Return an empty cache with the layer types that the model's configuration names.

    Layers that keep all positions allocate room for more (see `GrowingLayer`). All others are
    transformers' own.
    """
    cache = DynamicCache(config=config)
    cache.layers = [
        GrowingLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers
    ]
    if cache.layer_class_to_replicate is DynamicLayer:
        cache.layer_class_to_replicate = GrowingLayer
    return cache


def forgets(cache: Cache) -> bool:
    """Return whether a filled cache drops or overwrites entries, now or once its window is full."""
    return not is_attention(cache) or any(_window(layer) is not None for layer in cache.layers)


def is_attention(cache: Cache) -> bool:
    """Return whether all layers are transformers' own attention layers, without further state.

    Only those can be cropped, and their rows repeated or dropped. The states of recurrent layers
    and convolutions have no such operations. Layers that come with a model inherit the operations
    of attention layers, even if those miss state that the model added.
    """
    return _is_plain(cache) and all(_is_of(_ATTENTION, layer) for layer in cache.layers)


def is_known(cache: Cache) -> bool:
    """Return whether all layers are of transformers' own kinds, attention or recurrent."""
    return _is_plain(cache) and all(
        _is_of(_ATTENTION, layer) or _is_of(_RECURRENT, layer) for layer in cache.layers
    )


def _is_plain(cache: Cache) -> bool:
    return type(cache) is DynamicCache and vars(cache).keys() <= _OF_A_CACHE


def _is_of(kinds: dict[type, frozenset[str]], layer: object) -> bool:
    names = kinds.get(type(layer))
    return names is not None and vars(layer).keys() <= names


def can_crop(cache: Cache) -> bool:
    """Return whether the newest positions can be removed without changing the others.

    A sliding window that has dropped positions cannot go back, and transformers would raise. The
    state of a recurrent layer, or of an unknown layer, would silently be wrong.
    """
    return is_attention(cache) and all(
        _window(layer) is None or layer.get_seq_length() < _window(layer) for layer in cache.layers
    )


def _window(layer) -> int | None:
    return layer.sliding_window if getattr(layer, "is_sliding", False) else None


def can_repeat(cache: Cache) -> bool:
    """Return whether the rows of a filled cache can be repeated and dropped."""
    return is_attention(cache)


def can_join(cache: Cache, other: Cache) -> bool:
    """Return whether the rows of two filled caches of one model can be joined in one cache.

    They must be at the same position, since nothing is padded.
    """
    return (
        is_attention(cache)
        and is_attention(other)
        and len(cache.layers) == len(other.layers)
        and all(map(_joins, cache.layers, other.layers))
    )


def _joins(layer: object, other: object) -> bool:
    if type(layer) is not type(other) or type(layer) not in _JOINED:
        return False
    pairs = zip(tensors_of(layer), tensors_of(other), strict=True)
    return all(one.shape[1:] == two.shape[1:] and one.dtype == two.dtype for one, two in pairs)


def join(cache: Cache, other: Cache) -> None:
    """Append the rows of another cache; only if `can_join` allows it."""
    for layer, joining in zip(cache.layers, other.layers, strict=True):
        if isinstance(layer, GrowingLayer):
            layer.join(joining)
        elif isinstance(layer, DynamicLayer) and layer.keys is not None:
            layer.keys = torch.cat([layer.keys, joining.keys])
            layer.values = torch.cat([layer.values, joining.values])


def crop(cache: Cache, keep: int) -> None:
    """Keep the first `keep` positions; only if `can_crop` allows it."""
    cache.crop(keep - cache.get_seq_length())


def fork(cache: Cache) -> Cache:
    """Return an independent copy, which shares the memory that is never overwritten.

    Growing layers write only after the positions that a copy reads. Other attention layers replace
    their tensors at each update (by concatenation), so the copy can share them. Recurrent and
    convolution states are updated in place, so they are cloned. Unknown layers are deep-copied.
    """
    if not _is_plain(cache):
        return copy.deepcopy(cache)
    twin = copy.copy(cache)
    twin.layers = [_fork_layer(layer) for layer in cache.layers]
    return twin


def _fork_layer(layer):
    if _is_of(_ATTENTION, layer):
        return layer.fork() if type(layer) is GrowingLayer else copy.copy(layer)
    if not _is_of(_RECURRENT, layer):
        return copy.deepcopy(layer)
    twin = copy.copy(layer)
    for name, value in vars(layer).items():
        if isinstance(value, dict):
            cloned = {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in value.items()}
            setattr(twin, name, cloned)
    return twin


def recurrent_states(cache: Cache) -> list[str]:
    """Return the attribute names of the states in transformers' own recurrent layers."""
    found = {
        name
        for layer in cache.layers
        if _is_of(_RECURRENT, layer)
        for name, value in vars(layer).items()
        if isinstance(value, dict) and any(isinstance(v, torch.Tensor) for v in value.values())
    }
    return sorted(found)


def with_other_states(cache: Cache, name: str) -> Cache:
    """Return a copy in which every layer's states of this name differ; see `recurrent_states`."""
    twin = fork(cache)
    for layer in twin.layers:
        states = getattr(layer, name) if _is_of(_RECURRENT, layer) else {}
        for key, value in states.items():
            if isinstance(value, torch.Tensor):
                states[key] = value + _OTHERWISE
    return twin


def holds_keys_and_values(cache: Cache) -> bool:
    """Return whether all layers are of the exact types that keep only keys and values."""
    return all(type(layer) in _KEYS_AND_VALUES for layer in cache.layers)
