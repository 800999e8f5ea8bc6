"""Speculative decoding as a trace holds it: what a round proposed, its verdicts and its cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

from engine.errors import SettingError, msg
from engine.sampling.speculation import MOST_DRAFT_LENGTH, SpeculativeSettings
from engine.text import stopping
from engine.trace.steps import (
    LONGEST_STOP_STRING,
    MILLISECONDS,
    SHARE,
    STOP_REASONS,
    TOKEN_TEXT,
    UNIFORM,
)
from engine.trace.strategy import Strategy
from engine.trace.values import (
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
    short,
    shown,
)

ACCEPTED, REJECTED, NOT_LOOKED_AT = "accepted", "rejected", "not looked at"
VERDICTS = (ACCEPTED, REJECTED, NOT_LOOKED_AT)
RESAMPLED, BONUS, PLAIN = "resampled", "bonus", "plain"
KINDS = (RESAMPLED, BONUS, PLAIN)
_NAME = Text(10_000)
_PASSES = Row(Whole(1), most=2**20)


@dataclass(frozen=True, slots=True)
class ProposedToken:
    """One token that the draft proposed.

    Probabilities are those after the sampling chain, which shapes both models' logits.

    Attributes:
        token_id: the token.
        token_bytes: its bytes; a special token's name.
        draft_u: uniform number that the draft drew it with; None when greedy or by prompt lookup.
        draft_probability: the draft's for it; 1 by prompt lookup.
        target_probability: the target's for it, None where it was not looked at.
        ratio: target_probability / draft_probability; None where it was not looked at.
        u: uniform number that `ratio` is compared with; None when greedy or not looked at.
        verdict: ``accepted``, ``rejected`` or ``not looked at``.
    """

    token_id: int = of(Token())
    token_bytes: bytes = of(Hexadecimal())
    draft_u: float | None = of(UNIFORM, optional=True)
    draft_probability: float = of(SHARE)
    target_probability: float | None = of(SHARE, optional=True)
    ratio: float | None = of(Real(0), optional=True)
    u: float | None = of(UNIFORM, optional=True)
    verdict: str = of(OneOf(VERDICTS))

    @property
    def text(self) -> str:
        """The token by itself; a replacement sign for a part of a character."""
        return self.token_bytes.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class DrawnToken:
    """The token that the target itself drew at the end of a round.

    Attributes:
        token_id: the token.
        token_bytes: its bytes; a special token's name.
        kind: ``resampled`` from the residual after a rejection; ``bonus`` from the target after all
            proposals were accepted; ``plain`` where nothing was proposed.
        u: uniform number of the draw; None when greedy.
        probability: its probability in the distribution that it was drawn from.
        target_probability: the target's for it.
    """

    token_id: int = of(Token())
    token_bytes: bytes = of(Hexadecimal())
    kind: str = of(OneOf(KINDS))
    u: float | None = of(UNIFORM, optional=True)
    probability: float = of(SHARE)
    target_probability: float = of(SHARE)

    @property
    def text(self) -> str:
        """The token by itself; a replacement sign for a part of a character."""
        return self.token_bytes.decode("utf-8", "replace")


_DRAWN = of(Record(DrawnToken), optional=True)


@dataclass(frozen=True, slots=True)
class SpeculativeStep:
    """One round: tokens proposed, checked in one pass of the target, and one drawn.

    Attributes:
        index: 0 for the first round.
        start: generated tokens before it.
        draft_length: tokens that it was to propose, g.
        proposed: those that it did propose; fewer near a limit or without a match.
        drawn: what the target drew after them; None where an accepted token ended the text.
        token_ids: tokens appended: the accepted ones, then the drawn one.
        text: text that they completed.
        forced_acceptance: the probability that acceptance was forced to; None for the exact rule.
        text_invalid: whether the text follows no model, as acceptance was forced.
        stop_reason: None, ``max_tokens``, ``eos``, ``stop_string`` or ``context``.
        stop_string: the stop string that ended generation here, else None.
        is_prefill: whether a model read the prompt, at first or to make a lost cache again.
        target_passes: how many tokens each pass of the target read; the last one checked.
        draft_passes: how many tokens each pass of the draft read.
        target_positions: positions in the target's cache after the round.
        draft_positions: the same of the draft, 0 by prompt lookup.
        target_cache_bytes, draft_cache_bytes: bytes of the cached values after the round.
        target_cache_bytes_held, draft_cache_bytes_held: memory kept for them.
        prefill_ms: reading the prompt, or what a lost cache held, by both models; wall time.
        draft_ms: passes of the draft, or the search for a match.
        target_ms: the pass that checked the proposals.
        shape_ms: chains, draws and verdicts, of both models.
        total_ms: all of it, with bookkeeping.
    """

    index: int = of(Whole())
    start: int = of(Whole())
    draft_length: int = of(Whole(1, MOST_DRAFT_LENGTH))
    proposed: tuple[ProposedToken, ...] = of(Row(Record(ProposedToken), most=MOST_DRAFT_LENGTH))
    drawn: DrawnToken | None = _DRAWN
    token_ids: tuple[int, ...] = of(Row(Token(), most=MOST_DRAFT_LENGTH + 1))
    text: str = of(TOKEN_TEXT)
    forced_acceptance: float | None = of(SHARE, optional=True)
    text_invalid: bool = of(Flag())
    stop_reason: str | None = of(OneOf(STOP_REASONS), optional=True)
    stop_string: str | None = of(Text(LONGEST_STOP_STRING), optional=True)
    is_prefill: bool = of(Flag(), cost=True)
    target_passes: tuple[int, ...] = of(_PASSES, cost=True)
    draft_passes: tuple[int, ...] = of(_PASSES, cost=True)
    target_positions: int = of(Whole(), cost=True)
    draft_positions: int = of(Whole(), cost=True)
    target_cache_bytes: int = of(Whole(), cost=True)
    target_cache_bytes_held: int = of(Whole(), cost=True)
    draft_cache_bytes: int = of(Whole(), cost=True)
    draft_cache_bytes_held: int = of(Whole(), cost=True)
    prefill_ms: float = of(MILLISECONDS, cost=True)
    draft_ms: float = of(MILLISECONDS, cost=True)
    target_ms: float = of(MILLISECONDS, cost=True)
    shape_ms: float = of(MILLISECONDS, cost=True)
    total_ms: float = of(MILLISECONDS, cost=True)

    @property
    def accepted(self) -> int:
        """How many proposals were accepted."""
        return sum(token.verdict == ACCEPTED for token in self.proposed)

    @property
    def looked_at(self) -> int:
        """How many proposals the target looked at: the accepted ones and the first rejected."""
        return sum(token.verdict != NOT_LOOKED_AT for token in self.proposed)

    @property
    def other_ms(self) -> float:
        """What neither model, chain nor draw took: bookkeeping, caches, stop rules."""
        return self.total_ms - self.prefill_ms - self.draft_ms - self.target_ms - self.shape_ms

    def to_dict(self) -> dict[str, Any]:
        """Plain values; bytes as hexadecimal text."""
        return plain(self)

    def rows(self) -> list[dict[str, Any]]:
        """One row of a table per proposed token, and one for the drawn one."""
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
        """Names of a row's columns."""
        return list(dict.fromkeys((*_OWN_COLUMNS, "place", *_PROPOSED_COLUMNS, *_DRAWN_COLUMNS)))


