"""What one step of masked diffusion is: the canvas before and after, the predictions, the cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.trace.steps import ENTROPY, MILLISECONDS, SHARE, UNIFORM
from engine.trace.values import Flag, Optional, Row, Text, Token, Whole, of, plain

# Which predictions a step keeps, best first.
REMASKING = ("low_confidence", "random", "entropy")

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
        masked: positions still masked after it, ascending.
        reused: whether the logits of a pass before a rewind were taken up again.
        forward_ms: the forward pass, in milliseconds; about 0 where reused.
        total_ms: the whole step.
        text: the canvas after it as text (see `DiffusionModel.text`).
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
            for place in sorted(kept.union(self.masked))
        ]

    @classmethod
    def columns(cls) -> list[str]:
        """Names of a row's columns."""
        own = ("index", "block", "position", "token_id", "kept", "confidence")
        return [*own, "model_entropy_bits", "u", "forward_ms", "total_ms"]
