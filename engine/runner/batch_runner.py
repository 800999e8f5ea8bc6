"""Rows of one prompt that are read together; under guidance a second text for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.model import LanguageModel
from engine.model.growing_cache import room_for
from engine.runner.runner import Runner


@dataclass(frozen=True)
class Prompts:
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


class BatchRunner:
    """Rows that stand at one length.

    Attributes:
        rows: how many rows there are; 1 after the prefill.
        logits: for each text of the prompts, (rows, vocab) float32 after what has been read.
    """

    def __init__(self, model: LanguageModel, prompts: Prompts) -> None:
        """Read the prompts, as a lone decoder does; raises `OutOfMemoryError`."""
        self.model = model
        self.prompts = prompts
        self._runners: list[Runner] = []
        self.logits: list[np.ndarray] = []
        for ids in prompts.texts:
            runner = Runner(model)
            self.logits.append(runner.read(ids).forward.logits[None])
            self._runners.append(runner)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self._runners[0].rows

    @property
    def can_select(self) -> bool:
        """Whether there can be more than one row."""
        return all(runner.can_select for runner in self._runners)

    def bytes_per_row(self, tokens: int) -> int:
        """Bytes that one row needs at most while it grows to so many tokens after the prefill."""
        held = 0
        for runner, ids in zip(self._runners, self.prompts.texts, strict=True):
            positions = len(ids) + tokens
            if self.model.context_length is not None:
                positions = min(positions, self.model.context_length)
            formula = runner.formula
            if formula is not None:
                held += formula.bytes_held_at(positions)
            else:  # another layout, whose size grows at most with the positions
                held += math.ceil(runner.size.logical * room_for(positions) / len(ids))
        # Old and new tensors exist side by side while one is made from the other; logits are there
        # in the model's dtype, in float32, and shaped.
        return 2 * held + 16 * self.model.vocab_size * len(self._runners)

    def repeated(self, rows: int) -> BatchRunner:
        """An independent copy with so many equal rows; raises `OutOfMemoryError`."""
        twin = BatchRunner.__new__(BatchRunner)
        twin.model, twin.prompts = self.model, self.prompts
        twin._runners = [runner.fork() for runner in self._runners]
        for runner in twin._runners:
            runner.select([0] * rows)
        twin.logits = [np.broadcast_to(row, (rows, row.shape[-1])) for row in self.logits]
        return twin

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with some of the rows; raises `OutOfMemoryError`."""
        for runner in self._runners:
            runner.select(rows)

    def read(self, token_ids: Sequence[int]) -> None:
        """Read one more token in each row.

        Raises:
            OutOfMemoryError: the rows are to be thrown away.
        """
        self.logits = [self._read(runner, token_ids) for runner in self._runners]

    def _read(self, runner: Runner, token_ids: Sequence[int]) -> np.ndarray:
        if runner.rows == 1:  # as a lone decoder steps
            return runner.read(token_ids).forward.logits[None]
        return runner.read_rows([[token_id] for token_id in token_ids])[0]
