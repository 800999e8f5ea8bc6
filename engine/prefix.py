"""The part of a text that the model has read: its cache, kept as long as it can be used.

The model reads a prompt in one pass (prefill) and every later token in one of its own. Where the
cache has to be rebuilt, it is read in just the same way: equal shapes give equal bits, so a step
that is repeated after a rewind repeats exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from transformers.cache_utils import Cache

from engine import cache as caches

if TYPE_CHECKING:
    from engine.model import Forward, LanguageModel

# Caches that cannot be cropped are kept as they were after the prefill and at every so many tokens,
# so that a rewind need not read everything again.
_SNAPSHOT_EVERY = 32
_SNAPSHOTS_KEPT = 4


@dataclass(frozen=True)
class Reading:
    """The forward passes that brought the cache up to date.

    Attributes:
        forward: the last of them, with the logits for the next token.
        tokens: how many tokens that one ran over.
        ms: wall time of all of them, in milliseconds.
        is_prefill: whether the prompt was among what they read.
    """

    forward: Forward
    tokens: int
    ms: float
    is_prefill: bool


class Prefix:
    """What one decoder's model has read so far.

    Attributes:
        positions: how many tokens of the text are in the cache.
        cache: the cache; None before the first reading and after `forget`.
    """

    def __init__(self, model: LanguageModel, prompt_length: int) -> None:
        self._model = model
        self._prompt_length = prompt_length
        self.forget()

    def forget(self) -> None:
        """Give the memory back; the next reading starts from the prompt."""
        self.cache: Cache | None = None
        self.positions = 0
        self._snapshots: list[tuple[int, Cache]] = []

    @property
    def size(self) -> caches.CacheSize:
        """Bytes of the cache, and of the memory held for it."""
        return caches.size(self.cache, *(cache for _, cache in self._snapshots))

    @property
    def formula(self) -> caches.CacheFormula | None:
        """The formula for the size; None before the prefill and for other kinds of state."""
        return None if self.cache is None else caches.formula(self.cache)

    def read(self, token_ids: np.ndarray, *, parity: bool) -> Reading:
        """Run the model over the tokens that it has not read yet, at least one.

        Args:
            token_ids: (positions,) the whole text, prompt included.
            parity: run PyTorch's default kernels, as `generate` does.

        Raises:
            OutOfMemoryError: the cache is forgotten, since it may be half updated.
        """
        is_prefill = self.cache is None
        ms = 0.0
        try:
            while self.positions < len(token_ids):
                if self.cache is None:
                    self.cache = self._model.new_cache()
                end = self.positions + 1 if self.positions else self._prompt_length
                new = token_ids[self.positions : end].tolist()
                forward = self._model.forward(new, self.cache, self.positions, parity=parity)
                self.positions = end
                ms += forward.ms
                self._keep_snapshot()
        except BaseException:
            self.forget()
            raise
        return Reading(forward, len(new), ms, is_prefill)

    def rewind(self, positions: int) -> None:
        """Take the cache back to at most `positions`; the next reading fills up the rest."""
        if self.cache is None or self.positions <= positions:
            return
        # Later snapshots are of a text that is being forgotten.
        self._snapshots = [kept for kept in self._snapshots if kept[0] <= positions]
        if caches.can_crop(self.cache):
            caches.crop(self.cache, positions)
            self.positions = positions
            return
        kept = self._snapshots
        self.forget()
        if kept:
            self._snapshots = kept
            self.positions, snapshot = kept[-1]
            self.cache = caches.fork(snapshot)

    def fork(self) -> Prefix:
        """An independent copy that shares what is never written to."""
        twin = Prefix(self._model, self._prompt_length)
        twin.positions = self.positions
        twin.cache = None if self.cache is None else caches.fork(self.cache)
        twin._snapshots = list(self._snapshots)
        return twin

    def _keep_snapshot(self) -> None:
        if not caches.forgets(self.cache):
            return
        beyond = self.positions - self._prompt_length
        known = {positions for positions, _ in self._snapshots}
        if beyond % _SNAPSHOT_EVERY == 0 and self.positions not in known:
            self._snapshots.append((self.positions, caches.fork(self.cache)))
            if len(self._snapshots) > _SNAPSHOTS_KEPT:
                del self._snapshots[1]  # the first is the prefill, the costliest to repeat
