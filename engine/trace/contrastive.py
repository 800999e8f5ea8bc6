"""Contrastive search as a trace holds it: candidates, winner and cost of a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from engine.errors import msg
from engine.sampling.stages import Stage
from engine.trace.chain import Chain
from engine.trace.steps import (
    ENTROPY,
    LONGEST_STOP_STRING,
    MILLISECONDS,
    SHARE,
    STOP_REASONS,
    TOKEN_TEXT,
)
from engine.trace.strategy import Strategy
from engine.trace.values import (
    Count,
    Flag,
    Hexadecimal,
    Limits,
    OneOf,
    Real,
    Record,
    Row,
    Text,
    Token,
    Whole,
    Wrong,
    of,
    plain,
    read,
    shown,
)


@dataclass(frozen=True, slots=True)
class ContrastiveCandidate:
    """One of the most likely next tokens, and how it fares.

    Attributes:
        token_id: the token.
        probability: what the samplers leave it; without any the model's, over the full vocabulary
            at temperature 1.
        penalty: largest cosine similarity of its hidden state to one before it, -1 to 1.
        nearest: position in the text, 0 for the prompt's first token, of that most similar state.
        score: (1 - penalty_alpha) * probability - penalty_alpha * penalty.
    """

    token_id: int = of(Token())
    probability: float = of(SHARE)
    penalty: float = of(Real(-1, 1, rounded=True))
    nearest: int = of(Whole())
    score: float = of(Real(-1, 1, rounded=True))


@dataclass(frozen=True, slots=True)
class ContrastiveStep:
    """One step: the candidates, the token chosen among them, the cost.

    Attributes:
        index: 0 for the first generated token.
        token_id: the token appended.
        token_bytes: its bytes; a special token's name.
        text: text that this token completed; empty for special tokens and unfinished characters.
        is_special: whether it is a control token.
        candidates: most likely first; fewer than `top_k` where model or samplers rule all
            others out.
        chosen: place of the best score among them, the likelier on a tie; above 0 where the
            penalty changed what greedy decoding would have taken.
        penalty_alpha: what the penalty counted against the probability.
        model_entropy_bits: entropy of the model's distribution (temperature 1).
        stop_reason: None, ``max_tokens``, ``eos``, ``stop_string`` or ``context``.
        stop_string: the stop string that ended generation here, else None.
        is_prefill: whether the prompt was read, in the first step or to rebuild a lost cache.
        cache_positions: positions in the cache, this token's included.
        cache_bytes: bytes of the cached values of the text, without the other candidates.
        cache_bytes_held: memory kept for them (see `engine.model.cache.CacheSize`).
        passes: forward passes of the step: one over all candidates, or one for each where a model's
            states cannot be copied row by row; and those that read the prompt or a lost cache.
        prefill_ms: wall time in milliseconds of reading the prompt, or all that a lost cache held.
        forward_ms: the pass over the candidates.
        score_ms: penalties, scores and the next candidates.
        total_ms: all of it, with bookkeeping.
    """

    index: int = of(Whole())
    token_id: int = of(Token())
    token_bytes: bytes = of(Hexadecimal())
    text: str = of(TOKEN_TEXT)
    is_special: bool = of(Flag())
    candidates: tuple[ContrastiveCandidate, ...] = of(Row(Record(ContrastiveCandidate)))
    chosen: int = of(Whole())
    penalty_alpha: float = of(Real(0, 1))
    model_entropy_bits: float = of(ENTROPY)
    stop_reason: str | None = of(OneOf(STOP_REASONS), optional=True)
    stop_string: str | None = of(Text(LONGEST_STOP_STRING), optional=True)
    is_prefill: bool = of(Flag(), cost=True)
    cache_positions: int = of(Whole(), cost=True)
    cache_bytes: int = of(Whole(), cost=True)
    cache_bytes_held: int = of(Whole(), cost=True)
    passes: int = of(Whole(), cost=True)
    prefill_ms: float = of(MILLISECONDS, cost=True)
    forward_ms: float = of(MILLISECONDS, cost=True)
    score_ms: float = of(MILLISECONDS, cost=True)
    total_ms: float = of(MILLISECONDS, cost=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; bytes as hexadecimal text."""
        return plain(self)

    def rows(self) -> list[dict[str, Any]]:
        """One row of a table: the step, the figures of its winner, how many candidates it had."""
        own = {item.name: getattr(self, item.name) for item in fields(self)}
        winner = self.candidates[self.chosen]
        own["candidates"] = len(self.candidates)
        figures = ("probability", "penalty", "nearest", "score")
        return [own | {name: getattr(winner, name) for name in figures}]

    @classmethod
    def columns(cls) -> list[str]:
        """Names of a row's columns."""
        own = [item.name for item in fields(cls)]
        return [*own, "probability", "penalty", "nearest", "score"]


@dataclass(frozen=True)
class _SearchSettings:
    top_k: int = of(Count())
    penalty_alpha: float | None = of(Real(0, 1), optional=True)
    chain: tuple[Stage, ...] = of(Chain(), default=())


class Contrastive(Strategy):
    """Contrastive search."""

    step = ContrastiveStep

    def settings(self, values: dict[str, Any], limits: Limits) -> _SearchSettings:
        return read(_SearchSettings, values, limits)

    def check(
        self,
        prompt_ids: Sequence[int],
        steps: Sequence[ContrastiveStep],
        settings: list[_SearchSettings],
    ) -> None:
        for step, used in zip(steps, settings, strict=True):
            if used.top_k != settings[0].top_k:
                raise Wrong("comes with another top_k, which cannot change").within(step.index)
            count = len(step.candidates)
            if not 1 <= count <= used.top_k:
                problem = msg(
                    "must hold 1 to {top_k:,}, as top_k says, got {count:,}", (used.top_k, count)
                )
                raise Wrong(problem).within("candidates").within(step.index)
            if step.chosen >= count or step.candidates[step.chosen].token_id != step.token_id:
                problem = msg("must be the place of the token, got {chosen}", shown(step.chosen))
                raise Wrong(problem).within("chosen").within(step.index)
            if step.penalty_alpha != used.penalty_alpha:
                wanted, given = shown(used.penalty_alpha), shown(step.penalty_alpha)
                problem = msg("must be {wanted}, as in the settings, got {given}", (wanted, given))
                raise Wrong(problem).within("penalty_alpha").within(step.index)
            before = len(prompt_ids) + step.index
            if any(candidate.nearest >= before for candidate in step.candidates):
                problem = msg("must be positions before this one, 0 to {before:,}", before - 1)
                raise Wrong(problem).within("candidates").within(step.index)
