"""Find a small change of one setting that would admit a removed token.

    >>> found = admitting_change(logits, SamplingSettings(top_k=10), NO_CONTEXT, token_id)
    >>> found.setting, found.value
    ('top_k', 17)

Every answer is a trial that succeeded: the chain is run with it. A trial moves a sampler's slider
to a position at which it removes less, switches a sampler off, raises the token's own bias, or
lifts its bans. A change's distance is the share of the slider that it travels. Switching a sampler
off counts as the full length. Bisection along a slider finds the first position that admits the
token, so the position just before it does not. If moving further does not always loosen the
sampler, an even earlier position might admit it.

A change at one place affects nothing before it, so a trial begins there. A sampler after the one
that removes the token cannot bring it back, so it is never tried.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.errors import NoCandidatesError, SettingError, msg
from engine.sampling.ranking import RankedRow
from engine.sampling.samplers import (
    STAGES,
    Banned,
    Context,
    CutStage,
    LogitBias,
    Number,
    Stage,
)
from engine.sampling.samplers.info import DOWN, EITHER, UP
from engine.sampling.settings import SamplingSettings
from engine.sampling.survivors import Survivors

_LIFTED = 0.5  # distance of lifting a ban, between a moved slider and a sampler that is off
_WHOLE_WAY = 1.0


@dataclass(frozen=True)
class Admission:
    """Change that would let a removed token survive, or the samplers that block it.

    Attributes:
        setting: the sampler whose setting changes; None if several block the token together.
        field: the one number that differs, if the sampler has several.
        value: the setting's new value, as plain values: a number, or fields by name. If it is
            switched off, its off value, or None for a sampler with several numbers.
        settings: all settings with that change.
        lifted: whether a ban on the token is lifted; other bans stay.
        bias: the token's new bias, if a different one admits it.
        blocked_by: a minimal set of samplers that must be off together, if no single change admits
            the token. Then no other attribute is set.
    """

    setting: str | None = None
    field: str | None = None
    value: object = None
    settings: SamplingSettings | None = None
    lifted: bool = False
    bias: float | None = None
    blocked_by: tuple[str, ...] = ()


def admitting_change(
    logits: np.ndarray,
    settings: SamplingSettings,
    context: Context,
    token_id: int,
    *,
    order: Sequence[str] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Admission | None:
    """Find a small change of one setting that lets a removed token survive.

    The engine's own rules decide, even if the settings ask for parity.

    Args:
        logits: (vocab,) float32; not modified.
        settings: the chain.
        context: as in `shape`.
        token_id: the token.
        order: names of the samplers that may change, in the order in which they apply: all of the
            chain, in its order, and any that may be switched on. None for those of the chain.
            Parity allows no others.
        should_stop: called before every trial.

    Returns:
        None if the token survives without a change, if its logit is -inf, or if `should_stop`
        returned True.

    Raises:
        LogitsError: NaN or +inf among the logits.
        NoCandidatesError: every logit is -inf.
        SettingError: an order that does not fit the chain.
    """
    try:
        return _Search(logits, settings, context, token_id, order, should_stop).result()
    except _StoppedError:
        return None


@dataclass(frozen=True)
class _Change:
    """One change to try: a sampler with a different value, or off if `stage` is None."""

    name: str
    place: int
    replaces: bool
    stage: Stage | None
    travel: float = _WHOLE_WAY
    field: str | None = None
    lifted: bool = False
    bias: float | None = None


_Line = tuple[Sequence[float], Callable[[float], _Change]]  # values, the nearest first


class _StoppedError(Exception):
    """The search was interrupted."""


class _Search:
    """The search for a change that admits one token."""

    def __init__(
        self,
        logits: np.ndarray,
        settings: SamplingSettings,
        context: Context,
        token_id: int,
        order: Sequence[str] | None,
        should_stop: Callable[[], bool] | None,
    ) -> None:
        self.settings = settings
        self.context = context
        self.token_id = token_id
        self.chain = list(settings.chain)
        names = [stage.setting for stage in self.chain]
        self.order = names if order is None or settings.parity else _checked_order(order, names)
        self.should_stop = should_stop or (lambda: False)
        self._ranks: dict[RankedRow, int] = {}
        self.row = RankedRow(np.asarray(logits, np.float32))
        # The input of each sampler, up to the one that removes the token.
        self.before = [Survivors(self.row)]
        self.removed_at = self._run(self.before[0], self.chain, context, keep=self.before)
        self._ranks = {left.row: self._rank_in(left.row) for left in self.before}

    # --- the answer -------------------------------------------------------------------------------

    def result(self) -> Admission | None:
        if self.row.scores[self.token_id] == -np.inf or self.removed_at is None:
            return None
        found = []
        for name in self.order:
            place, replaces = self._place(name)
            if place <= self.removed_at:
                lines = self._lines(name, place, replaces)
                found += [change for line in lines if (change := self._first(*line)) is not None]
        if not found:
            return Admission(blocked_by=self._blockers())
        return self._admission(min(found, key=lambda change: change.travel))

    def _place(self, name: str) -> tuple[int, bool]:
        """Return a sampler's index in the chain, present or future, and whether it is on."""
        names = [stage.setting for stage in self.chain]
        if name in names:
            return names.index(name), True
        later = self.order[self.order.index(name) + 1 :]
        return next((i for i, each in enumerate(names) if each in later), len(names)), False

    def _first(self, values: Sequence[float], change: Callable[[float], _Change]) -> _Change | None:
        """Return the change at the first value that admits the token; None if the last does not."""
        if not values or not self._admits(change(values[-1])):
            return None
        last = len(values) - 1
        place = bisect_left(
            range(last), True, key=lambda place: self._admits(change(values[place]))
        )
        return change(values[place])

    # --- candidate changes ------------------------------------------------------------------------

    def _lines(self, name: str, place: int, replaces: bool) -> Iterator[_Line]:
        """Yield the lines of changes that make a sampler remove less: values, bans lifted, off."""
        kind, stage = STAGES[name], self.chain[place] if replaces else None
        if kind is LogitBias:
            yield self._biases(stage, place)
        else:
            for number in kind.info.numbers:
                is_cut = issubclass(kind, CutStage)
                if number.looser is not None and (
                    stage is not None or (kind.is_one_number() and not is_cut)
                ):
                    yield self._values(number, name, place, stage)
        if stage is None:
            return
        if isinstance(stage, Banned):
            rest = self._without_bans(stage)
            if len(rest) < len(stage.sequences):
                left = Banned(rest) if rest else None
                lifted = _Change(name, place, True, left, _LIFTED, lifted=True)
                yield [0.0], lambda _: lifted
        yield [0.0], lambda _: _Change(name, place, True, None)

    def _values(self, number: Number, name: str, place: int, stage: Stage | None) -> _Line:
        """Return a slider's positions beyond its own value, in the direction that removes less."""
        kind = STAGES[name]
        is_lone = kind.is_one_number()
        own = getattr(stage, number.name) if stage else kind.off
        looser = self._direction(number, stage or kind(number.usual))
        span = number.high - number.low
        values: Sequence[float]
        if looser == UP and number.whole and issubclass(kind, CutStage):
            values = range(int(own) + 1, self.row.count)  # any number of tokens may be needed
        else:
            values = [each for each in number.positions() if looser * (each - own) > 1e-9]
            values = values if looser == UP else values[::-1]
        pair = kind.info.pair or ()
        others = {} if stage is None or is_lone else stage.to_dict()
        if number.name in pair:
            low, high = (others[each] for each in pair)
            values = [v for v in values if (v <= high if number.name == pair[0] else v >= low)]

        def change(value: float) -> _Change:
            travel = min(_WHOLE_WAY, abs(value - own) / span)
            if is_lone:
                made = None if kind.is_off(value) else kind(value)
                return _Change(name, place, stage is not None, made, travel)
            made = kind(**(others | {number.name: value}))
            return _Change(name, place, True, made, travel, field=number.name)

        return values, change

    def _direction(self, number: Number, stage: Stage) -> int:
        """Return the direction in which a number removes less."""
        if number.looser != EITHER:
            return number.looser
        acts_on, _ = stage.changes(self.row.scores, self.context)
        return DOWN if np.any(acts_on == self.token_id) else UP

    def _biases(self, stage: LogitBias | None, place: int) -> _Line:
        """Return the line of higher biases for the token itself."""
        (number,) = LogitBias.info.numbers
        others = dict(stage.bias) if stage else {}
        own = others.pop(self.token_id, 0.0)

        def change(value: float) -> _Change:
            pairs = others | ({self.token_id: value} if value else {})
            made = LogitBias(pairs) if pairs else None
            travel = abs(value - own) / (number.high - number.low)
            return _Change("logit_bias", place, stage is not None, made, travel, bias=value)

        return [each for each in number.positions() if each - own > 1e-9], change

    def _without_bans(self, stage: Banned) -> list[tuple[int, ...]]:
        """Return the banned words that the token would not complete here."""
        vocab = self.row.scores.size

        def bans(sequence: tuple[int, ...]) -> bool:
            return self.token_id in Banned([sequence]).banned_ids(vocab, self.context)

        return [ids for ids in stage.sequences if ids[-1] != self.token_id or not bans(ids)]

    # --- the full answer --------------------------------------------------------------------------

    def _admission(self, change: _Change) -> Admission:
        kind, stage = STAGES[change.name], change.stage
        chain = list(self.chain)
        chain[change.place : change.place + change.replaces] = [] if stage is None else [stage]
        if kind.is_one_number():
            value = kind.off if stage is None else stage.value
        else:
            value = None if stage is None else stage.to_dict()
        return Admission(
            setting=change.name,
            field=change.field,
            value=value,
            settings=self.settings.replace(chain=chain),
            lifted=change.lifted,
            bias=change.bias,
        )

    def _blockers(self) -> tuple[str, ...]:
        """Return a minimal set of samplers without which the token survives, in chain order."""
        off: list[str] = []
        while (name := self._removed_without(off)) is not None:
            off.append(name)
        for name in list(off):
            others = [each for each in off if each != name]
            if self._removed_without(others) is None:
                off = others
        return tuple(stage.setting for stage in self.chain if stage.setting in off)

    def _removed_without(self, off: list[str]) -> str | None:
        self._pause()
        chain = [stage for stage in self.chain if stage.setting not in off]
        place = self._run(self.before[0], chain, self.context)
        return None if place is None else chain[place].setting

    # --- trials -----------------------------------------------------------------------------------

    def _admits(self, change: _Change) -> bool:
        """Return whether the token survives with a change."""
        self._pause()
        left = self.before[change.place]
        later = self.chain[change.place + change.replaces :]
        changed = [] if change.stage is None else [change.stage]
        return self._run(left, [*changed, *later], self.context) is None

    def _run(
        self,
        survivors: Survivors,
        chain: Sequence[Stage],
        context: Context,
        keep: list[Survivors] | None = None,
    ) -> int | None:
        """Return the place of the stage that removes the token, None if it survives them all."""
        for place, stage in enumerate(chain):
            try:
                survivors = stage.apply(survivors, context)
            except NoCandidatesError:
                return place
            if not self._rank(survivors):
                return place
            if keep is not None:
                keep.append(survivors)
        return None

    def _rank(self, survivors: Survivors) -> int:
        """Return the token's rank among the survivors, from 1; 0 if it was removed."""
        rank = self._ranks.get(survivors.row)
        rank = self._rank_in(survivors.row) if rank is None else rank
        return rank - survivors.start if survivors.start < rank <= survivors.stop else 0

    def _rank_in(self, row: RankedRow) -> int:
        is_out = row.scores[self.token_id] == -np.inf
        return 0 if is_out else row.rank(self.token_id)

    def _pause(self) -> None:
        if self.should_stop():
            raise _StoppedError


def _checked_order(order: Sequence[str], chain: list[str]) -> list[str]:
    names = [name for name in order if name in STAGES]
    if len(set(names)) < len(order) or [name for name in names if name in chain] != chain:
        remedy = msg(
            "give names of samplers, among them {value}",
            ", ".join(chain) or msg("those that may change"),
        )
        problem = msg("must list samplers, each once, those of the chain in its order")
        raise SettingError("order", list(order), problem, remedy)
    return names