_PROPOSED_COLUMNS = tuple(item.name for item in fields(ProposedToken))
_DRAWN_COLUMNS = ("token_id", "token_bytes", "u", "probability", "target_probability")
_OWN_COLUMNS = tuple(
    item.name
    for item in fields(SpeculativeStep)
    if item.name not in ("proposed", "drawn", "token_ids", "text")
)


@dataclass(frozen=True)
class DraftFacts:
    """The draft model of a trace, so that it can be loaded again."""

    name: str = of(_NAME)
    source: str = of(_NAME)
    revision: str | None = of(_NAME, optional=True)
    dtype: str = of(_NAME)
    vocab_size: int = of(Whole(1))
    parameters: int = of(Whole())
    tokenizer_hash: str | None = of(_NAME, optional=True)


@dataclass(frozen=True)
class _RoundSettings:
    draft: DraftFacts | None
    used: SpeculativeSettings


class Speculative(Strategy):
    """Speculative decoding; `draft` among the settings is None for prompt lookup."""

    step = SpeculativeStep

    def settings(self, values: dict[str, Any], limits: Limits) -> _RoundSettings:
        if "draft" not in values:
            raise Wrong("is missing").within("draft")
        draft = values["draft"]
        try:
            facts = None if draft is None else read(DraftFacts, draft, limits)
        except Wrong as wrong:
            raise wrong.within("draft") from None
        try:
            used = SpeculativeSettings.from_dict({k: v for k, v in values.items() if k != "draft"})
            used.sampling.check_vocabulary(limits.vocab_size)
        except SettingError as error:
            problem = str(error).removesuffix(f"; {error.remedy}.")
            raise Wrong("are refused: {problem}", short(problem, 160)) from error
        except (ValueError, TypeError, ArithmeticError) as error:
            raise Wrong("hold what no sampler takes") from error
        if used.sampling.seed is None:
            raise Wrong("name no seed, so the draws cannot be repeated")
        return _RoundSettings(facts, used)

    def check(
        self,
        prompt_ids: Sequence[int],
        steps: Sequence[SpeculativeStep],
        settings: list[_RoundSettings],
    ) -> None:
        start = 0
        for step, used in zip(steps, settings, strict=True):
            try:
                if used.draft != settings[0].draft:
                    raise Wrong("comes with another draft, which cannot change")
                if step.start != start:
                    raise Wrong(
                        "must be {start:,}, got {start2}", (start, shown(step.start))
                    ).within("start")
                _check_round(step, used.used)
            except Wrong as wrong:
                raise wrong.within(step.index) from None
            start += len(step.token_ids)

    def token_ids(self, prompt_ids: Sequence[int], steps: Sequence[SpeculativeStep]) -> list[int]:
        return [token_id for step in steps for token_id in step.token_ids]


