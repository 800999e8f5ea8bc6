"""Proposers of a round's tokens: a draft model, or a match earlier in the text."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.decoding.record import LogitRecord
from engine.decoding.shaping import shaped
from engine.decoding.speculative.block_reader import BlockReader
from engine.errors import NoCandidatesError, SettingError, TraceError, msg
from engine.model import BUNDLED_DRAFT, LanguageModel, load_model
from engine.model.cache_size import CacheSize
from engine.sampling import Distribution
from engine.sampling.acceptance import DRAFT_STREAM
from engine.sampling.samplers import Context
from engine.sampling.speculation import MOST_DRAFT_LENGTH, SpeculativeSettings

LOOKUP, ITSELF = "lookup", "itself"
PROPOSERS = {  # by the names that pages store; any other name is a draft model's
    BUNDLED_DRAFT: msg("Bundled draft"),
    LOOKUP: msg("Prompt lookup (no model)"),
    ITSELF: msg("The target itself"),
}
# The context after the text and the tokens proposed so far, with the stages' memory of both.
ContextOf = Callable[[Sequence[int], Mapping[str, object]], Context]


@dataclass
class Proposal:
    """Tokens proposed in a round.

    Attributes:
        token_ids: the tokens.
        us: uniform numbers with which they were drawn; None when greedy or matched.
        distributions: distributions from which they were drawn; None means certainty.
        passes: how many tokens each pass of a draft model read.
        ms: wall time of those passes, or of the search.
        shape_ms: that of chains and draws.
    """

    token_ids: list[int] = field(default_factory=list)
    us: list[float | None] = field(default_factory=list)
    distributions: list[Distribution | None] = field(default_factory=list)
    passes: tuple[int, ...] = ()
    ms: float = 0.0
    shape_ms: float = 0.0

    def probability(self, place: int) -> float:
        """Return the proposer's probability of the token that it proposed at a place."""
        found = self.distributions[place]
        return 1.0 if found is None else found.probability(self.token_ids[place])


class Proposer:
    """Base class of both proposers; each proposes tokens for one text."""

    facts: Mapping[str, Any] | None = None  # of the draft model, for a trace
    size = CacheSize(0, 0)
    positions = 0
    is_lost = False

    def room(self, ids: np.ndarray) -> int:
        """Return the number of tokens that can be proposed after a text, 0 if none can.

        Args:
            ids: (positions,) prompt and generated tokens.
        """
        return MOST_DRAFT_LENGTH

    def prefill(self, ids: np.ndarray) -> tuple[tuple[int, ...], float]:
        """Read the prompt; returns the passes and their wall time in milliseconds."""
        return (), 0.0

    def propose(
        self,
        ids: np.ndarray,
        count: int,
        settings: SpeculativeSettings,
        states: Mapping[str, object],
        context_of: ContextOf,
    ) -> Proposal:
        """Propose at most `count` tokens to follow a text.

        Args:
            ids: (positions,) prompt and generated tokens.
            count: at least one.
            settings: settings of the round.
            states: the stages' memory, as the target's chain left it.
            context_of: returns the context for the stages.
        """
        raise NotImplementedError

    def distributions(
        self, first: int, token_ids: Sequence[int], *rest: Any
    ) -> list[Distribution | None]:
        """Return the distributions behind recorded proposals; `rest` is as in `propose`."""
        return [None] * len(token_ids)

    def keep(self, positions: int) -> None:
        """Forget everything read beyond the first `positions`."""

    def repeat(self, ids: np.ndarray, start: int, proposed: Sequence[int]) -> None:
        """Repeat the reads that made the proposals of a past round."""

    def commit(self) -> None:
        """Keep the record of the last proposal: its round is over."""

    def begin_again(self) -> None:
        """Forget everything read, but not the records."""

    def truncate(self, proposals: int) -> None:
        """Forget the records of all but the first `proposals` proposals."""

    def distrust(self) -> None:
        """Drop a cache that an invalid value may have reached."""

    def release(self) -> bool:
        """Free the cache; returns False if it is in use."""
        return True

    def release_rows(self) -> bool:
        """Free recent logits; returns False if they are in use."""
        return True

    def fork(self) -> Proposer:
        """Return an independent copy."""
        raise NotImplementedError


