"""Size in bytes of a model's cache, computed from its configuration.

    formula_of(config, torch.bfloat16).bytes_at(4_096, batch=8)

    layers      contents of each layer of a cache, derived from the configuration
    attention   ... of an attention layer: keys and values, a latent, an indexer's keys
    states      ... of a recurrent layer or a convolution
    fields      numbers from a configuration, each with the field that it was read from

The arithmetic is in `engine.cache_formula`. Tests compare every rule with real caches.
"""

from __future__ import annotations

import torch
from transformers import PretrainedConfig

from engine.cache_formula import CacheFormula, Storage
from engine.model.cache_layers.layers import layers_of

__all__ = ["formula_of", "layers_of"]


def formula_of(config: PretrainedConfig, stored: torch.dtype | Storage) -> CacheFormula:
    """Return the formula for the size of a model's cache; takes milliseconds.

    Args:
        config: configuration of the whole model; only the part for text is used.
        stored: storage of keys, values and those states that have the model's own dtype.

    Raises:
        NotAModelError: an encoder-decoder model, one without a cache, or of an unknown kind.
    """
    if isinstance(stored, torch.dtype):
        stored = Storage(str(stored).removeprefix("torch."), 8 * stored.itemsize)
    return CacheFormula(layers_of(config), stored, stored)
