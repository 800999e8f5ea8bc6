"""One batch that reads the same tokens with the exact cache and with quantised ones.

All rows go through the same passes, so they are rounded alike, and any difference between them
comes from the cache alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers.cache_utils import Cache, DynamicLayer

from engine.errors import msg
from engine.model.language_model import LanguageModel
from engine.model.quantised.settings import Quantisation
from engine.model.quantised.states import QuantisedStates


class ComparedLayer(DynamicLayer):
    """A cache layer of a batch: the first row exact, and one row for each quantisation.

    Args:
        exact: the empty layer that a single text would have.
        kinds: quantisations of the further rows.
    """

    def __init__(self, exact: DynamicLayer, kinds: Sequence[Quantisation]) -> None:
        super().__init__()
        self.exact = exact
        self.rows = [
            (QuantisedStates(kind, kind.keys), QuantisedStates(kind, kind.values)) for kind in kinds
        ]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append (rows, heads, new positions, channels); returns each row's keys and values."""
        keys, values = self.exact.update(key_states[:1], value_states[:1], *args, **kwargs)
        read = keys.shape[2]
        all_keys, all_values = [keys], [values]
        for place, (own_keys, own_values) in enumerate(self.rows, start=1):
            for states, new, read_by_all in (
                (own_keys, key_states[place], all_keys),
                (own_values, value_states[place], all_values),
            ):
                states.append(new)
                read_by_all.append(states.read()[None, :, -read:])
                if self.is_sliding:
                    states.keep_last(self.exact.sliding_window - 1)
        return torch.cat(all_keys), torch.cat(all_values)

    # The exact row answers for all rows when the model asks for the shape of its cache.

    @property
    def is_sliding(self) -> bool:
        """True if only the last positions are read."""
        return self.exact.is_sliding

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return how many positions a pass over `query_length` attends to, and the first one."""
        return self.exact.get_mask_sizes(query_length)

    def get_seq_length(self) -> int:
        """Return the number of positions read so far."""
        return self.exact.get_seq_length()

    def get_max_length(self) -> int:
        """Return the most positions that are kept; -1 without a limit."""
        return self.exact.get_max_length()


def compared_cache(model: LanguageModel, kinds: Sequence[Quantisation]) -> Cache:
    """Return an empty cache for a batch of one exact row and a row for each quantisation.

    Raises:
        SettingError: a group or a number of bits that does not fit the model's heads.
    """
    cache = model.new_cache()
    for kind in kinds:
        kind.check_head_dims(head_dims(model))
    cache.layers = [ComparedLayer(layer, kinds) for layer in cache.layers]
    return cache


def row_bytes(cache: Cache) -> list[int]:
    """Return the bytes of each row of a `compared_cache`, summed over its tensors."""
    exact = sum(
        part.numel() * part.element_size()
        for layer in cache.layers
        for part in (layer.exact.keys, layer.exact.values)
    )
    quantised = zip(*(layer.rows for layer in cache.layers), strict=True)
    return [exact, *(sum(keys.bytes + values.bytes for keys, values in row) for row in quantised)]


def head_dims(model: LanguageModel) -> set[int]:
    """Return the channel counts of the cached heads; empty if `why_not` gives a reason."""
    formula = model.cache_formula
    if formula is None:
        return set()
    return {kept.factors[-1].value for layer in formula.layers for kept in layer.kept}


def why_not(model: LanguageModel) -> str:
    """Return a sentence on why this model's cache cannot be quantised here; empty if it can."""
    if getattr(model.config, "kv_lora_rank", None):
        return msg(
            "{name} caches one latent vector for all heads (MLA) instead of keys and values, "
            "but only keys and values are quantised here; choose another model.",
            model.name,
        )
    if model.cache_formula is None:
        return msg(
            "{name} keeps states other than one key and one value per position, such as a "
            "recurrent state, but only keys and values are quantised here; choose another "
            "model.",
            model.name,
        )
    return ""
