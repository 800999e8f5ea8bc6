"""The scores of the next token: a whole row, or its highest scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The most likely next tokens as a back end lists them, and the mass of all others.

    Attributes:
        ids: (n,) token ids, each once.
        logprobs: (n,) float32 natural logarithms of their probabilities, before any cut.
        vocab_size: number of tokens that the model scores.
        rest: total probability of the tokens that are not listed; 0 if all are.
    """

    ids: np.ndarray
    logprobs: np.ndarray
    vocab_size: int
    rest: float

    @property
    def bytes_held(self) -> int:
        """Bytes of memory."""
        return self.ids.nbytes + self.logprobs.nbytes

    def row(self, model: object = None) -> np.ndarray:
        """Log-probabilities; the tokens not listed share the rest evenly: (vocab,) float32.

        Sums over the row are exact at temperature 1. Ranks, and the result of a cut to at most n
        tokens, are exact at any temperature: no unlisted token is likelier than a listed one.
        """
        others = self.vocab_size - self.ids.size
        each = np.float32(-np.inf)
        if others and self.rest > 0:
            lowest = np.nextafter(self.logprobs.min(), np.float32(-np.inf))
            each = min(np.float32(np.log(self.rest / others)), lowest)
        row = np.full(self.vocab_size, each, np.float32)
        row[self.ids] = self.logprobs
        row.setflags(write=False)
        return row

    def move_to(self, file: object) -> None:
        """Do nothing: the scores are small, and stay in memory."""


@dataclass(frozen=True)
class Forward:
    """The outcome of one forward pass, for the next token.

    Attributes:
        logits: (vocab,) float32, raw, of the last position; (tokens, vocab) if all positions were
            asked for. Log-probabilities if the back end has no logits.
        hidden: (1, 1, d_model) input of the output layer at that position, or (1, tokens, d_model)
            at all positions, in the model's dtype and on its device; None if there is none.
        ms: wall time in milliseconds, until the logits are in this process' memory; without the
            pauses for other passes.
        scores: the listed scores, if they are not the whole row.
    """

    logits: np.ndarray
    hidden: torch.Tensor | None
    ms: float
    scores: Scores | None = None
