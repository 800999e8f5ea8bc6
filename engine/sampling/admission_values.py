"""What is tried to let a removed token survive: for every sampler the values it could have instead.

The values of a sampler come as lines: changes in one direction, the nearest first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.sampling.stages import (
    STAGES,
    Banned,
    Context,
    CutStage,
    LogitBias,
    Number,
    Stage,
    TokenEdit,
)
from engine.sampling.stages.info import DOWN, EITHER, UP

_LIFTED = 0.5  # how far lifting a ban goes, between a moved slider and a sampler that is off
_WHOLE_WAY = 1.0
_FEW = 1000  # possible tokens up to which every number of tokens is tried


@dataclass(frozen=True)
class Scene:
    """What the changes are to be made in.

    Attributes:
        chain: the samplers that are on.
        context: what they know besides the logits.
        logits: (vocab,) float32.
        possible: how many logits are above -inf.
        token_id: the token.
        entering: its rank among what each sampler gets, from 1, as far as it survives.
    """

    chain: Sequence[Stage]
    context: Context
    logits: np.ndarray
    possible: int
    token_id: int
    entering: Sequence[int]


@dataclass(frozen=True)
class Change:
    """One thing to try.

    Attributes:
        stage: the sampler with its new value; None for off.
        travel: how far that goes, as a share of the way of its slider.
        field, lifted, bias: as `engine.sampling.admission.Admission` has them.
    """

    stage: Stage | None
    travel: float
    field: str | None = None
    lifted: bool = False
    bias: float | None = None


@dataclass(frozen=True)
class Line:
    """Changes of one sampler in one direction, the nearest first.

    Attributes:
        place: where the sampler stands, or would stand, in the chain.
        replaces: whether the chain has it there already.
        length: how many changes there are.
        at: the n-th of them, made when it is needed.
        halves: whether all beyond one that admits do too.
        nested: whether each keeps no more than the one before it, so that the line ends with the
            first at which the sampler itself removes the token.
        gap: what lies between the n-th and the one before, where not every value is on the line.
    """

    name: str
    place: int
    replaces: bool
    length: int
    at: Callable[[int], Change]
    halves: bool = False
    nested: bool = False
    gap: Callable[[int], Line] | None = None


class Lines:
    """What a sampler could be set to instead, as lines of changes."""

    def __init__(self, scene: Scene, name: str, place: int, replaces: bool) -> None:
        """`place` and `replaces` as `Line` has them."""
        self.scene = scene
        self.name = name
        self.kind = STAGES[name]
        self.place = place
        self.replaces = replaces
        self.stage = scene.chain[place] if replaces else None
        self.later = scene.chain[place + replaces :]

    def looser(self) -> list[Line]:
        """Changes with which the sampler removes less, or nothing."""
        if self.kind is LogitBias:
            lines = [self._biases(UP)]
        else:
            lines = self._of_numbers(1)
        if self.replaces and not self.kind.is_one_number():
            lines += [*self._lifted(), self._line([Change(None, _WHOLE_WAY)])]
        return lines

    def tighter(self) -> list[Line]:
        """Changes with which it removes more."""
        return [self._biases(DOWN)] if self.kind is LogitBias else self._of_numbers(-1)

    def _of_numbers(self, way: int) -> list[Line]:
        """Other values of its numbers: looser ones with `way` 1, tighter ones with -1."""
        lines = []
        for number in self.kind.info.numbers:
            if number.looser is None:
                continue
            direction = way * self._direction(number)
            if self.kind.is_one_number():
                lines.append(self._values(number, direction, is_looser=way == 1))
            elif self.replaces:
                lines.append(self._field(number, direction, is_looser=way == 1))
        return lines

    def _line(self, changes: list[Change], **how: object) -> Line:
        return self._lazy(len(changes), changes.__getitem__, **how)

    def _lazy(self, length: int, at: Callable[[int], Change], **how: object) -> Line:
        return Line(self.name, self.place, self.replaces, length, at, **how)

    def _halves(self, number: Number) -> bool:
        is_steady = all(stage.info is not None and stage.info.is_steady for stage in self.later)
        return number.is_switch or (number.is_monotone and is_steady)

    def _is_nested(self, number: Number) -> bool:
        return number.is_monotone and issubclass(self.kind, CutStage)

    def _direction(self, number: Number) -> int:
        """In which direction the number removes less."""
        if number.looser != EITHER:
            return number.looser
        stage = self.stage or self.kind(number.usual)
        scores = self.scene.logits
        acts_on, _ = stage.changes(scores, self.scene.context)
        return DOWN if np.any(acts_on == self.scene.token_id) else UP

    # --- one number -------------------------------------------------------------------------------

    def _values(self, number: Number, direction: int, is_looser: bool) -> Line:
        """Other values of a sampler of one number, in one direction."""
        own = self.stage.value if self.stage else self.kind.off
        own = math.inf * number.looser if self._is_beyond(number, own) else own
        if number.log is not None and number.whole:
            return self._sizes(number, own, direction, is_looser)
        values = _from(self._tried(number), own, direction)
        changes = [self._change(number, own, value) for value in values]
        if is_looser and self.replaces and self._off_is_beyond(number):
            changes.append(Change(None, _WHOLE_WAY))
        if is_looser:
            return self._line(changes, halves=self._halves(number))
        return self._line(changes, halves=number.is_switch, nested=self._is_nested(number))

    def _tried(self, number: Number) -> list[float]:
        """All values worth a try, ascending."""
        values = {*number.between(*(number.reach or number.slider[:2])), *number.further}
        if self._off_is_beyond(number):
            values.discard(self.kind.off)
        return sorted(values)

    def _off_is_beyond(self, number: Number) -> bool:
        """Whether off lies beyond the end of the slider at which the least is removed."""
        tight_end = number.low if number.looser == UP else number.high
        return self.kind.off is None or (number.looser != EITHER and self.kind.off == tight_end)

    def _is_beyond(self, number: Number, value: object) -> bool:
        return self._off_is_beyond(number) and self.kind.is_off(value)

    def _change(self, number: Number, own: float, value: float) -> Change:
        stage = None if self.kind.is_off(value) else self.kind(value)
        return Change(stage, self._travel(number, own, value))

    def _travel(self, number: Number, own: float, value: float) -> float:
        """How far a slider moves from one value to another, as a share of its way."""
        low, high = number.reach or number.slider[:2]
        if number.log is None:
            if math.isinf(value):
                return _WHOLE_WAY
            own = min(max(own, low), high) if math.isinf(own) else own
            return abs(value - own) / (high - low)
        vocab = self.scene.logits.size
        low, high = number.log[0], number.log[1] or max(2, vocab)
        loose_end = high if number.looser == UP else low

        def logarithm(each: float) -> float:
            return math.log(loose_end if math.isinf(each) or each == 0 else each)

        return abs(logarithm(value) - logarithm(own)) / math.log(high / low)

    def _sizes(self, number: Number, own: float, direction: int, is_looser: bool) -> Line:
        """The same of a number of tokens: any may be needed, but so many cannot all be tried."""
        possible = self.scene.possible  # of as many as there are, none goes
        if is_looser and self._halves(number):
            return self._between(number, own, max(own, possible), halves=True)
        values = _from(self._tried_sizes(number, possible), own, direction)
        if is_looser and self.replaces:
            # As many as let the token through may lie between those tried.
            needed = self.scene.entering[self.place]
            if own < needed < possible:
                values = sorted({*values, needed})
            values.append(math.inf)
        changes = [self._size(number, own, value) for value in values]

        def gap(place: int) -> Line | None:
            start = values[place - 1] if place else own
            start, end = (possible if math.isinf(each) else each for each in (start, values[place]))
            return self._between(number, own, end, start) if abs(end - start) > 1 else None

        return self._line(changes, nested=not is_looser and self._is_nested(number), gap=gap)

    def _tried_sizes(self, number: Number, possible: int) -> list[int]:
        last = possible - 1
        near = last if possible <= _FEW else min(last, int(number.high))
        values = list(range(1, near + 1))
        size = near * 1.05
        while 0 < size < last:
            values.append(round(size))
            size *= 1.05
        return values

    def _between(
        self, number: Number, own: float, end: float, start: float | None = None, **how: bool
    ) -> Line:
        """Every number of tokens from behind `start` (`own` where not given) to `end`."""
        start = own if start is None else start
        if start == end:  # both may be infinite
            return self._line([])
        way = 1 if end > start else -1
        length = int(abs(end - start))
        return self._lazy(
            length, lambda place: self._size(number, own, start + way * (place + 1)), **how
        )

    def _size(self, number: Number, own: float, value: float) -> Change:
        is_all = math.isinf(value) or value >= self.scene.possible
        value = math.inf if is_all else value
        stage = None if is_all else self.kind(value)
        return Change(stage, self._travel(number, own, value))

    # --- several numbers, biases, bans ------------------------------------------------------------

    def _field(self, number: Number, direction: int, is_looser: bool) -> Line:
        """Other values of one of a sampler's numbers."""
        own = getattr(self.stage, number.name)
        values = _from(self._tried(number), own, direction)
        span = number.high - number.low
        changes = [
            Change(stage, abs(value - own) / span, field=number.name)
            for value, stage in self._with(number, values)
        ]
        if number.is_switch:
            return self._line(changes, halves=True)
        if is_looser:
            return self._line(changes, halves=self._halves(number))
        return self._line(changes, nested=self._is_nested(number))

    def _with(self, number: Number, values: Sequence[float]) -> Iterator[tuple[float, Stage]]:
        pair = self.kind.info.pair or ()
        plain = self.stage.to_dict()
        for value in values:
            changed = plain | {number.name: value}
            if not pair or changed[pair[0]] <= changed[pair[1]]:
                yield value, self.kind(**changed)

    def _biases(self, direction: int) -> Line:
        """Other biases of the token itself."""
        (number,) = self.kind.info.numbers
        token_id = self.scene.token_id
        others = dict(self.stage.bias) if self.stage else {}
        own = others.pop(token_id, 0.0)
        values = _from(self._tried(number), own, direction)

        def at(place: int) -> Change:
            value = values[place]
            pairs = others | ({token_id: value} if value else {})
            travel = abs(value - own) / (number.high - number.low)
            return Change(LogitBias(pairs) if pairs else None, travel, bias=value)

        # The higher one score is and the others as they are, the more a steady sampler keeps it.
        is_steady = all(
            isinstance(stage, TokenEdit) or (stage.info is not None and stage.info.is_steady)
            for stage in self.later
        )
        return self._lazy(len(values), at, halves=direction == UP and is_steady)

    def _lifted(self) -> list[Line]:
        """Without the words that would be complete with the token here."""
        if not isinstance(self.stage, Banned):
            return []
        token_id, context = self.scene.token_id, self.scene.context
        vocab = self.scene.logits.size

        def bans(sequence: tuple[int, ...]) -> bool:
            return token_id in Banned([sequence]).banned_ids(vocab, context)

        rest = [ids for ids in self.stage.sequences if ids[-1] != token_id or not bans(ids)]
        if len(rest) == len(self.stage.sequences):
            return []
        return [self._line([Change(Banned(rest) if rest else None, _LIFTED, lifted=True)])]


def _from(values: Sequence[float], own: float, direction: int) -> list[float]:
    """Those of ascending values that lie in a direction from one, the nearest first."""
    found = [value for value in values if direction * (value - own) > 1e-9]
    return found if direction == UP else found[::-1]
