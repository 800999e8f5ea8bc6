"""Speculative decoding in a trace: a round's proposals, verdicts and cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from engine.sampling.speculation import MOST_DRAFT_LENGTH, SpeculativeSettings
from engine.trace.steps import StopReason, StopString, TokenText
from engine.trace.strategy import Strategy, refusals
from engine.values import (
    Amount,
    Cost,
    Positive,
    Row,
    Share,
    Text,
    TokenBytes,
    Uniform,
    Whole,
    convert,
)

ACCEPTED, REJECTED, NOT_LOOKED_AT = "accepted", "rejected", "not looked at"
VERDICTS = (ACCEPTED, REJECTED, NOT_LOOKED_AT)
RESAMPLED, BONUS, PLAIN = "resampled", "bonus", "plain"
KINDS = (RESAMPLED, BONUS, PLAIN)


@dataclass(frozen=True, slots=True)
class ProposedToken:
    """One token that the draft proposed.

    Probabilities are those after the sampling chain, which shapes both models' logits.

    Attributes:
        token_id: the token.
        token_bytes: its bytes; for a special token, its name.
        draft_u: uniform number with which the draft drew it; None when greedy or with prompt
            lookup.
        draft_probability: the draft's probability of the token; 1 with prompt lookup.
        target_probability: the target's probability of the token; None if it was not looked at.
        ratio: target_probability / draft_probability; None if the token was not looked at.
        u: uniform number that `ratio` is compared with; None when greedy or not looked at.
        verdict: ``accepted``, ``rejected`` or ``not looked at``.
    """

    token_id: Whole
    token_bytes: TokenBytes
    draft_u: Uniform | None
    draft_probability: Share
    target_probability: Share | None
    ratio: Amount | None
    u: Uniform | None
    verdict: Literal[VERDICTS]

    @property
    def text(self) -> str:
        """The token on its own; an incomplete character becomes a replacement character."""
        return self.token_bytes.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class DrawnToken:
    """The token that the target itself drew at the end of a round.

    Attributes:
        token_id: the token.
        token_bytes: its bytes; for a special token, its name.
        kind: ``resampled`` from the residual after a rejection; ``bonus`` from the target after all
            proposals were accepted; ``plain`` if nothing was proposed.
        u: uniform number of the draw; None when greedy.
        probability: its probability in the distribution that it was drawn from.
        target_probability: the target's probability of the token.
    """

    token_id: Whole
    token_bytes: TokenBytes
    kind: Literal[KINDS]
    u: Uniform | None
    probability: Share
    target_probability: Share

    @property
    def text(self) -> str:
        """The token on its own; an incomplete character becomes a replacement character."""
        return self.token_bytes.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class SpeculativeStep:
    """One round: tokens proposed, verified in one pass of the target, and one more drawn.

    Attributes:
        index: 0 for the first round.
        start: number of tokens generated before the round.
        draft_length: number of tokens that it was meant to propose, g.
        proposed: the proposed tokens; fewer than g near a limit or without a match.
        drawn: the token that the target drew after them; None if an accepted one ended the text.
        token_ids: tokens appended: the accepted ones, then the drawn one.
        text: text that they completed.
        forced_acceptance: the probability that acceptance was forced to; None for the exact rule.
        text_invalid: whether acceptance was forced, so that the text follows no model.
        stop_reason: None, ``max_tokens``, ``eos``, ``stop_string`` or ``context``.
        stop_string: the stop string that ended generation here, else None.
        is_prefill: whether a model read the prompt, at first or to rebuild a lost cache.
        target_passes: how many tokens each pass of the target read; the last pass verified the
            proposals.
        draft_passes: how many tokens each pass of the draft read.
        target_positions: positions in the target's cache after the round.
        draft_positions: the same for the draft; 0 with prompt lookup.
        target_cache_bytes, draft_cache_bytes: bytes of the cached values after the round.
        target_cache_bytes_held, draft_cache_bytes_held: memory kept for these values.
        prefill_ms: wall time of reading the prompt or a lost cache's tokens, by both models.
        draft_ms: passes of the draft, or the search for a match.
        target_ms: the pass that verified the proposals.
        shape_ms: chains, draws and verdicts, for both models.
        total_ms: the whole round, including bookkeeping.
    """

    index: Whole
    start: Whole
    draft_length: Annotated[int, Meta(ge=1, le=MOST_DRAFT_LENGTH)]
    proposed: Row[ProposedToken]
    drawn: DrawnToken | None
    token_ids: Row[Whole]
    text: TokenText
    forced_acceptance: Share | None
    text_invalid: bool
    stop_reason: StopReason | None
    stop_string: StopString | None
    is_prefill: Cost[bool]
    target_passes: Cost[tuple[Positive, ...]]
    draft_passes: Cost[tuple[Positive, ...]]
    target_positions: Cost[Whole]
    draft_positions: Cost[Whole]
    target_cache_bytes: Cost[Whole]
    target_cache_bytes_held: Cost[Whole]
    draft_cache_bytes: Cost[Whole]
    draft_cache_bytes_held: Cost[Whole]
    prefill_ms: Cost[Amount]
    draft_ms: Cost[Amount]
    target_ms: Cost[Amount]
    shape_ms: Cost[Amount]
    total_ms: Cost[Amount]

    @property
    def accepted(self) -> int:
        """Number of accepted proposals."""
        return sum(token.verdict == ACCEPTED for token in self.proposed)

    @property
    def looked_at(self) -> int:
        """Number of proposals that the target looked at: the accepted and the first rejected."""
        return sum(token.verdict != NOT_LOOKED_AT for token in self.proposed)

    @property
    def other_ms(self) -> float:
        """Milliseconds not spent on models, chains or draws: bookkeeping, caches, stop rules."""
        return self.total_ms - self.prefill_ms - self.draft_ms - self.target_ms - self.shape_ms

    @property
    def ids(self) -> Iterator[int]:
        """Ids of the appended and the proposed tokens."""
        yield from self.token_ids
        yield from (token.token_id for token in self.proposed)

    def rows(self) -> list[dict[str, Any]]:
        """Return one table row per proposed token, and one for the drawn token."""
        own = {name: getattr(self, name) for name in _OWN_COLUMNS}
        empty = dict.fromkeys((*_PROPOSED_COLUMNS, *_DRAWN_COLUMNS))
        proposed = [
            own | empty | {"place": place} | {n: getattr(token, n) for n in _PROPOSED_COLUMNS}
            for place, token in enumerate(self.proposed)
        ]
        if self.drawn is None:
            return proposed
        drawn = {name: getattr(self.drawn, name) for name in _DRAWN_COLUMNS}
        place = {"place": len(self.token_ids) - 1, "verdict": self.drawn.kind}
        return [*proposed, own | empty | place | drawn]

    @classmethod
    def columns(cls) -> list[str]:
        """Return the column names of `rows`."""
        return list(dict.fromkeys((*_OWN_COLUMNS, "place", *_PROPOSED_COLUMNS, *_DRAWN_COLUMNS)))


_PROPOSED_COLUMNS = tuple(item.name for item in fields(ProposedToken))
_DRAWN_COLUMNS = ("token_id", "token_bytes", "u", "probability", "target_probability")
_OWN_COLUMNS = tuple(
    item.name
    for item in fields(SpeculativeStep)
    if item.name not in ("proposed", "drawn", "token_ids", "text")
)


class _DraftFacts(Struct, forbid_unknown_fields=True):
    name: Text
    source: Text
    revision: Text | None
    dtype: Text
    vocab_size: Positive
    parameters: Whole
    tokenizer_hash: Text | None


class _Settings(Struct):
    draft: _DraftFacts | None


class Speculative(Strategy):
    """Speculative decoding; its setting `draft` is None for prompt lookup."""

    step = SpeculativeStep
    decoder = "engine.decoding.speculative:SpeculativeDecoder"

    def check(self, settings: dict[str, Any], vocab_size: int) -> None:
        convert(settings, _Settings)
        with refusals():
            own = {name: value for name, value in settings.items() if name != "draft"}
            SpeculativeSettings.from_dict(own).sampling.check_vocabulary(vocab_size)

    def token_ids(self, prompt_ids: Sequence[int], steps: Sequence[SpeculativeStep]) -> list[int]:
        return [token_id for step in steps for token_id in step.token_ids]
