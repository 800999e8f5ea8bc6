"""What a batch has read: one cache for many rows of one prompt, under guidance a second one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
import torch
from transformers.cache_utils import Cache, LinearAttentionCacheLayerMixin

from engine import cache as caches
from engine.model import LanguageModel


@dataclass(frozen=True)
class Opening:
    """What rows of a batch have in common, so that they can share their forward passes.

    Attributes:
        prompt_ids: token ids of the prompt.
        negative_ids: those of the negative prompt; None without guidance.
    """

    prompt_ids: tuple[int, ...]
    negative_ids: tuple[int, ...] | None = None

    @property
    def texts(self) -> tuple[tuple[int, ...], ...]:
        """The prompts that the model reads: each has a cache of its own."""
        both = (self.prompt_ids, self.negative_ids)
        return tuple(ids for ids in both if ids is not None)


class BatchPrefix:
    """The caches of some rows that stand at one length.

    Attributes:
        rows: how many rows there are; 1 after the prefill.
        logits: for each text of the opening, (rows, vocab) float32 after what has been read.
    """

    def __init__(self, model: LanguageModel, opening: Opening) -> None:
        """Read the prompts, as a lone decoder does; raises `OutOfMemoryError`."""
        self.model = model
        self.opening = opening
        self.rows = 1
        self._caches: list[Cache] = []
        self.logits: list[np.ndarray] = []
        for ids in opening.texts:
            cache = model.new_cache()
            self.logits.append(model.forward(ids, cache, 0).logits[None])
            self._caches.append(cache)

    @property
    def can_repeat(self) -> bool:
        """Whether there can be more than one row."""
        return all(map(can_repeat, self._caches))

    @property
    def held(self) -> int:
        """Bytes of memory that the caches take."""
        return sum(caches.size(cache).held for cache in self._caches)

    def bytes_per_row(self, tokens: int) -> int:
        """Bytes that one row needs at most while it grows to so many tokens after the prefill."""
        held = 0
        for cache, ids in zip(self._caches, self.opening.texts, strict=True):
            positions = len(ids) + tokens
            if self.model.context_length is not None:
                positions = min(positions, self.model.context_length)
            formula = caches.formula(cache)
            if formula is not None:
                held += formula.bytes_at(positions)
            else:  # another layout, whose size grows at most with the positions
                held += math.ceil(caches.size(cache).logical * positions / len(ids))
        # Old and new tensors exist side by side while one is made from the other; logits are there
        # in the model's dtype, in float32, and shaped.
        return 2 * held + 16 * self.model.vocab_size * len(self._caches)

    def repeated(self, rows: int) -> BatchPrefix:
        """An independent copy with so many equal rows; raises `OutOfMemoryError`."""
        twin = BatchPrefix.__new__(BatchPrefix)
        twin.model, twin.opening, twin.rows = self.model, self.opening, rows
        with self._naming_memory(rows), torch.inference_mode():
            twin._caches = [caches.fork(cache) for cache in self._caches]
            if rows > 1:
                for cache in twin._caches:
                    cache.batch_repeat_interleave(rows)
        twin.logits = [np.broadcast_to(row, (rows, row.shape[-1])) for row in self.logits]
        return twin

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with some of the rows; raises `OutOfMemoryError`."""
        self.rows = len(rows)
        with self._naming_memory(self.rows), torch.inference_mode():
            places = torch.tensor(rows, device=self.model.device)
            for cache in self._caches:
                cache.batch_select_indices(places)

    def read(self, token_ids: Sequence[int], place: int) -> None:
        """Read one more token in each row: the one at this place after the prompt.

        Raises:
            OutOfMemoryError: the caches are to be thrown away.
        """
        self.logits = [
            self._read(token_ids, cache, len(ids) + place)
            for cache, ids in zip(self._caches, self.opening.texts, strict=True)
        ]
        self.model.cache_budget.used(self, self.held)

    def _read(self, token_ids: Sequence[int], cache: Cache, position: int) -> np.ndarray:
        if self.rows == 1:  # as a lone decoder steps
            return self.model.forward(token_ids, cache, position).logits[None]
        with self._naming_memory(self.rows):
            ids = [[token_id] for token_id in token_ids]
            return self.model.forward_rows(ids, cache, position)[0]

    def release_cache(self) -> bool:
        """A batch in work keeps its caches (see `engine.cache.CacheOwner`)."""
        return False

    def _naming_memory(self, rows: int) -> AbstractContextManager[None]:
        remedy = "use fewer or shorter texts, a smaller model or a smaller dtype"
        return self.model.naming_memory(f"with {rows:,} texts at once", remedy)


def can_repeat(cache: Cache) -> bool:
    """Whether a filled cache can be repeated and thinned out along its batch dimension.

    Transformers offers that for attention layers of every kind, sliding windows included. States of
    recurrent layers and convolutions have no such operation, also where a layer has both.
    """
    return all(
        hasattr(layer, "batch_repeat_interleave")
        and hasattr(layer, "batch_select_indices")
        and not isinstance(layer, LinearAttentionCacheLayerMixin)
        for layer in cache.layers
    )
