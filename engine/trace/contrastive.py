"""Contrastive search in a trace: a step's candidates, its winner and its cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from msgspec import Struct

from engine.trace.steps import Bits, StopReason, StopString, TokenText
from engine.trace.strategy import Strategy, check_sampling
from engine.values import (
    Amount,
    Cost,
    Positive,
    Real,
    Row,
    Share,
    TokenBytes,
    Whole,
    convert,
)


@dataclass(frozen=True, slots=True)
class ContrastiveCandidate:
    """One of the most likely next tokens, and its score.

    Attributes:
        token_id: the token.
        probability: its probability after the samplers; without samplers the model's, over the full
            vocabulary at temperature 1.
        penalty: largest cosine similarity of its hidden state to an earlier one, -1 to 1.
        nearest: position of that most similar state in the text; 0 for the prompt's first token.
        score: (1 - penalty_alpha) * probability - penalty_alpha * penalty.
    """

    token_id: Whole
    probability: Share
    penalty: Real
    nearest: Whole
    score: Real


@dataclass(frozen=True, slots=True)
class ContrastiveStep:
    """One step of contrastive search: the candidates, the token chosen among them, the cost.

    Attributes:
        index: 0 for the first generated token.
        token_id: the token appended.
        token_bytes: its bytes; for a special token, its name.
        text: text that this token completed; empty for special tokens and unfinished characters.
        is_special: whether it is a control token.
        candidates: most likely first; fewer than `top_k` if the model or samplers rule out the
            others.
        chosen: index of the candidate with the best score, on a tie the likelier one; above 0 if
            the penalty overruled the choice of greedy decoding.
        penalty_alpha: weight of the penalty against the probability.
        model_entropy_bits: entropy of the model's distribution (temperature 1).
        stop_reason: None, ``max_tokens``, ``eos``, ``stop_string`` or ``context``.
        stop_string: the stop string that ended generation here, else None.
        is_prefill: whether the prompt was read, in the first step or to rebuild a lost cache.
        cache_positions: positions in the cache, this token's included.
        cache_bytes: bytes of the cached values of the text, without the other candidates.
        cache_bytes_held: memory kept for these values (see `engine.model.cache_size.CacheSize`).
        passes: forward passes of the step: one over all candidates, or one for each if a model's
            states cannot be copied row by row. Passes that read the prompt or rebuild a lost cache
            are added.
        prefill_ms: wall time, in milliseconds, of reading the prompt or rebuilding a lost cache.
        forward_ms: the pass over the candidates.
        score_ms: penalties, scores and the next candidates.
        total_ms: the whole step, including bookkeeping.
    """

    index: Whole
    token_id: Whole
    token_bytes: TokenBytes
    text: TokenText
    is_special: bool
    candidates: Row[ContrastiveCandidate]
    chosen: Whole
    penalty_alpha: Share
    model_entropy_bits: Bits
    stop_reason: StopReason | None
    stop_string: StopString | None
    is_prefill: Cost[bool]
    cache_positions: Cost[Whole]
    cache_bytes: Cost[Whole]
    cache_bytes_held: Cost[Whole]
    passes: Cost[Whole]
    prefill_ms: Cost[Amount]
    forward_ms: Cost[Amount]
    score_ms: Cost[Amount]
    total_ms: Cost[Amount]

    def __post_init__(self) -> None:
        if self.chosen >= len(self.candidates):
            raise ValueError(f"chosen must be below {len(self.candidates)}, got {self.chosen}")

    @property
    def ids(self) -> Iterator[int]:
        """Ids of the chosen token and of all candidates."""
        yield self.token_id
        yield from (candidate.token_id for candidate in self.candidates)

    def rows(self) -> list[dict[str, Any]]:
        """Return one table row: the step, its winner's figures and its number of candidates."""
        own = {item.name: getattr(self, item.name) for item in fields(self)}
        winner = self.candidates[self.chosen]
        own["candidates"] = len(self.candidates)
        figures = ("probability", "penalty", "nearest", "score")
        return [own | {name: getattr(winner, name) for name in figures}]

    @classmethod
    def columns(cls) -> list[str]:
        """Return the column names of `rows`."""
        own = [item.name for item in fields(cls)]
        return [*own, "probability", "penalty", "nearest", "score"]


class _SearchSettings(Struct, forbid_unknown_fields=True):
    top_k: Positive
    penalty_alpha: Share
    chain: list = []


class Contrastive(Strategy):
    """Contrastive search."""

    step = ContrastiveStep
    decoder = "engine.decoding.contrastive:ContrastiveSearch"

    def check(self, settings: dict[str, Any], vocab_size: int) -> None:
        check_sampling({"chain": convert(settings, _SearchSettings).chain}, vocab_size)
