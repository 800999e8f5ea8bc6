"""Masked diffusion in a trace: a step's canvas, predictions and cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import Struct

from engine.trace.steps import Bits
from engine.trace.strategy import Strategy
from engine.values import Amount, Cost, Positive, Share, Text, Uniform, Whole, convert

FILLED = "filled"  # the stop reason of a canvas: no mask is left

# Rules by which a step ranks its predictions, to keep the best.
REMASKING = ("low_confidence", "random", "entropy", "left_to_right")


@dataclass(frozen=True)
class DiffusionStep:
    """One pass over the canvas, as plain values.

    Each row has one entry per position of the canvas, None if there was no mask to predict.

    Attributes:
        index: 0 for the first step.
        block: index of the block being filled, from 0.
        ids_before, ids_after: the canvas before and after the step.
        predicted: token drawn at every mask, including those of later blocks.
        confidence: the model's own probability (temperature 1) of that token, 0 to 1.
        model_entropy_bits: Shannon entropy of the model's distribution at that position.
        u: the uniform number with which the token was drawn; None everywhere at temperature 0.
        unmasked: positions whose tokens this step keeps, ascending.
        masked: positions masked after the step, ascending.
        reused: whether the logits of a pass before a rewind were reused.
        forward_ms: the forward pass, in milliseconds; about 0 if reused.
        total_ms: the whole step.
        text: the canvas after the step, as text (see `DiffusionModel.text`).
        remasked: positions that an earlier step filled and this one masks again, ascending; among
            `masked`.
        committed_confidence: at every position that an earlier step filled, the model's own
            probability of the token there, None elsewhere. Empty in older traces, which lack it.
    """

    index: Whole
    block: Whole
    ids_before: tuple[Whole, ...]
    ids_after: tuple[Whole, ...]
    predicted: tuple[Whole | None, ...]
    confidence: tuple[Share | None, ...]
    model_entropy_bits: tuple[Bits | None, ...]
    u: tuple[Uniform | None, ...]
    unmasked: tuple[Whole, ...]
    masked: tuple[Whole, ...]
    reused: Cost[bool]
    forward_ms: Cost[Amount]
    total_ms: Cost[Amount]
    text: Text = ""
    remasked: tuple[Whole, ...] = ()
    committed_confidence: tuple[Share | None, ...] = ()

    def __post_init__(self) -> None:
        rows = (self.ids_after, self.predicted, self.confidence, self.model_entropy_bits, self.u)
        length = len(self.ids_before)
        highest = max((*self.unmasked, *self.masked), default=-1)
        if highest >= length or any(len(row) != length for row in rows):
            raise ValueError(f"every row must have {length:,} entries, one for each position")

    @property
    def ids(self) -> Iterator[int]:
        """Token ids on the canvas, before and after, and of all predictions."""
        yield from (*self.ids_before, *self.ids_after)
        yield from (token_id for token_id in self.predicted if token_id is not None)

    @property
    def predicted_at(self) -> tuple[int, ...]:
        """Positions that were masked before the step, ascending."""
        return tuple(sorted({*self.unmasked, *self.masked}.difference(self.remasked)))

    def rows(self) -> list[dict[str, Any]]:
        """Return one table row per mask that the step predicted."""
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
        """Return the column names of `rows`."""
        own = ("index", "block", "position", "token_id", "kept", "confidence")
        return [*own, "model_entropy_bits", "u", "forward_ms", "total_ms"]


class _FillingSettings(Struct, forbid_unknown_fields=True):
    steps: Positive | None
    temperature: Amount
    remasking: Literal[REMASKING]
    seed: Whole
    block_length: Positive | None
    eta: Amount = 0.0


def planner_score(confidence: float, eta: float = 1.0) -> float:
    """Return the planner's score of a token: eta times the logarithm of its probability.

    This is the score of P2's self-planning (Peng et al. 2025, arXiv:2502.03540). Eta is 1 for a
    prediction, and the settings' eta for a token already in place.
    """
    return eta * math.log(confidence) if confidence > 0 else -math.inf


class Filling(Strategy):
    """Masked diffusion; the prompt is the canvas with its masks."""

    step = DiffusionStep
    decoder = "engine.decoding.diffusion:DiffusionDecoder"
    fills = True

    def check(self, settings: dict[str, Any], vocab_size: int) -> None:
        convert(settings, _FillingSettings)

    def text(self, prompt: str, steps: Sequence[DiffusionStep]) -> str:
        return steps[-1].text if steps else prompt

    def token_ids(self, prompt_ids: Sequence[int], steps: Sequence[DiffusionStep]) -> list[int]:
        return list(steps[-1].ids_after if steps else prompt_ids)

    def stop_reason(self, steps: Sequence[DiffusionStep]) -> str | None:
        return FILLED if steps and not steps[-1].masked else None
