"""The most likely text of at most n tokens, with a proof: exact search by branch and bound.

    >>> search = ExactSearch(model, "The capital of France is", 8)
    >>> for progress in search.run():
    ...     print(progress.visited, progress.best, progress.bound)
    >>> search.result.text, search.result.is_proven

A text ends with an end-of-text token or with its n-th token. Each further token can only lower the
sum of log-probabilities, so the sum of a prefix bounds all its continuations. A prefix whose bound
is not above the best complete text need not be read (Stahlberg and Byrne 2019, "On NMT Search
Errors and Model Errors", arXiv:1908.10090, by depth-first search). If no prefix is left to read,
the best text is proven. If the search ends earlier, it has proven an interval: from the best text
found to the largest bound of the remaining prefixes.

A constraint removes tokens and leaves the log-probabilities of the others unchanged, so the bound
still holds. Other samplers would change the ranking of texts, and are not used.

Log-probabilities are the model's, from passes over many rows. In bfloat16 they differ by hundredths
of a nat from those of a text read alone, and so does the proof.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.checks import at_least_one
from engine.decoding import inputs
from engine.decoding.beam import BeamSearch, BeamSettings, Hypothesis
from engine.decoding.prompt import encode_prompt
from engine.errors import SettingError, msg
from engine.model import LanguageModel
from engine.runner.branches import Branches
from engine.sampling.ranking import RankedRow
from engine.sampling.samplers import Constraint
from engine.text.text_stream import TextStream

MOST_EXACT = 32  # tokens of a text; beyond that, hardly any proof is finished in time
MOST_NODES = 100_000  # prefixes that a search reads: a minute or two with the bundled model
MOST_OPEN = 2_000_000  # prefixes that wait to be read, 16 bytes each
# Passes whose caches are kept for waiting prefixes. Below this number, the best prefix is next,
# which lowers the bound. From it on, the longest is next, which frees a cache soonest.
_MOST_FAMILIES = 12
_REMEDY = msg("use a shorter prompt or fewer tokens")

# Why a search ended without a proof.
OUT_OF_NODES = "nodes"
OUT_OF_MEMORY = "memory"
CANCELLED = "cancelled"


@dataclass(frozen=True)
class ExactProgress:
    """Progress of a search.

    Attributes:
        visited: prefixes read by the model.
        pruned: prefixes ruled out without being read.
        open: prefixes that wait to be read.
        best: score of the best complete text so far.
        bound: no text has a better score than this.
        seconds: wall time so far.
    """

    visited: int
    pruned: int
    open: int
    best: float
    bound: float
    seconds: float


@dataclass(frozen=True)
class ExactBest:
    """Result of a search, with what it has proven.

    Attributes:
        token_ids: the best complete text found.
        text: its characters, without special tokens.
        logprob: sum of its log-probabilities, in nats.
        score: logprob / length ** length_penalty.
        bound: no text scores better; equal to `score` if that is proven.
        is_proven: whether the text is proven to be the best of all.
        stopped: None if proven, else ``nodes``, ``memory`` or ``cancelled``.
        visited, pruned, open: as in `ExactProgress`.
        largest_pruned: the best score that a pruned prefix could have reached; at most `score`.
            None if nothing was pruned.
        passes: forward passes.
        seconds: wall time.
    """

    token_ids: tuple[int, ...]
    text: str
    logprob: float
    score: float
    bound: float
    is_proven: bool
    stopped: str | None
    visited: int
    pruned: int
    open: int
    largest_pruned: float | None
    passes: int
    seconds: float


@dataclass(eq=False)
class _Family:
    """Prefixes of one length that continue the rows of one pass, best first.

    Attributes:
        branches: the rows.
        before: (rows,) tokens of each row's prefix.
        length: number of tokens in the waiting prefixes.
        totals: (waiting,) float64 sums of their log-probabilities.
        rows: (waiting,) int32 row that each prefix continues.
        token_ids: (waiting,) int32 last token of each prefix.
    """

    branches: Branches
    before: list[tuple[int, ...]]
    length: int
    totals: np.ndarray
    rows: np.ndarray
    token_ids: np.ndarray


class ExactSearch:
    """Exact search for the most likely text up to a given length.

    Args:
        model: the model; other callers may use it at the same time.
        prompt: text, or token ids.
        max_new_tokens: the n of the search; 6 to 16 are usually proven in seconds.
        length_penalty: exponent of the length in the score, as in `BeamSettings`; 0 is the plain
            sum. With any other value, a shorter text may score better or worse, which the bound
            allows for.
        start: complete texts to begin with, such as those of a beam search. The better they are,
            the more is pruned. If there are none, greedy decoding supplies one.
        most_nodes: maximum number of prefixes to read.
        most_open: maximum number of prefixes that wait to be read.
        constraint: constraint on all texts, or None. As in beam search, a text cut off at
            `max_new_tokens` need not be complete.

    Attributes:
        model, prompt_ids, max_new_tokens, length_penalty: as given.

    Raises:
        PromptError, TokenizerError: as in `BeamSearch`.
        SettingError: a number out of range, more tokens than the context has room for, or a
            constraint that does not fit the model.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompt: str | Sequence[int],
        max_new_tokens: int,
        *,
        length_penalty: float = 0.0,
        start: Sequence[Hypothesis] = (),
        most_nodes: int = MOST_NODES,
        most_open: int = MOST_OPEN,
        constraint: Constraint | None = None,
    ) -> None:
        self.model = model
        self.prompt_ids = encode_prompt(model, prompt)
        self.max_new_tokens = at_least_one("max_new_tokens", max_new_tokens)
        most = MOST_EXACT
        if model.context_length is not None:
            most = min(most, model.context_length - len(self.prompt_ids))
        if self.max_new_tokens > most:
            problem = msg("must be at most {most} in an exact search", most)
            remedy = msg("use 1 to {most}; 6 to 16 are usually proven in seconds", most)
            raise SettingError("max_new_tokens", max_new_tokens, problem, remedy)
        self._most_nodes = at_least_one("most_nodes", most_nodes)
        self._most_open = at_least_one("most_open", most_open)
        self._constraint = constraint
        self._settings = BeamSettings(
            width=1,
            length_penalty=length_penalty,
            max_new_tokens=self.max_new_tokens,
            chain=() if constraint is None else (constraint,),
        )
        inputs.checked_settings(self._settings.samplers, model)
        self.length_penalty = self._settings.length_penalty
        self._start = tuple(start)
        self._best: tuple[float, float, tuple[int, ...]] | None = None  # score, total, token ids
        self._families: list[_Family] = []
        self._has_begun = False  # whether the prompt has been read
        self._visited = self._pruned = self._passes = 0
        self._largest_pruned = -np.inf
        self._stopped: str | None = None
        self._seconds = 0.0

    @property
    def result(self) -> ExactBest:
        """The result so far of a search that has run.

        Raises:
            RuntimeError: there is no text yet.
        """
        if self._best is None:
            raise RuntimeError("This search has not begun; run it first.")
        score, total, token_ids = self._best
        is_proven = self._is_proven
        pruned = self._largest_pruned
        return ExactBest(
            token_ids=token_ids,
            text=self._text(token_ids),
            logprob=total,
            score=score,
            bound=self._bound,
            is_proven=is_proven,
            stopped=None if is_proven else self._stopped,
            visited=self._visited,
            pruned=self._pruned,
            open=self._open,
            largest_pruned=None if pruned == -np.inf else float(pruned),
            passes=self._passes,
            seconds=self._seconds,
        )

    def run(self, cancel: threading.Event | None = None) -> Iterator[ExactProgress]:
        """Search until the best text is proven or a limit is reached; yields after every pass.

        Setting `cancel`, or closing the iterator, ends the search between two passes. `result` then
        has the proven interval, and another `run` continues from there.

        Raises:
            LogitsError: the model returned NaN.
            NoCandidatesError: the constraint leaves greedy decoding without a text to begin with.
            SettingError: the constraint costs more than is allowed.
            OutOfMemoryError: the device is out of memory for a pass.
            CancelledError: the job of this thread was cancelled.
        """
        began = time.perf_counter() - self._seconds
        self._stopped = CANCELLED  # until another reason is known
        if not self._has_begun:
            for one in self._start or self._greedy():
                self._complete(one.logprob, tuple(one.token_ids))
            branches, logits = Branches.prefilled(self.model, self.prompt_ids, _REMEDY)
            self._passes += branches.passes
            self._expand(branches, [()], np.zeros(1), logits)
            self._has_begun = True
        while True:
            self._seconds = time.perf_counter() - began
            self._prune()
            yield self.progress
            if self._is_proven or (cancel is not None and cancel.is_set()):
                return
            if self._visited >= self._most_nodes:
                self._stopped = OUT_OF_NODES
                return
            if self._open > self._most_open:
                self._stopped = OUT_OF_MEMORY
                return
            self._read(self._next_family())

    @property
    def progress(self) -> ExactProgress:
        """The progress of a search that has begun."""
        counts = self._visited, self._pruned, self._open
        return ExactProgress(*counts, self._best[0], self._bound, self._seconds)

    def _greedy(self) -> Sequence[Hypothesis]:
        search = BeamSearch(self.model, self.prompt_ids, self._settings)
        for _ in search.run():
            pass
        return search.hypotheses

    # --- the parts of a pass ----------------------------------------------------------------------

    def _next_family(self) -> _Family:
        if len(self._families) < _MOST_FAMILIES:
            return max(self._families, key=self._bound_of)
        return max(self._families, key=lambda family: family.length)

    def _read(self, family: _Family) -> None:
        """Read the best of a family's waiting prefixes."""
        count = min(family.branches.rows_at_once, family.totals.size)
        count = min(count, self._most_nodes - self._visited)
        rows, tokens = family.rows[:count].tolist(), family.token_ids[:count].tolist()
        branches, logits = family.branches.grown(rows, tokens)
        self._passes += branches.passes
        before = [
            (*family.before[row], token_id) for row, token_id in zip(rows, tokens, strict=True)
        ]
        totals = family.totals[:count]
        family.totals = family.totals[count:]
        family.rows, family.token_ids = family.rows[count:], family.token_ids[count:]
        self._expand(branches, before, totals, logits)

    def _expand(
        self,
        branches: Branches,
        before: list[tuple[int, ...]],
        totals: np.ndarray,
        logits: np.ndarray,
    ) -> None:
        """Complete, keep or prune the extensions, by one token, of prefixes that have been read.

        Args:
            branches: the prefixes.
            before: (rows,) tokens of each.
            totals: (rows,) sums of their log-probabilities.
            logits: (rows, vocab) after each.
        """
        self._visited += len(before)
        length = len(before[0]) + 1
        highest = logits.max(axis=1)  # (rows,)
        if not np.isfinite(highest).all():
            RankedRow(logits[int(np.argmin(np.isfinite(highest)))])  # raises, and says why
        weights = np.exp(logits - highest[:, None]).sum(axis=1, dtype=np.float64)
        # Added to a row's logits, its offset gives the log-probability sums of the longer texts.
        offsets = totals - highest - np.log(weights)  # (rows,)
        logits = self._allowed(before, logits)
        if length == self.max_new_tokens:
            row = int(np.argmax(offsets + logits.max(axis=1)))
            self._complete_with(before, offsets, logits, row, int(np.argmax(logits[row])))
            return
        ends = list(self.model.eos_ids)
        for token_id in ends:
            row = int(np.argmax(offsets + logits[:, token_id]))
            self._complete_with(before, offsets, logits, row, token_id)
        going_on = logits
        if ends:
            going_on = logits.copy()
            going_on[:, ends] = -np.inf
        least = self._least_total(length)
        needed = (least - offsets)[:, None]  # (rows, 1)
        is_open = going_on > needed
        rows, token_ids = np.nonzero(is_open)
        rest = (going_on.max(axis=1, initial=-np.inf, where=~is_open) + offsets).max()
        self._count_pruned(np.count_nonzero(going_on > -np.inf) - rows.size, rest, length)
        if not rows.size:
            return
        sums = offsets[rows] + logits[rows, token_ids]
        order = np.argsort(-sums, kind="stable")
        self._families.append(
            _Family(
                branches,
                before,
                length,
                sums[order],
                rows[order].astype(np.int32),
                token_ids[order].astype(np.int32),
            )
        )

    def _allowed(self, before: list[tuple[int, ...]], logits: np.ndarray) -> np.ndarray:
        """Return the logits, with -inf for tokens that the constraint excludes: (rows, vocab)."""
        if self._constraint is None:
            return logits
        language, source = self._constraint.language, self._constraint.source
        places = self.model.places
        allowed = np.stack([places.at(language, source, ids).allowed for ids in before])
        return np.where(allowed, logits, np.float32(-np.inf))

    def _complete_with(
        self,
        before: list[tuple[int, ...]],
        offsets: np.ndarray,
        logits: np.ndarray,
        row: int,
        token_id: int,
    ) -> None:
        total = min(0.0, float(offsets[row] + logits[row, token_id]))
        if total > -np.inf:  # else the constraint allows none of these
            self._complete(total, (*before[row], token_id))

    def _complete(self, total: float, token_ids: tuple[int, ...]) -> None:
        """Record a complete text if it beats the best so far."""
        score = self._settings.score(total, len(token_ids))
        if self._best is None or score > self._best[0]:
            self._best = score, total, token_ids

    # --- bounds -----------------------------------------------------------------------------------

    def _reach(self, length: int) -> int:
        """Return the length at which a prefix would score best if it lost nothing more."""
        return self.max_new_tokens if self.length_penalty > 0 else length + 1

    def _least_total(self, length: int) -> float:
        """Return the logprob above which a prefix of `length` tokens may still beat the best."""
        return self._best[0] * self._reach(length) ** self.length_penalty

    def _bound_of(self, family: _Family) -> float:
        return self._settings.score(float(family.totals[0]), self._reach(family.length))

    @property
    def _is_proven(self) -> bool:
        return self._has_begun and not self._families

    @property
    def _bound(self) -> float:
        if not self._has_begun:
            return 0.0  # no text scores better
        waiting = [self._bound_of(family) for family in self._families]
        return max([self._best[0], *waiting])

    @property
    def _open(self) -> int:
        return sum(family.totals.size for family in self._families)

    def _prune(self) -> None:
        """Drop prefixes that the best text has overtaken, and families left empty."""
        for family in self._families:
            least = self._least_total(family.length)
            kept = int(np.searchsorted(-family.totals, -least, side="left"))
            if kept < family.totals.size:
                dropped = family.totals.size - kept
                self._count_pruned(dropped, float(family.totals[kept]), family.length)
                family.totals = family.totals[:kept]
        self._families = [family for family in self._families if family.totals.size]

    def _count_pruned(self, count: int, largest: float, length: int) -> None:
        self._pruned += int(count)
        if count and largest > -np.inf:
            bound = self._settings.score(float(largest), self._reach(length))
            self._largest_pruned = max(self._largest_pruned, bound)

    def _text(self, token_ids: Sequence[int]) -> str:
        vocabulary, stream = self.model.vocabulary, TextStream()
        shown = (one for one in token_ids if not vocabulary.is_special(one))
        return "".join(stream.feed(vocabulary.token_bytes(token_id)) for token_id in shown)
