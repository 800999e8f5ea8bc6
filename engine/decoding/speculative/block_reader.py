"""Read a cached text ahead in blocks and roll it back, as both models of a round need.

A round reads tokens that may turn out not to belong to the text, and rolls those back. Most caches
can be cropped. Caches that forget (a sliding window, recurrent states) cannot. So a copy of such a
cache is kept before a block, and the part of the block that stays is read again with the next one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.backend import Reading
from engine.errors import SettingError, msg
from engine.model import LanguageModel
from engine.model import cache as caches
from engine.runner.runner import Runner, open_sequence

# Tokens of the text that may be read again with the next block, which costs hardly more. If there
# are more, they get a separate pass, and the next mark is set after it.
MOST_BEHIND = 16
_REMEDY = msg("close other texts, or use a shorter prompt or a smaller model")


def check_reads_blocks(model: LanguageModel) -> None:
    """Raise `SettingError` if a model cannot read several tokens after others in one pass."""
    if not model.can_chunk:
        remedy = msg(
            "choose a target without recurrent layers; such a model may still be the draft"
        )
        problem = msg("reads several tokens in one pass only at the beginning of a text")
        raise SettingError("model", model.name, problem, remedy)


class BlockReader:
    """Reader that keeps track of how much of a text one model has read.

    Attributes:
        model: the model.
        runner: its tokens and cache.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.runner = open_sequence(model, _REMEDY)
        self._kept: Runner | None = None

    @property
    def positions(self) -> int:
        """Number of tokens that have been read."""
        return self.runner.positions

    @property
    def is_lost(self) -> bool:
        """Return whether the cache was released, so that the next read rebuilds it."""
        return self.runner.cache is None and self.runner.positions > 0

    def prefill(self, ids: np.ndarray) -> Reading | None:
        """Read the beginning of a text except its last token; None if that was already read."""
        if self.positions or ids.size < 2:
            return None
        return self.runner.extend(ids[:-1])

    def catch_up(self, ids: np.ndarray) -> Reading | None:
        """Read a text except its last token if much of it was rolled back; None if not."""
        behind = ids.size - 1 - self.positions
        return self.runner.extend(ids[self.positions : -1]) if behind > MOST_BEHIND else None

    def mark(self) -> None:
        """Mark the beginning of a block that `keep` may roll back."""
        cache = self.runner.cache
        forgets = cache is not None and caches.forgets(cache)
        self._kept = self.runner.fork() if forgets else None

    def read(
        self, token_ids: Sequence[int] | np.ndarray, *, all_positions: bool = False
    ) -> Reading:
        """Read more tokens; see `engine.runner.runner.Runner.extend`."""
        return self.runner.extend(token_ids, all_positions=all_positions)

    def keep(self, positions: int) -> None:
        """Roll back to at most `positions`; to fewer if the cache can only go back to the mark."""
        kept, self._kept = self._kept, None
        if positions >= self.positions:
            return
        cache = self.runner.cache
        can_crop = cache is not None and caches.can_crop(cache)
        if kept is None or kept.positions > positions or can_crop:
            self.runner.truncate(positions)
        else:
            self.runner = kept

    def begin_again(self) -> None:
        """Forget everything read."""
        self.runner = open_sequence(self.model, _REMEDY)
        self._kept = None

    def fork(self) -> BlockReader:
        """Return an independent copy."""
        twin = BlockReader(self.model)
        twin.runner = self.runner.fork()
        return twin
