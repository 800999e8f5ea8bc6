"""Beam search as a trace holds it: the hypotheses of a step, what became of each, the cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from engine.sampling.stages import Stage
from engine.text import stopping
from engine.trace.chain import Chain
from engine.trace.steps import MILLISECONDS, TOKEN_TEXT
from engine.trace.strategy import Strategy
from engine.trace.values import (
    Count,
    Flag,
    Hexadecimal,
    Kind,
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

KEPT = "kept"  # goes on as a beam
PRUNED = "pruned"  # others were better, or the search ended
FINISHED = "finished"  # complete, and among the best complete ones
FATES = (KEPT, PRUNED, FINISHED)

# Why a search ends, besides a limit.
FULL_POOL = "full_pool"  # as many complete texts as beams: early_stopping=True
NO_IMPROVEMENT = "no_improvement"  # no beam can still become better than the worst complete text
STOP_REASONS = (
    stopping.MAX_TOKENS,
    stopping.CONTEXT,
    stopping.EOS,
    FULL_POOL,
    NO_IMPROVEMENT,
)

_LOGPROB = Real(-math.inf, 0, rounded=True)
_CLOSE = 1e-6  # relative, of sums in another order


@dataclass(frozen=True, slots=True)
class BeamCandidate:
    """One hypothesis that a step looked at: a beam and one more token.

    Attributes:
        parent: place of the beam among those before the step; 0 in the first step.
        group: its group, from 0.
        token_id: the token.
        token_bytes: its bytes; a special token's name.
        text: text that the token completes; empty for special tokens and unfinished characters.
        is_special: whether it is a control token.
        logprob: log-probability of the token after its beam under the model, in nats.
        total: sum of the log-probabilities of all tokens of the hypothesis.
        penalty: sum of what samplers and diversity penalties took off the log-probabilities; below
            0 where a sampler added more. A step ranks by total - penalty.
        rank: 1 for the best of its group in this step.
        fate: ``kept``, ``pruned`` or ``finished``.
        beam: place among the beams after the step; None unless kept.
        score: (total - penalty) / length ** length_penalty; None unless finished.
    """

    parent: int = of(Whole())
    group: int = of(Whole())
    token_id: int = of(Token())
    token_bytes: bytes = of(Hexadecimal())
    text: str = of(TOKEN_TEXT)
    is_special: bool = of(Flag())
    logprob: float = of(_LOGPROB)
    total: float = of(_LOGPROB)
    penalty: float = of(Real())
    rank: int = of(Whole(1))
    fate: str = of(OneOf(FATES))
    beam: int | None = of(Whole(), optional=True)
    score: float | None = of(Real(), optional=True)


@dataclass(frozen=True, slots=True)
class BeamFinished:
    """A complete hypothesis among the best, told by where it ended.

    Attributes:
        step: the step of its last token.
        place: place among that step's candidates.
        score: its score there.
    """

    step: int = of(Whole())
    place: int = of(Whole())
    score: float = of(Real())


@dataclass(frozen=True, slots=True)
class BeamStep:
    """One step: one more token for every beam, and the choice among all of them.

    Attributes:
        index: 0 for the first generated token.
        candidates: the best continuations, group by group, best first within a group.
        pool: the best complete hypotheses so far, best first.
        ids_after: generated token ids of the best hypothesis now: by score, of the complete ones
            and the beams; once the search has ended, of the complete ones.
        text: its text.
        score: its score; a beam's is that of its tokens so far.
        stop_reason: None, ``max_tokens``, ``context``, ``full_pool``, ``no_improvement``, or
            ``eos`` where no continuation is left.
        is_prefill: whether the prompt was read, in the first step or to read the beams again.
        rows_read: beams that the pass went over; 1 in the first step.
        cache_positions: positions of each in the cache.
        cache_bytes: bytes of the cached values of all of them.
        cache_bytes_held: memory kept for them.
        passes: forward passes; 0 where logits from before a rewind were taken up again.
        forward_ms: wall time of the passes, in milliseconds, also where somebody who looked at what
            may follow had them made before.
        choose_ms: ranking and choosing.
        total_ms: all of it, with bookkeeping.
    """

    index: int = of(Whole())
    candidates: tuple[BeamCandidate, ...] = of(Row(Record(BeamCandidate)))
    pool: tuple[BeamFinished, ...] = of(Row(Record(BeamFinished)))
    ids_after: tuple[int, ...] = of(Row(Token()))
    text: str = of(Text())
    score: float = of(Real())
    stop_reason: str | None = of(OneOf(STOP_REASONS), optional=True)
    is_prefill: bool = of(Flag(), cost=True)
    rows_read: int = of(Whole(1), cost=True)
    cache_positions: int = of(Whole(), cost=True)
    cache_bytes: int = of(Whole(), cost=True)
    cache_bytes_held: int = of(Whole(), cost=True)
    passes: int = of(Whole(), cost=True)
    forward_ms: float = of(MILLISECONDS, cost=True)
    choose_ms: float = of(MILLISECONDS, cost=True)
    total_ms: float = of(MILLISECONDS, cost=True)

    @property
    def kept(self) -> tuple[BeamCandidate, ...]:
        """The beams after this step, in their order."""
        kept = (candidate for candidate in self.candidates if candidate.fate == KEPT)
        return tuple(sorted(kept, key=lambda candidate: candidate.beam))

    def to_dict(self) -> dict[str, Any]:
        """Plain values; bytes as hexadecimal text."""
        return plain(self)

    def rows(self) -> list[dict[str, Any]]:
        """One row of a table for every candidate."""
        names = [item.name for item in fields(BeamCandidate)]
        return [
            {"index": self.index}
            | {name: getattr(candidate, name) for name in names}
            | {"stop_reason": self.stop_reason, "total_ms": self.total_ms}
            for candidate in self.candidates
        ]

    @classmethod
    def columns(cls) -> list[str]:
        """Names of a row's columns."""
        names = [item.name for item in fields(BeamCandidate)]
        return ["index", *names, "stop_reason", "total_ms"]


