"""The scores of the next token: a whole row, or only the highest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The most likely next tokens listed by a back end, and the probability of all others.

    Attributes:
        ids: (n,) token ids, each once.
        logprobs: (n,) float32 natural logarithms of their probabilities, before any sampler.
        vocab_size: number of tokens that the model scores.
        rest: total probability of the tokens that are not listed; 0 if all are.
    """

    ids: np.ndarray
    logprobs: np.ndarray
    vocab_size: int
    rest: float

    @property
    def bytes_held(self) -> int:
        """Bytes of memory that the arrays take."""
        return self.ids.nbytes + self.logprobs.nbytes

    def completed(self, whole: Scores) -> Scores:
        """Return the scores of all tokens: these, and those of `whole` for tokens not listed here.

        Listed scores stay as they are, so that figures computed from them stay true. A server may
        round differently the second time: no other token gets more than the lowest listed score.
        """
        row = np.minimum(whole.row(), self.logprobs.min())
        row[self.ids] = self.logprobs
        order = np.lexsort((np.arange(row.size), -row))
        return Scores(order, row[order], self.vocab_size, 0.0)

    def row(self, model: object = None) -> np.ndarray:
        """Return log-probabilities; unlisted tokens share the rest evenly: (vocab,) float32.

        Sums over the row are exact at temperature 1. Ranks, and the result of keeping at most n
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
    """Result of one forward pass: the scores of the next token.

    Attributes:
        logits: (vocab,) float32, raw, of the last position; (tokens, vocab) if all positions were
            asked for. Log-probabilities if the back end has no logits.
        hidden: (1, 1, d_model) input of the output layer at that position, or (1, tokens, d_model)
            at all positions, in the model's dtype and on its device; None if there is none.
        ms: wall time in milliseconds, until the logits are in this process' memory; excludes
            pauses for other passes.
        scores: the listed scores, if the back end does not return the whole row.
    """

    logits: np.ndarray
    hidden: torch.Tensor | None
    ms: float
    scores: Scores | None = None