def _check_round(step: SpeculativeStep, used: SpeculativeSettings) -> None:
    """Raise `Wrong` where a round contradicts itself or its settings."""
    if step.forced_acceptance != used.forced_acceptance:
        problem = msg(
            "must be {forced_acceptance}, as in the settings", shown(used.forced_acceptance)
        )
        raise Wrong(problem).within("forced_acceptance")
    if step.text_invalid != used.text_invalid:
        raise Wrong("must be {text_invalid}", shown(used.text_invalid)).within("text_invalid")
    if len(step.proposed) > step.draft_length:
        problem = msg("must hold at most {draft_length}, as draft_length says", step.draft_length)
        raise Wrong(problem).within("proposed")
    if not used.adaptive and step.draft_length != used.draft_length:
        raise Wrong("must be {draft_length}, as in the settings", used.draft_length).within(
            "draft_length"
        )
    most = used.max_new_tokens
    if most is not None and step.start + len(step.token_ids) > most:
        raise Wrong("hold more than max_new_tokens, {most:,}", most).within("token_ids")
    for place, token in enumerate(step.proposed):
        try:
            _check_verdict(token, step.forced_acceptance)
        except Wrong as wrong:
            raise wrong.within(place).within("proposed") from None
    verdicts = [VERDICTS.index(token.verdict) for token in step.proposed]
    if any(later < one for one, later in pairwise(verdicts)) or verdicts.count(1) > 1:
        raise Wrong("has its verdicts in another order than they fall").within("proposed")
    _check_tokens(step)


def _check_verdict(token: ProposedToken, forced: float | None) -> None:
    looked_at = token.verdict != NOT_LOOKED_AT
    if (token.ratio is not None) != looked_at or (
        token.target_probability is not None
    ) != looked_at:
        raise Wrong("must be there where the token was looked at").within("ratio")
    if not looked_at:
        return
    # Greedy, a ratio is 0 or 1.
    u = 0.0 if token.u is None else token.u
    accepts = u < (token.ratio if forced is None else forced)
    if accepts != (token.verdict == ACCEPTED):
        raise Wrong("contradicts u and ratio, got {verdict}", token.verdict).within("verdict")


def _check_tokens(step: SpeculativeStep) -> None:
    rejected = any(token.verdict == REJECTED for token in step.proposed)
    kind = RESAMPLED if rejected else BONUS if step.proposed else PLAIN
    ids = tuple(token.token_id for token in step.proposed[: step.accepted])
    if step.drawn is None:
        if rejected or not ids or step.stop_reason is None:
            raise Wrong("is missing, though nothing ended the round").within("drawn")
    else:
        ids += (step.drawn.token_id,)
        if step.drawn.kind != kind or (step.looked_at < len(step.proposed) and not rejected):
            raise (
                Wrong("must be {kind}, got {kind2}", (kind, step.drawn.kind))
                .within("kind")
                .within("drawn")
            )
    if step.token_ids != ids:
        raise Wrong("must be the accepted tokens and the drawn one").within("token_ids")
    if step.stop_reason == stopping.STOP_STRING and step.stop_string is None:
        raise Wrong("is missing").within("stop_string")
