"""Rows of equal length that are read together; with guidance, each row has a second text.

More rows than `rows_at_once` are read in several passes, one after the other. So a visitor stepping
through another text need not wait for all rows. The number per pass depends on the model and the
length of the texts, never on a timing or on other visitors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from engine.model import LanguageModel
from engine.model.growing_cache import GROWN, room_for
from engine.runner.runner import Runner, open_sequence
from engine.runner.scheduler import PATIENCE_SECONDS, SCHEDULER

# Most rows in one pass. Twice as many would make a batch of the bundled model a sixth faster, and
# make all other visitors wait twice as long.
MOST_AT_ONCE = 64
# Rows that are worth a pass, however long their texts are.
LEAST_AT_ONCE = 8
# Cached bytes that one pass may read: 64 rows of 170 tokens of the bundled model, some 30 ms on two
# cores.
CACHE_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Prompts:
    """The prompts of a row; rows with the same prompts can share forward passes.

    Attributes:
        prompt_ids: token ids of the prompt.
        negative_ids: token ids of the negative prompt; None without guidance.
    """

    prompt_ids: tuple[int, ...]
    negative_ids: tuple[int, ...] | None = None

    @property
    def texts(self) -> tuple[tuple[int, ...], ...]:
        """The prompts that the model reads; each has its own cache."""
        both = (self.prompt_ids, self.negative_ids)
        return tuple(ids for ids in both if ids is not None)

    @property
    def ahead(self) -> int | None:
        """Tokens by which the negative prompt is longer; None without guidance.

        Rows of different prompts can be read together if this number is equal, since both of their
        texts then reach equal lengths together.
        """
        return None if self.negative_ids is None else len(self.negative_ids) - len(self.prompt_ids)


class LogitRows:
    """Rows of logits; iterating gives way to single steps between two rows.

    Args:
        parts: (rows of this part, vocab) float32 each.
    """

    def __init__(self, parts: Sequence[np.ndarray]) -> None:
        self._parts = parts

    def __add__(self, others: LogitRows) -> LogitRows:
        return LogitRows([*self._parts, *others._parts])

    def __iter__(self) -> Iterator[np.ndarray]:
        patience = PATIENCE_SECONDS
        for part in self._parts:
            for row in part:
                patience -= SCHEDULER.give_way(max(0.0, patience))
                yield row


class BatchRunner:
    """Rows of equal length, read together in as few passes as `rows_at_once` allows.

    Attributes:
        prompts: prompts of the first rows.
        rows: number of rows; 1 after the prefill.
        logits: for each text of the prompts, (vocab,) float32 after the last token, row by row.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompts: Prompts,
        parts: list[list[Runner]],
        logits: list[LogitRows],
    ) -> None:
        self.model = model
        self.prompts = prompts
        # Parts of the rows, in order; each part has a runner for every text of the prompts.
        self._parts = parts
        self.logits = logits

    @classmethod
    def prefilled(cls, model: LanguageModel, prompts: Prompts) -> BatchRunner:
        """Return a batch of one row that has read the prompts as a single decoder does.

        Raises:
            OutOfMemoryError: there is not enough memory.
        """
        part = [open_sequence(model) for _ in prompts.texts]
        read = [runner.extend(ids) for runner, ids in zip(part, prompts.texts, strict=True)]
        logits = [LogitRows([reading.forward.logits[None]]) for reading in read]
        return cls(model, prompts, [part], logits)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(part[0].rows for part in self._parts)

    @property
    def can_select(self) -> bool:
        """True if there can be more than one row."""
        return all(runner.can_select for part in self._parts for runner in part)

    def bytes_per_row(self, tokens: int) -> int:
        """Return the most bytes that one row needs to grow by `tokens` tokens after the prefill."""
        held = 0
        for runner, ids in zip(self._parts[0], self.prompts.texts, strict=True):
            positions = len(ids) + tokens
            if self.model.context_length is not None:
                positions = min(positions, self.model.context_length)
            formula = runner.formula
            if formula is not None:
                held += formula.bytes_at(positions, GROWN)
            elif runner.usage is not None:
                # A different layout, whose size grows at most in proportion to the positions.
                held += math.ceil(runner.usage.logical * room_for(positions) / len(ids))
        # Old and new tensors coexist while one is made from the other. Logits exist in the model's
        # dtype, in float32, and shaped.
        return 2 * held + 16 * self.model.vocab_size * len(self.prompts.texts)

    def repeated(self, rows: int) -> BatchRunner:
        """Return an independent copy with `rows` equal rows; raises `OutOfMemoryError`."""
        parts = []
        for places in _shared_out(rows, rows_at_once(self._parts[0])):
            part = [runner.fork() for runner in self._parts[0]]
            for runner in part:
                runner.select([0] * len(places))
            parts.append(part)
        after_prompts = [next(iter(logits)) for logits in self.logits]
        logits = [LogitRows([np.broadcast_to(row, (rows, row.size))]) for row in after_prompts]
        return BatchRunner(self.model, self.prompts, parts, logits)

    def join(self, others: BatchRunner) -> None:
        """Append the rows of another batch of the same length.

        They share passes if their caches can be joined; otherwise they are read separately.

        Raises:
            OutOfMemoryError: the rows must be thrown away.
        """
        self._parts += others._parts
        self.logits = [
            mine + theirs for mine, theirs in zip(self.logits, others.logits, strict=True)
        ]
        self._join_short()

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only the given rows, in their order; raises `OutOfMemoryError`."""
        parts, first = [], 0
        for part in self._parts:
            end = first + part[0].rows
            places = [row - first for row in rows if first <= row < end]
            for runner in part if places else ():
                runner.select(places)
            if places:
                parts.append(part)
            first = end
        self._parts = parts
        self._join_short()

    def extend(self, token_ids: Sequence[int]) -> None:
        """Read one more token in each row.

        Raises:
            OutOfMemoryError: the rows must be thrown away.
        """
        self._split_long()
        read: list[list[np.ndarray]] = []
        first = 0
        for part in self._parts:
            ids = token_ids[first : first + part[0].rows]
            first += part[0].rows
            read.append([self._read(runner, ids) for runner in part])
        self.logits = [LogitRows(parts) for parts in zip(*read, strict=True)]

    def _join_short(self) -> None:
        """Join parts that fit into one pass."""
        parts: list[list[Runner]] = []
        for part in self._parts:
            last = parts[-1] if parts else part
            if (
                last is not part
                and last[0].rows + part[0].rows <= rows_at_once(last)
                and all(one.can_join(other) for one, other in zip(last, part, strict=True))
            ):
                for runner, joining in zip(last, part, strict=True):
                    runner.join(joining)
            else:
                parts.append(part)
        self._parts = parts

    def _split_long(self) -> None:
        """Split parts whose texts have become too long for one pass."""
        parts = []
        for part in self._parts:
            shares = _shared_out(part[0].rows, rows_at_once(part))
            for places in shares[:-1]:
                fewer = [runner.fork() for runner in part]
                for runner in fewer:
                    runner.select(places)
                parts.append(fewer)
            for runner in part:
                runner.select(shares[-1])
            parts.append(part)
        self._parts = parts

    def _read(self, runner: Runner, token_ids: Sequence[int]) -> np.ndarray:
        if runner.rows == 1:  # as a single decoder steps
            return runner.extend(token_ids).forward.logits[None]
        return runner.read_rows([[token_id] for token_id in token_ids])[0]


def rows_at_once(runners: Sequence[Runner]) -> int:
    """Return the number of rows to read in one pass, by the bytes that each has cached.

    Args:
        runners: the runners of the texts that belong to a row. A released cache counts as empty
            until it is rebuilt, and so does a remote one.
    """
    # By the formula if there is one: memory allocated ahead of the text is not read.
    cached = sum(
        runner.formula.bytes_at(runner.positions)
        if runner.formula is not None
        else runner.usage.logical // runner.rows
        for runner in runners
        if runner.usage is not None
    )
    return min(MOST_AT_ONCE, max(LEAST_AT_ONCE, CACHE_BYTES // max(1, cached)))


def _shared_out(rows: int, most: int) -> list[list[int]]:
    """Split the rows into as few parts of at most `most` as possible, as equal as possible."""
    parts = math.ceil(rows / most)
    edges = [rows * part // parts for part in range(parts + 1)]
    return [list(range(*edge)) for edge in pairwise(edges)]
