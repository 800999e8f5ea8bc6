"""What would admit a removed token: the smallest change of one setting that lets it survive.

    >>> found = smallest_change(logits, SamplingSettings(top_k=10), NO_CONTEXT, token_id)
    >>> found.setting, found.value
    ('top_k', 17)

Every answer is a trial that went well: the chain is run with it. Tried are the positions of each
sampler's sliders and some values beyond their ends, each sampler off, the token's own bias, and its
bans lifted. How far a change goes is the share of the way of its slider; switching a sampler off
counts as the whole way. What removes less is tried first. Only where no such change admits the
token, the rest follows: a sampler that removes more may admit too, as it leaves fewer rivals or
larger shares.

A change at one place leaves everything before it as it is, so a trial begins there; and a sampler
behind the one that removes the token cannot bring it back, so it is not tried at all. Where a value
further along can only keep more (`Number.is_monotone`), the first that admits is found by halving.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.errors import NoCandidatesError, SettingError
from engine.sampling.admission_values import Change, Line, Lines, Scene
from engine.sampling.ranking import RankedRow
from engine.sampling.settings import SamplingSettings
from engine.sampling.stages import STAGES, Context, Stage
from engine.sampling.survivors import Survivors


@dataclass(frozen=True)
class Admission:
    """What would let a removed token survive.

    Attributes:
        setting: the sampler whose setting changes; None where several block the token together.
        field: the one number that differs, where the sampler has several.
        value: what the setting becomes, as plain values: a number, or fields by name; where it is
            switched off, its off value, or None for a sampler of several numbers.
        settings: all settings with that change.
        lifted: whether a ban of the token is lifted; other bans stay.
        bias: the token's own bias, where another one admits it.
        blocked_by: a smallest set of samplers that have to be off together, where no single change
            admits the token. Then nothing else is set.
    """

    setting: str | None = None
    field: str | None = None
    value: object = None
    settings: SamplingSettings | None = None
    lifted: bool = False
    bias: float | None = None
    blocked_by: tuple[str, ...] = ()


def smallest_change(
    logits: np.ndarray,
    settings: SamplingSettings,
    context: Context,
    token_id: int,
    *,
    order: Sequence[str] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Admission | None:
    """The smallest change of one setting with which a removed token survives.

    The engine's own rules decide, also where the settings ask for parity.

    Args:
        logits: (vocab,) float32; not modified.
        settings: the chain.
        context: as `shape` has it.
        token_id: the token.
        order: names of the samplers that may change, in the order in which they apply: all of the
            chain, in its order, and any that may be switched on. None for those of the chain; so it
            is under parity, which allows no other.
        should_stop: asked before every trial.

    Returns:
        None where the token survives as it is, where its logit is -inf, or where `should_stop`
        said so.

    Raises:
        LogitsError: NaN or +inf among the logits.
        NoCandidatesError: every logit is -inf.
        SettingError: an order that does not fit the chain.
    """
    try:
        return _Search(logits, settings, context, token_id, order, should_stop).result()
    except _StoppedError:
        return None


class _StoppedError(Exception):
    """The search was interrupted."""


class _Search:
    """The search for one token."""

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
        # What each sampler got, up to the one that removes the token.
        self.before = [Survivors(self.row)]
        self.removed_at = self._run(self.before[0], self.chain, context, keep=self.before)
        self._ranks = {left.row: self._rank_in(left.row) for left in self.before}

    # --- the answer -------------------------------------------------------------------------------

    def result(self) -> Admission | None:
        if self.row.scores[self.token_id] == -np.inf or self.removed_at is None:
            return None
        scene = Scene(
            self.chain,
            self.context,
            self.row.scores,
            self.row.count,
            self.token_id,
            [self._rank(left) for left in self.before],
        )
        looser, tighter = [], []
        for name in self.order:
            place, replaces = self._place(name)
            if place <= self.removed_at:
                values = Lines(scene, name, place, replaces)
                looser += values.looser()
                tighter += values.tighter()
        for lines in (looser, tighter):
            found = self._nearest([line for line in lines if line.length])
            if found is not None:
                return self._admission(*found)
        return Admission(blocked_by=self._blockers())

    def _place(self, name: str) -> tuple[int, bool]:
        """Where a sampler stands in the chain, or would stand, and whether it is on."""
        names = [stage.setting for stage in self.chain]
        if name in names:
            return names.index(name), True
        later = self.order[self.order.index(name) + 1 :]
        return next((i for i, each in enumerate(names) if each in later), len(names)), False

    def _nearest(self, lines: list[Line]) -> tuple[Line, Change] | None:
        """The change that goes the least way; of equals the one whose sampler comes first."""
        best: tuple[float, int] = math.inf, 0  # how far, and the place among the lines
        found: tuple[Line, Change] | None = None
        # What is halved is found in a few trials, and bounds how far the others need to be tried.
        for number, line in sorted(enumerate(lines), key=lambda each: not each[1].halves):
            place = self._halved(line) if line.halves else self._scanned(line, best[0])
            if place is None:
                continue
            gap = line.gap(place) if line.gap else None
            change = line.at(place) if gap is None else gap.at(self._halved(gap))
            if (change.travel, number) < best or found is None:
                best, found = (change.travel, number), (line, change)
        return found

    def _halved(self, line: Line) -> int | None:
        """The first place that admits, where whatever lies beyond one that admits does too."""
        if not self._admits(line, line.at(line.length - 1)):
            return None
        places = range(line.length - 1)
        return bisect_left(places, True, key=lambda place: self._admits(line, line.at(place)))

    def _scanned(self, line: Line, limit: float) -> int | None:
        """The first place that admits, as far as it is no farther than what was found before."""
        failed: set[tuple[int, int]] = set()  # what a cut left: many values leave the same
        for place in range(line.length):
            change = line.at(place)
            if change.travel > limit:
                return None
            left = self._left_by(line, change)
            if left is None:
                if line.nested:
                    return None
                continue
            window = left.start, left.stop
            is_cut = left.row is self.before[line.place].row
            if is_cut and window in failed:
                continue
            if self._admits(line, change, left):
                return place
            if is_cut:
                failed.add(window)
        return None

    def _admission(self, line: Line, change: Change) -> Admission:
        kind, stage = STAGES[line.name], change.stage
        chain = list(self.chain)
        chain[line.place : line.place + line.replaces] = [] if stage is None else [stage]
        if kind.is_one_number():
            value = kind.off if stage is None else stage.value
        else:
            value = None if stage is None else stage.to_dict()
        return Admission(
            setting=line.name,
            field=change.field,
            value=value,
            settings=self.settings.replace(chain=chain),
            lifted=change.lifted,
            bias=change.bias,
        )

    def _blockers(self) -> tuple[str, ...]:
        """A smallest set of samplers without which the token survives, in the chain's order."""
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

    def _admits(self, line: Line, change: Change, left: Survivors | None = None) -> bool:
        """Whether the token survives with a change; `left` is what its sampler leaves, if known."""
        if left is None:
            left = self._left_by(line, change)
            if left is None:
                return False
        later = self.chain[line.place + line.replaces :]
        return self._run(left, later, self.context) is None

    def _left_by(self, line: Line, change: Change) -> Survivors | None:
        """What the changed sampler leaves; None where the token is not among it."""
        self._pause()
        before, stage = self.before[line.place], change.stage
        if stage is None:
            return before
        try:
            after = stage.apply(before, self.context)
        except NoCandidatesError:
            return None
        return after if self._rank(after) else None

    def _run(
        self,
        survivors: Survivors,
        chain: Sequence[Stage],
        context: Context,
        keep: list[Survivors] | None = None,
    ) -> int | None:
        """Place of the stage that removes the token, None where it survives them all."""
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
        """The token's rank among these, from 1; 0 where it was removed."""
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
        remedy = f"give names of samplers, among them {', '.join(chain) or 'those that may change'}"
        raise SettingError("order", list(order), "does not hold the chain in its order", remedy)
    return names