class PromptLookup(Proposer):
    """Proposer of the tokens that followed the latest earlier occurrence of the last tokens.

    It needs no model (https://github.com/apoorvumang/prompt-lookup-decoding). The longest match of
    at most `ngram` tokens wins; among equals, the latest.
    """

    def propose(
        self,
        ids: np.ndarray,
        count: int,
        settings: SpeculativeSettings,
        states: Mapping[str, object],
        context_of: ContextOf,
    ) -> Proposal:
        start = time.perf_counter()
        found = continuation(ids, settings.ngram, count)
        ms = (time.perf_counter() - start) * 1e3
        nothing = [None] * len(found)
        return Proposal(found, list(nothing), list(nothing), ms=ms)

    def fork(self) -> PromptLookup:
        return self  # it has no state


def continuation(ids: np.ndarray, ngram: int, count: int) -> list[int]:
    """Return the tokens after the latest earlier match of the longest n-gram that ends a text.

    Args:
        ids: (positions,) the text.
        ngram: most tokens that must match; at least one.
        count: most tokens to return.
    """
    for size in range(min(ngram, ids.size - 1), 0, -1):
        windows = np.lib.stride_tricks.sliding_window_view(ids[:-1], size)
        matches = np.flatnonzero((windows == ids[-size:]).all(axis=1))
        if matches.size:
            after = int(matches[-1]) + size
            return ids[after : after + count].tolist()
    return []


