"""Masked diffusion as a trace holds it: canvas, predictions and cost of a step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import msg
from engine.trace.steps import ENTROPY, MILLISECONDS, SHARE, UNIFORM
from engine.trace.strategy import Strategy
from engine.trace.values import (
    Flag,
    Limits,
    OneOf,
    Optional,
    Real,
    Row,
    Text,
    Token,
    Whole,
    Wrong,
    of,
    plain,
    read,
)

FILLED = "filled"  # why a canvas ends: no mask is left

# Which predictions a step keeps, best first.
REMASKING = ("low_confidence", "random", "entropy", "left_to_right")

_IDS = Row(Token(is_input=True))
_PLACES = Row(Whole())


@dataclass(frozen=True)
class DiffusionStep:
    """One pass over the canvas, as plain values.

    The rows have one entry per position of the canvas, None where there was no mask to predict.

    Attributes:
        index: 0 for the first step.
        block: which block is being filled, from 0.
        ids_before, ids_after: the canvas.
        predicted: token drawn at every mask, also in blocks to come.
        confidence: the model's own probability (temperature 1) of that token, 0 to 1.
        model_entropy_bits: Shannon entropy of the model's distribution at that position.
        u: the uniform number the token was drawn with; None everywhere at temperature 0.
        unmasked: positions whose tokens this step keeps, ascending.
        masked: positions masked after it, ascending.
        reused: whether the logits of a pass before a rewind were taken up again.
        forward_ms: the forward pass, in milliseconds; about 0 where reused.
        total_ms: the whole step.
        text: the canvas after it as text (see `DiffusionModel.text`).
        remasked: positions that an earlier step filled and this one masks again, ascending; among
            `masked`.
        committed_confidence: at every position that an earlier step filled, the model's own
            probability of the token that stands there, None elsewhere. Empty in traces from before
            this was recorded.
    """

    index: int = of(Whole())
    block: int = of(Whole())
    ids_before: tuple[int, ...] = of(_IDS)
    ids_after: tuple[int, ...] = of(_IDS)
    predicted: tuple[int | None, ...] = of(Row(Optional(Token())))
    confidence: tuple[float | None, ...] = of(Row(Optional(SHARE)))
    model_entropy_bits: tuple[float | None, ...] = of(Row(Optional(ENTROPY)))
    u: tuple[float | None, ...] = of(Row(Optional(UNIFORM)))
    unmasked: tuple[int, ...] = of(_PLACES)
    masked: tuple[int, ...] = of(_PLACES)
    reused: bool = of(Flag(), cost=True)
    forward_ms: float = of(MILLISECONDS, cost=True)
    total_ms: float = of(MILLISECONDS, cost=True)
    text: str = of(Text(), default="")
    remasked: tuple[int, ...] = of(_PLACES, default=())
    committed_confidence: tuple[float | None, ...] = of(Row(Optional(SHARE)), default=())

    @property
    def predicted_at(self) -> tuple[int, ...]:
        """Positions that were masked before the step, ascending."""
        return tuple(sorted({*self.unmasked, *self.masked}.difference(self.remasked)))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return plain(self)

    def rows(self) -> list[dict[str, Any]]:
        """One row of a table for every mask that the step predicted."""
        kept = set(self.unmasked)
        return [
            {
                "index": self.index,
                "block": self.block,
                "position": place,
                "token_id": self.predicted[place],
                "kept": place in kept,
                "confidence": self.confidence[place],
                "model_entropy_bits": self.model_entropy_bits[place],
                "u": self.u[place],
                "forward_ms": self.forward_ms,
                "total_ms": self.total_ms,
            }
            for place in self.predicted_at
        ]

    @classmethod
    def columns(cls) -> list[str]:
        """Names of a row's columns."""
        own = ("index", "block", "position", "token_id", "kept", "confidence")
        return [*own, "model_entropy_bits", "u", "forward_ms", "total_ms"]


@dataclass(frozen=True)
class _FillingSettings:
    steps: int | None = of(Whole(1), optional=True)
    temperature: float = of(Real(0))
    remasking: str = of(OneOf(REMASKING))
    seed: int = of(Whole())
    block_length: int | None = of(Whole(1), optional=True)
    eta: float = of(Real(0), default=0.0)


def planner_score(confidence: float, eta: float = 1.0) -> float:
    """How firmly a token holds its place: eta times the logarithm of its probability.

    The score of P2's self-planning (Peng et al. 2025, arXiv:2502.03540): a prediction has it with
    eta 1, a token that stands already with the eta of the settings.
    """
    return eta * math.log(confidence) if confidence > 0 else -math.inf


