"""The scores of the next token: a whole row of them, or its highest ones."""

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
        logprobs: (n,) float32 natural logarithms of their probabilities, nothing cut.
        vocab_size: how many tokens the model scores.
        rest: probability of the tokens that are not listed together; 0 where all are.
    """

    ids: np.ndarray
    logprobs: np.ndarray
    vocab_size: int
    rest: float

    @property
    def bytes_held(self) -> int:
        """Memory that it takes."""
        return self.ids.nbytes + self.logprobs.nbytes

    def row(self, model: object = None) -> np.ndarray:
        """(vocab,) float32 log-probabilities; the tokens not listed share the rest evenly.

        Sums over the row are exact at temperature 1. Ranks and whatever a cut to at most n tokens
        leaves are exact at any: no token that is not listed is likelier than one that is.
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
        """It is small, and stays in memory."""


@dataclass(frozen=True)
class Forward:
    """The outcome of one forward pass, for the next token.

    Attributes:
        logits: (vocab,) float32, raw, of the last position; (tokens, vocab) where all positions
            were asked for. Log-probabilities where the back end has no logits.
        hidden: (1, 1, d_model) input of the output layer at that position, or (1, tokens, d_model)
            at all of them, in the model's dtype and on its device; None where there is none.
        ms: wall time in milliseconds, until the logits are in this process' memory; without the
            time in which the pass stood still for others.
        scores: what was listed, if that was not the whole row.
    """

    logits: np.ndarray
    hidden: torch.Tensor | None
    ms: float
    scores: Scores | None = None