class DraftModel(Proposer):
    """Proposer of tokens that a smaller model draws, one by one.

    Args:
        draft: the model.
        target: the model that verifies. One of the two may have more ids, such as the padding of
            its output layer. The draft proposes only ids that it scores, and nothing after a token
            that it cannot read.

    Raises:
        SettingError: an id means a different token to the target.
    """

    def __init__(self, draft: LanguageModel, target: LanguageModel) -> None:
        _check_vocabulary(draft, target)
        self.model = draft
        self._vocab_size = target.vocab_size
        self._reader = BlockReader(draft)
        self._record = LogitRecord(draft)
        self._waiting: list[tuple[Any, np.ndarray]] = []  # rows of a round that is not over yet

    @property
    def facts(self) -> Mapping[str, Any]:
        """Facts from which a trace can load the draft again."""
        names = ("name", "source", "revision", "dtype", "vocab_size", "parameters")
        facts = self.model.facts
        return {name: facts[name] for name in (*names, "tokenizer_hash")}

    @property
    def size(self) -> CacheSize:
        """Size of its cache, in bytes."""
        return self._reader.runner.usage

    @property
    def positions(self) -> int:
        """Number of tokens that it has read."""
        return self._reader.positions

    @property
    def is_lost(self) -> bool:
        """Return whether its cache was released."""
        return self._reader.is_lost

    def room(self, ids: np.ndarray) -> int:
        """Return how many proposals fit in its own context; the last one is never read."""
        if ids.max() >= self.model.input_size:
            return 0
        length = self.model.context_length
        left = MOST_DRAFT_LENGTH if length is None else length - ids.size + 1
        return max(0, min(MOST_DRAFT_LENGTH, left))

    def prefill(self, ids: np.ndarray) -> tuple[tuple[int, ...], float]:
        reading = self._reader.prefill(ids)
        return ((), 0.0) if reading is None else (reading.passes, reading.ms)

    def propose(
        self,
        ids: np.ndarray,
        count: int,
        settings: SpeculativeSettings,
        states: Mapping[str, object],
        context_of: ContextOf,
    ) -> Proposal:
        self._waiting = []
        proposal = Proposal()
        unread = ids[self.positions :]
        for place in range(count):
            reading = self._reader.read(unread)
            if not place:
                self._reader.mark()
            proposal.ms += reading.ms
            proposal.passes += reading.passes
            start = time.perf_counter()
            tokens = reading.passes[-1]
            context = context_of(proposal.token_ids, states)
            try:
                distribution = self._shaped(reading.forward.logits, settings, context)
            except NoCandidatesError:  # none among the ids that it scores; the target may have one
                break
            source = self._record.keep(reading.forward, tokens=tokens, parity=False)
            self._waiting.append((source, reading.forward.logits))
            u = None if settings.sampling.is_greedy else context.uniform(DRAFT_STREAM)
            token_id = distribution.draw(u or 0.0).token_id
            states = distribution.states_after(token_id)
            proposal.token_ids.append(token_id)
            proposal.us.append(u)
            proposal.distributions.append(distribution)
            unread = [token_id]
            proposal.shape_ms += (time.perf_counter() - start) * 1e3
        return proposal

    def distributions(
        self,
        first: int,
        token_ids: Sequence[int],
        settings: SpeculativeSettings,
        states: Mapping[str, object],
        context_of: ContextOf,
    ) -> list[Distribution | None]:
        found: list[Distribution | None] = []
        for place, token_id in enumerate(token_ids):
            row = self._record.row(first + place)
            context = context_of(token_ids[:place], states)
            found.append(self._shaped(row, settings, context))
            states = found[-1].states_after(token_id)
        return found

    def _shaped(
        self, logits: np.ndarray, settings: SpeculativeSettings, context: Context
    ) -> Distribution:
        """Return a row of the draft's logits, shaped by the chain over the target's ids."""
        missing = max(0, self._vocab_size - logits.size)
        if missing:
            logits = np.pad(logits, (0, missing), constant_values=-np.inf)
        return shaped(logits[: self._vocab_size], settings.sampling, context)

    def keep(self, positions: int) -> None:
        self._reader.keep(positions)

    def repeat(self, ids: np.ndarray, start: int, proposed: Sequence[int]) -> None:
        unread = ids[self.positions : start]
        for place, token_id in enumerate(proposed):
            self._reader.read(unread)
            if not place:
                self._reader.mark()
            unread = [token_id]

    def commit(self) -> None:
        for source, row in self._waiting:
            self._record.append(source, row)
        self._waiting = []

    def begin_again(self) -> None:
        self._reader.begin_again()

    def truncate(self, proposals: int) -> None:
        self._record.truncate(proposals)

    def distrust(self) -> None:
        self._reader.runner.distrust()

    def release(self) -> bool:
        return self._reader.runner.release()

    def release_rows(self) -> bool:
        return self._record.release()

    def fork(self) -> DraftModel:
        twin = DraftModel.__new__(DraftModel)
        twin.model, twin._vocab_size = self.model, self._vocab_size
        twin._reader = self._reader.fork()
        twin._record = self._record.fork()
        twin._waiting = []
        return twin


def _check_vocabulary(draft: object, target: LanguageModel) -> None:
    """Raise `SettingError` if a draft's token ids would mean different tokens to the target."""
    remedy = msg("choose a draft with the target's tokenizer, or None for prompt lookup")
    if not isinstance(draft, LanguageModel):
        raise SettingError("draft", draft, "must be a language model", remedy)
    if draft.tokenizer is None and draft.vocab_size != target.vocab_size:
        raise SettingError(
            "draft",
            draft.name,
            msg(
                "has a vocabulary of {vocab_size:,} tokens, but the target {name} has one of "
                "{vocab_size2:,}",
                (draft.vocab_size, target.name, target.vocab_size),
            ),
            remedy,
        )
    if not draft.vocabulary.has_tokens_of(target.vocabulary):
        problem = msg("has a different tokenizer from the target {name}", target.name)
        raise SettingError("draft", draft.name, problem, remedy)


def load_draft(facts: Mapping[str, Any], target: LanguageModel) -> LanguageModel:
    """Load the draft that a trace names (see `DraftModel.facts`) on its target's device.

    Raises:
        TraceError: it was only in memory.
        ModelError: it cannot be loaded.
    """
    if facts["source"] == "memory":
        raise TraceError(
            "The draft {facts} was made in memory, so it cannot be loaded again; give it "
            "as `draft`.",
            facts["name"],
        )
    place, dtype = str(target.device), facts["dtype"]
    return load_model(facts["source"], device=place, dtype=dtype, revision=facts["revision"])