class Filling(Strategy):
    """Masked diffusion; the prompt is the canvas with its masks."""

    step = DiffusionStep

    def settings(self, values: dict[str, Any], limits: Limits) -> _FillingSettings:
        return read(_FillingSettings, values, limits)

    def check(
        self,
        prompt_ids: Sequence[int],
        steps: Sequence[DiffusionStep],
        settings: list[_FillingSettings],
    ) -> None:
        canvas = tuple(prompt_ids)
        gaps = steps[0].predicted_at if steps else ()
        for step, setting in zip(steps, settings, strict=True):
            try:
                canvas = _filled(canvas, step, gaps)
                if step.remasked or setting.eta:
                    _check_plan(step, setting, gaps)
            except Wrong as wrong:
                raise wrong.within(step.index) from None

    def text(self, prompt: str, steps: Sequence[DiffusionStep]) -> str:
        return steps[-1].text if steps else prompt

    def token_ids(self, prompt_ids: Sequence[int], steps: Sequence[DiffusionStep]) -> list[int]:
        return list(steps[-1].ids_after if steps else prompt_ids)

    def stop_reason(self, steps: Sequence[DiffusionStep]) -> str | None:
        return FILLED if steps and not steps[-1].masked else None


def _filled(canvas: tuple[int, ...], step: DiffusionStep, gaps: tuple[int, ...]) -> tuple[int, ...]:
    """The canvas after a step, which must say the same; raises `Wrong` where it does not.

    Args:
        canvas: the one before it.
        step: the step.
        gaps: positions that were masked at the beginning.
    """
    if step.ids_before != canvas:
        raise Wrong("is not the canvas that the step before left").within("ids_before")
    length = len(canvas)
    for name in ("unmasked", "masked", "remasked"):
        places = getattr(step, name)
        if list(places) != sorted(set(places)) or (places and places[-1] >= length):
            raise Wrong("must be ascending positions from 0 to {length:,}", length - 1).within(name)
    if set(step.unmasked) & set(step.masked):
        raise Wrong("shares positions with masked").within("unmasked")
    predicted = step.predicted_at
    committed = sorted(set(gaps).difference(predicted))
    if not set(step.remasked) <= set(step.masked).intersection(committed):
        raise Wrong("must be masked positions that an earlier step filled").within("remasked")
    for name in ("predicted", "confidence", "model_entropy_bits", "u"):
        row = getattr(step, name)
        _check_length(name, row, length)
        if _there(row) != list(predicted) and (_there(row) or name != "u"):
            raise Wrong("must have an entry for every mask and none elsewhere").within(name)
    if step.committed_confidence:
        _check_length("committed_confidence", step.committed_confidence, length)
        if _there(step.committed_confidence) != committed:
            problem = msg("must have an entry for every position filled earlier and none elsewhere")
            raise Wrong(problem).within("committed_confidence")
    after = list(canvas)
    for place in step.remasked:
        after[place] = canvas[predicted[0]] if predicted else -1  # the mask
    for place in step.unmasked:
        after[place] = step.predicted[place]
    if step.ids_after != tuple(after):
        raise Wrong("is not the canvas with the kept predictions").within("ids_after")
    if predicted:
        mask = canvas[predicted[0]]
        for name, places in (("ids_before", predicted), ("ids_after", step.masked)):
            ids = getattr(step, name)
            if tuple(place for place, token_id in enumerate(ids) if token_id == mask) != places:
                raise Wrong("is not masked where the step says so").within(name)
    return step.ids_after


def _check_length(name: str, row: Sequence[object], length: int) -> None:
    if len(row) != length:
        problem = msg(
            "must have {length:,} entries, one for each position, got {row:,}", (length, len(row))
        )
        raise Wrong(problem).within(name)


def _there(row: Sequence[object]) -> list[int]:
    return [place for place, value in enumerate(row) if value is not None]


def _check_plan(step: DiffusionStep, settings: _FillingSettings, gaps: tuple[int, ...]) -> None:
    """Raise `Wrong` where tokens are masked again that hold their places more firmly than others.

    Args:
        step: the step.
        settings: its settings.
        gaps: positions that were masked at the beginning.
    """
    if not settings.eta:
        raise Wrong("must be empty where eta is 0").within("remasked")
    if not step.committed_confidence:
        raise Wrong("is missing, and eta is not 0").within("committed_confidence")
    size = settings.block_length or len(gaps)
    block = gaps[step.block * size : (step.block + 1) * size]
    if not set(step.remasked) <= set(block):
        raise Wrong("must be positions of the block").within("remasked")
    scores = {}
    for place in block:
        standing = step.committed_confidence[place]
        if standing is None:
            scores[place] = planner_score(step.confidence[place])
        else:
            scores[place] = planner_score(standing, settings.eta)
    masked = [scores[place] for place in block if place in step.masked]
    stays = [scores[place] for place in block if place not in step.masked]
    if masked and stays and max(masked) > min(stays):
        problem = msg("holds a position whose token is surer than one that stays")
        raise Wrong(problem).within("masked")
