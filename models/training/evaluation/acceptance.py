"""Acceptance of the draft model's proposals (Leviathan et al. 2023, arXiv:2211.17192).

Speculative decoding accepts a proposed token x with probability min(1, target(x) / draft(x)). All
figures come from both models' probabilities on texts that the target itself continued, so they need
no further draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.training.evaluation.loading import log_softmax

PROPOSALS = 4


def acceptance_probability(
    draft_logits: np.ndarray, target_logits: np.ndarray, temperature: float
) -> np.ndarray:
    """Return the probability that a draft proposal is accepted, (positions,) float64.

    This is the sum over the vocabulary of min(draft_probs, target_probs). At temperature 0, it is 1
    if both have the same most probable token, otherwise 0.

    Args:
        draft_logits, target_logits: (positions, vocab) for the same texts.
    """
    if temperature == 0:
        return (draft_logits.argmax(-1) == target_logits.argmax(-1)).astype(np.float64)
    draft_probs = np.exp(log_softmax(draft_logits / temperature))
    target_probs = np.exp(log_softmax(target_logits / temperature))
    return np.minimum(draft_probs, target_probs).sum(-1, dtype=np.float64)


def accepted_share(
    draft_logits: np.ndarray,
    target_logits: np.ndarray,
    ids: Sequence[int],
    temperature: float,
) -> np.ndarray:
    """Return the probability that each token was an accepted proposal, (positions,) float64.

    Token x is output with probability target(x), and through an accepted proposal with
    min(draft(x), target(x)). So the share is min(1, draft(x) / target(x)). Given the text, these
    events are independent. Their mean estimates that of `acceptance_probability`.

    Args:
        ids: (positions,) tokens of the target's text.
    """
    if temperature == 0:
        return acceptance_probability(draft_logits, target_logits, temperature)
    rows = np.arange(len(ids))
    draft = log_softmax(draft_logits / temperature)[rows, np.asarray(ids)]
    target = log_softmax(target_logits / temperature)[rows, np.asarray(ids)]
    return np.exp(np.minimum(draft - target, 0).astype(np.float64))


@dataclass(frozen=True)
class Passes:
    """Outcome of decoding the texts with a few proposals per pass.

    Attributes:
        tokens_per_pass: mean tokens that one pass of the target yields: the accepted proposals,
            plus one token of the target.
        reached: for each proposal of a pass, the share of passes that accept it and all before it.
    """

    tokens_per_pass: float
    reached: tuple[float, ...]


def walk(accepted: Sequence[np.ndarray], proposals: int = PROPOSALS) -> Passes:
    """Go through the texts pass by pass, over all possible patterns of acceptance.

    A pass that starts at a token accepts proposals up to the first rejection, which a token of the
    target replaces. If it accepts all, one more token follows. The next pass starts after that. So
    passes start more often after tokens that the draft finds hard, and acceptances in a row are not
    independent. Both effects are included. Passes too close to the end of a text for all proposals
    are left out.

    Args:
        accepted: `accepted_share` of each text, (tokens,).

    Raises:
        ValueError: no text is long enough for a pass.
    """
    starts = 0.0
    reached = np.zeros(proposals)
    for shares in accepted:
        begun = np.zeros(len(shares) + 1)  # probability that a pass starts at each token
        begun[0] = 1.0
        for place in range(len(shares) - proposals):
            together = np.cumprod(shares[place : place + proposals])
            starts += begun[place]
            reached += begun[place] * together
            stops = np.append(1.0, together) - np.append(together, 0.0)  # after 0, 1, ... accepted
            begun[place + 1 : place + proposals + 2] += begun[place] * stops
    if not starts:
        raise ValueError(f"a text must be longer than {proposals} tokens for a pass")
    reached /= starts
    return Passes(float(1 + reached.sum()), tuple(reached.tolist()))
