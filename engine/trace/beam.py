"""Beam search in a trace: a step's hypotheses, the fate of each, and the step's cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from msgspec import Struct

from engine.text import stopping
from engine.trace.steps import TokenText
from engine.trace.strategy import Strategy, check_sampling
from engine.values import (
    Amount,
    Cost,
    Logprob,
    Positive,
    Real,
    Text,
    TokenBytes,
    Whole,
    convert,
)

KEPT = "kept"  # continues as a beam
PRUNED = "pruned"  # others were better, or the search ended
FINISHED = "finished"  # complete, and among the best complete ones
FATES = (KEPT, PRUNED, FINISHED)

# Reasons for a search to end, other than a limit.
FULL_POOL = "full_pool"  # as many complete texts as beams: early_stopping=True
NO_IMPROVEMENT = "no_improvement"  # no beam can still beat the worst complete text
STOP_REASONS = (
    stopping.MAX_TOKENS,
    stopping.CONTEXT,
    stopping.EOS,
    FULL_POOL,
    NO_IMPROVEMENT,
)


@dataclass(frozen=True, slots=True)
class BeamCandidate:
    """One hypothesis that a step considered: a beam extended by one token.

    Attributes:
        parent: index of the beam among the beams before the step; 0 in the first step.
        group: its group, from 0.
        token_id: the token.
        token_bytes: its bytes; for a special token, its name.
        text: text that the token completes; empty for special tokens and unfinished characters.
        is_special: whether it is a control token.
        logprob: the model's log-probability of the token after its beam, in nats.
        total: sum of the log-probabilities of all tokens of the hypothesis.
        penalty: sum that samplers and diversity penalties deducted from the log-probabilities;
            below 0 if a sampler added more. A step ranks by total - penalty.
        rank: 1 for the best of its group in this step.
        fate: ``kept``, ``pruned`` or ``finished``.
        beam: index among the beams after the step; None unless kept.
        score: (total - penalty) / length ** length_penalty; None unless finished.
    """

    parent: Whole
    group: Whole
    token_id: Whole
    token_bytes: TokenBytes
    text: TokenText
    is_special: bool
    logprob: Logprob
    total: Logprob
    penalty: Real
    rank: Positive
    fate: Literal[FATES]
    beam: Whole | None
    score: Real | None


@dataclass(frozen=True, slots=True)
class BeamFinished:
    """One of the best complete hypotheses, identified by its last token.

    Attributes:
        step: the step of its last token.
        place: index among that step's candidates.
        score: its score.
    """

    step: Whole
    place: Whole
    score: Real


@dataclass(frozen=True, slots=True)
class BeamStep:
    """One step of beam search: all beams extended by a token, and the choice among the candidates.

    Attributes:
        index: 0 for the first generated token.
        candidates: the best continuations, group by group, best first within a group.
        pool: the best complete hypotheses so far, best first.
        ids_after: generated token ids of the best-scoring hypothesis after the step, among the
            complete ones and the beams; once the search has ended, among the complete ones.
        text: its text.
        score: its score; for a beam, over its tokens so far.
        stop_reason: None, ``max_tokens``, ``context``, ``full_pool``, ``no_improvement``, or
            ``eos`` if no continuation is left.
        is_prefill: whether the prompt was read, in the first step or to read the beams again.
        rows_read: number of beams in the pass; 1 in the first step.
        cache_positions: positions of each beam in the cache.
        cache_bytes: bytes of the cached values of all beams; None if unknown.
        cache_bytes_held: memory kept for these values.
        passes: forward passes; 0 if logits from before a rewind were reused.
        forward_ms: wall time of the passes, in milliseconds, even if a preview of the next tokens
            ran them earlier.
        choose_ms: ranking and choosing.
        total_ms: the whole step, including bookkeeping.
    """

    index: Whole
    candidates: tuple[BeamCandidate, ...]
    pool: tuple[BeamFinished, ...]
    ids_after: tuple[Whole, ...]
    text: Text
    score: Real
    stop_reason: Literal[STOP_REASONS] | None
    is_prefill: Cost[bool]
    rows_read: Cost[Positive]
    cache_positions: Cost[Whole]
    cache_bytes: Cost[Whole | None]
    cache_bytes_held: Cost[Whole | None]
    passes: Cost[Whole]
    forward_ms: Cost[Amount]
    choose_ms: Cost[Amount]
    total_ms: Cost[Amount]

    @property
    def kept(self) -> tuple[BeamCandidate, ...]:
        """The beams after this step, in order."""
        kept = (candidate for candidate in self.candidates if candidate.fate == KEPT)
        return tuple(sorted(kept, key=lambda candidate: candidate.beam))

    @property
    def ids(self) -> Iterator[int]:
        """Token ids of the best hypothesis and of all candidates."""
        yield from self.ids_after
        yield from (candidate.token_id for candidate in self.candidates)

    def rows(self) -> list[dict[str, Any]]:
        """Return one table row per candidate."""
        names = [item.name for item in fields(BeamCandidate)]
        return [
            {"index": self.index}
            | {name: getattr(candidate, name) for name in names}
            | {"stop_reason": self.stop_reason, "total_ms": self.total_ms}
            for candidate in self.candidates
        ]

    @classmethod
    def columns(cls) -> list[str]:
        """Return the column names of `rows`."""
        names = [item.name for item in fields(BeamCandidate)]
        return ["index", *names, "stop_reason", "total_ms"]


class _BeamSettings(Struct, forbid_unknown_fields=True):
    width: Positive
    length_penalty: Real
    early_stopping: bool | Literal["never"]
    groups: Positive
    diversity_penalty: Amount
    max_new_tokens: Positive
    chain: list


class Beam(Strategy):
    """Beam search, with one or more groups."""

    step = BeamStep
    decoder = "engine.decoding.beam:BeamSearch"

    def check(self, settings: dict[str, Any], vocab_size: int) -> None:
        check_sampling({"chain": convert(settings, _BeamSettings).chain}, vocab_size)

    def text(self, prompt: str, steps: Sequence[BeamStep]) -> str:
        return steps[-1].text if steps else ""

    def token_ids(self, prompt_ids: Sequence[int], steps: Sequence[BeamStep]) -> list[int]:
        return list(steps[-1].ids_after) if steps else []
