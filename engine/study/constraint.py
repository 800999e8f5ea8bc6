"""Effect of a constraint on a text, step by step: tokens allowed, price, bytes forced.

>>> figures = [figures_at(decoder, step.index) for step in decoder.steps]
>>> sum(each.price_bits for each in figures)
31.4
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engine.decoding.decoder import Decoder
from engine.errors import SettingError, msg
from engine.grammar import Places, TokenTable
from engine.sampling.samplers import Constraint
from engine.study.validity import Verdict, judge

FURTHER = 32  # maximum number of tokens after the wrong one


@dataclass(frozen=True)
class Broken:
    """A text that continues after a wrong token was forced.

    Attributes:
        index: the step in which it was forced.
        before, wrong, after: the text in three parts, with the wrong token's in the middle.
        verdict: an independent parser's verdict on the whole text.
        left_at: index of the first character that the constraint does not allow, None if the text
            keeps to it.
        is_complete: whether the constraint accepts the whole text.
    """

    index: int
    before: str
    wrong: str
    after: str
    verdict: Verdict
    left_at: int | None
    is_complete: bool

    @property
    def text(self) -> str:
        """The whole text."""
        return self.before + self.wrong + self.after


def without_constraint(text: Decoder, index: int, token_id: int) -> Broken:
    """Fork a text, force a token in a step, and continue without the constraint.

    Raises:
        DecodingError: as in stepping; the given text stays as it is.
    """
    constraint = text.settings_at(index).stage(Constraint.setting)
    twin = text.fork()
    try:
        twin.rewind(index)
        twin.settings = twin.settings.replace(constraint=None)
        before = twin.text
        twin.step(token_id)
        end = len(twin.text)
        for _ in twin.run(index + 1 + FURTHER):
            pass
    finally:
        twin.release_cache()
    whole = twin.text
    read = ribbon(constraint, whole.encode())
    left_at = None
    if read.broken_at is not None:
        left_at = len(whole.encode()[: read.broken_at].decode("utf-8", "ignore"))
    return Broken(
        index,
        before,
        whole[len(before) : end],
        whole[end:],
        judge(constraint, whole),
        left_at,
        read.is_complete,
    )


_LN2 = math.log(2.0)


@dataclass(frozen=True)
class Wanted:
    """A likely token that the constraint refused.

    Attributes:
        token_id: the token.
        probability: the model's own, at temperature 1 and before any sampler.
        rank: its rank in that distribution, from 1.
    """

    token_id: int
    probability: float
    rank: int


@dataclass(frozen=True)
class ConstraintFigures:
    """Effect of a constraint in one step.

    All probabilities are the model's own, at temperature 1 and before any sampler.

    Attributes:
        index: the step.
        allowed: number of tokens that it allowed, including end-of-text tokens.
        allowed_mass: Z, the total probability of the allowed tokens, 0 to 1.
        price_bits: -log2 Z, the cost of the constraint here; `math.inf` if Z is 0.
        may_end: whether the text before the step was complete.
        must_end: whether only the end of the text was allowed.
        is_forced: whether only one token was allowed.
        forced_bytes: the bytes that had to come next, whatever was drawn.
        wanted: the most likely tokens that it refused, most likely first.
    """

    index: int
    allowed: int
    allowed_mass: float
    price_bits: float
    may_end: bool
    must_end: bool
    is_forced: bool
    forced_bytes: bytes
    wanted: tuple[Wanted, ...]


def figures_at(
    text: Decoder, index: int, constraint: Constraint | None = None, most_wanted: int = 5
) -> ConstraintFigures:
    """Return the effect that a constraint had, or would have had, in a step.

    Args:
        text: the text.
        index: a step that was taken.
        constraint: None for the one that the step was taken with. A given one is assumed to hold
            from the beginning of the text.
        most_wanted: maximum number of refused tokens to report.

    Raises:
        SettingError: no such step, or a step without a constraint.
    """
    context = text.context(index)
    row = text.distribution(index).raw
    if constraint is None:
        constraint = text.settings_at(index).stage(Constraint.setting)
        if constraint is None:
            remedy = msg("choose a step that was taken under a constraint")
            raise SettingError(msg("step index"), index, "was taken without a constraint", remedy)
        place, forced = constraint.place(context), constraint.forced(context)
    else:
        ids = context.generated_ids
        place = context.places.at(constraint.language, constraint.source, ids)
        forced = context.places.forced(constraint.language, constraint.source, ids)
    logits = row.scores.astype(np.float64)
    refused = np.where(place.allowed, -np.inf, logits)
    leading = np.argsort(-refused, kind="stable")[:most_wanted]
    log_mass = _log_sum(logits[place.allowed]) - _log_sum(logits)
    allowed = int(np.count_nonzero(place.allowed))
    return ConstraintFigures(
        index=index,
        allowed=allowed,
        allowed_mass=math.exp(min(0.0, log_mass)),
        price_bits=max(0.0, -log_mass / _LN2),
        may_end=place.may_end,
        must_end=place.must_end,
        is_forced=allowed == 1,
        forced_bytes=forced,
        wanted=tuple(
            Wanted(int(i), math.exp(row.logprob(int(i))), row.rank(int(i)))
            for i in leading
            if refused[i] > -np.inf
        ),
    )


def _log_sum(scores: np.ndarray) -> float:
    """Return ln of the sum of exp(scores); -inf if there are none."""
    if not scores.size or scores.max() == -np.inf:
        return -math.inf
    highest = float(scores.max())
    return highest + math.log(float(np.exp(scores - highest).sum()))


@dataclass(frozen=True)
class Ribbon:
    """Bytes of a text that a constraint forced.

    Attributes:
        forced: for every byte of the text, whether no other byte could have been there.
        is_complete: whether the constraint accepts the whole text.
        broken_at: index of the first byte that it does not allow, None if the text keeps to it.
            Later bytes are not forced.
    """

    forced: tuple[bool, ...]
    is_complete: bool
    broken_at: int | None


def ribbon(constraint: Constraint, data: bytes) -> Ribbon:
    """Find the bytes of a text that a constraint forces; needs neither model nor tokenizer.

    Raises:
        SettingError: following the constraint costs more than is allowed.
    """
    forced: list[bool] = []
    every, language, source = _every_byte(), constraint.language, constraint.source
    for place, byte in enumerate(data):
        found = every.at(language, source, list(data[:place]))
        if not found.allowed[byte]:
            rest = (False,) * (len(data) - place)
            return Ribbon((*forced, *rest), False, place)
        forced.append(int(np.count_nonzero(found.allowed)) == 1 and not found.may_end)
    return Ribbon(tuple(forced), every.at(language, source, list(data)).may_end, None)


@lru_cache(maxsize=1)
def _every_byte() -> Places:
    """Return places of a vocabulary whose tokens are the 256 single bytes."""
    table = TokenTable([bytes((i,)) for i in range(256)], frozenset(), ())
    return Places(lambda: table, 256)