class EarlyStopping(Kind):
    """True, False or the word never, as transformers takes them."""

    def read(self, value: Any, limits: Limits) -> bool | str:
        if type(value) is not bool and value != "never":
            raise Wrong("must be true, false or never, got {value}", shown(value))
        return value


@dataclass(frozen=True)
class _BeamSettings:
    width: int = of(Count())
    length_penalty: float = of(Real())
    early_stopping: bool | str = of(EarlyStopping())
    groups: int = of(Whole(1))
    diversity_penalty: float = of(Real(0))
    max_new_tokens: int = of(Whole(1))
    chain: tuple[Stage, ...] = of(Chain(), default=())


class _Path(NamedTuple):
    """A hypothesis as its candidates tell it."""

    ids: tuple[int, ...]
    total: float
    penalty: float


class Beam(Strategy):
    """Beam search, in one group or several."""

    step = BeamStep

    def settings(self, values: dict[str, Any], limits: Limits) -> _BeamSettings:
        return read(_BeamSettings, values, limits)

    def check(
        self,
        prompt_ids: Sequence[int],
        steps: Sequence[BeamStep],
        settings: list[_BeamSettings],
    ) -> None:
        live = [_Path((), 0.0, 0.0)]
        finished: dict[tuple[int, int], tuple[_Path, float]] = {}
        for step, used in zip(steps, settings, strict=True):
            try:
                if used != settings[0]:
                    raise Wrong("comes with other settings, which cannot change")
                live = _next_beams(step, used, live, finished)
                _check_best(step, used, live, finished)
            except Wrong as wrong:
                raise wrong.within(step.index) from None

    def text(self, prompt: str, steps: Sequence[BeamStep]) -> str:
        return steps[-1].text if steps else ""

    def token_ids(self, prompt_ids: Sequence[int], steps: Sequence[BeamStep]) -> list[int]:
        return list(steps[-1].ids_after) if steps else []


def _next_beams(
    step: BeamStep,
    used: _BeamSettings,
    live: list[_Path],
    finished: dict[tuple[int, int], tuple[_Path, float]],
) -> list[_Path]:
    """The beams after a step; its complete hypotheses go to `finished`."""
    beams: dict[int, _Path] = {}
    for place, one in enumerate(step.candidates):
        try:
            if one.parent >= len(live):
                raise Wrong("must be below {live:,}, the beams before", len(live)).within("parent")
            if one.group >= used.groups:
                raise Wrong("must be below {groups:,}, as groups says", used.groups).within("group")
            before = live[one.parent]
            if not _equal(one.total, before.total + one.logprob):
                raise Wrong("is not its beam's total and its logprob").within("total")
            path = _Path((*before.ids, one.token_id), one.total, one.penalty)
            if (one.beam is not None) != (one.fate == KEPT):
                raise Wrong("does not fit the fate {fate}", one.fate).within("beam")
            if (one.score is not None) != (one.fate == FINISHED):
                raise Wrong("does not fit the fate {fate}", one.fate).within("score")
            if one.fate == KEPT:
                if one.beam in beams:
                    raise Wrong("is that of another candidate too").within("beam")
                beams[one.beam] = path
            elif one.fate == FINISHED:
                if not _equal(one.score, _score(path, used)):
                    raise Wrong("is not that of its total and length").within("score")
                finished[step.index, place] = path, one.score
        except Wrong as wrong:
            raise wrong.within(place).within("candidates") from None
    if sorted(beams) != list(range(len(beams))) or len(beams) > used.width:
        raise Wrong("do not number the beams from 0").within("candidates")
    return [beams[place] for place in range(len(beams))]


def _check_best(
    step: BeamStep,
    used: _BeamSettings,
    live: list[_Path],
    finished: dict[tuple[int, int], tuple[_Path, float]],
) -> None:
    best: list[tuple[float, tuple[int, ...]]] = []  # groups may come to the same tokens
    for place, entry in enumerate(step.pool):
        found = finished.get((entry.step, entry.place))
        if found is None or not _equal(found[1], entry.score):
            raise Wrong("names no finished candidate of that score").within(place).within("pool")
        best.append((found[1], found[0].ids))
    if len(step.pool) > used.width:
        raise Wrong(
            "must hold at most {width:,}, got {pool:,}", (used.width, len(step.pool))
        ).within("pool")
    if step.stop_reason is None or not best:
        best += [(_score(path, used), path.ids) for path in live]
    highest = max((score for score, _ in best), default=math.nan)
    if not any(_equal(score, highest) and ids == step.ids_after for score, ids in best):
        raise Wrong("is not the best hypothesis").within("ids_after")
    if not _equal(highest, step.score):
        raise Wrong("is not that of the best hypothesis").within("score")


def _score(path: _Path, used: _BeamSettings) -> float:
    return (path.total - path.penalty) / len(path.ids) ** used.length_penalty


def _equal(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_CLOSE, abs_tol=_CLOSE)
