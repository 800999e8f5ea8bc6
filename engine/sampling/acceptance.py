"""The acceptance rule of speculative decoding, on the distributions of target and draft.

    accept x with probability min(1, target(x) / draft(x)); else draw from the residual

The residual is the positive part of (target - draft), normalised. The resulting token follows the
target's distribution exactly, whatever the draft's (Leviathan et al. 2023, arXiv:2211.17192;
Chen et al. 2023, arXiv:2302.01318).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.sampling.distribution import Distribution, Drawn

# Streams of uniform numbers, in addition to the draw's own and those of the stages.
DRAFT_STREAM = 1001  # the draft draws its proposals
ACCEPT_STREAM = 1002  # the target accepts or rejects them


@dataclass(frozen=True, eq=False)
class Overlap:
    """Two distributions over one vocabulary, and the probability mass that they share.

    Attributes:
        target: (vocab,) float64 probabilities of the target, sum 1.
        draft: (vocab,) float64 probabilities of the draft, sum 1.
    """

    target: np.ndarray
    draft: np.ndarray

    @cached_property
    def shared(self) -> float:
        """Sum over the vocabulary of min(target, draft): the probability of acceptance."""
        return float(np.minimum(self.target, self.draft).sum())

    @cached_property
    def excess(self) -> np.ndarray:
        """Excess of the target's probability over the draft's, at least 0: (vocab,)."""
        return np.maximum(self.target - self.draft, 0.0)

    @cached_property
    def residual(self) -> np.ndarray:
        """Distribution to draw from after a rejection, `excess` normalised: (vocab,).

        If the two are equal, it is the target itself, as nothing is ever rejected then.
        """
        mass = self.excess.sum()
        return self.excess / mass if mass > 0 else self.target

    def draw(self, u: float) -> Drawn:
        """Draw the token at `u` on the cumulative residual, most likely first, ties by lower id."""
        ids = np.flatnonzero(self.residual)
        probs = self.residual[ids]
        order = np.argsort(-probs, kind="stable")
        cumulative = np.cumsum(probs[order])
        place = int(np.searchsorted(cumulative, u * cumulative[-1], side="right"))
        place = int(order[min(place, order.size - 1)])
        return Drawn(int(ids[place]), float(probs[place]))


def point_mass(token_id: int, vocab_size: int) -> np.ndarray:
    """Return the distribution of a draft that proposes one token with certainty: (vocab,)."""
    probs = np.zeros(vocab_size)
    probs[token_id] = 1.0
    return probs


def overlap(target: Distribution, draft: Distribution | None, token_id: int) -> Overlap:
    """Return the overlap of target and draft at a proposed token.

    Args:
        target, draft: distributions after the same chain; a draft of None proposed with certainty.
        token_id: the proposed token.
    """
    probs = target.probs
    other = point_mass(token_id, probs.size) if draft is None else draft.probs
    return Overlap(probs, other)
