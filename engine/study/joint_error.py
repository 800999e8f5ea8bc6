"""Error of a step that draws two tokens at once, each independently of the other.

A step of masked diffusion draws the tokens of two masks i and j from p(x_i) p(x_j). Committing x_i
first would draw x_j from p(x_j | x_i). The total variation between product and joint is

    sum over x_i of p(x_i) TV(p(x_j), p(x_j | x_i))

since both have the same p(x_i). Each x_i costs a forward pass, so only the likeliest are tried, and
the probability of the others bounds their contribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.checks import at_least_one, is_whole
from engine.decoding.shaping import shaped
from engine.errors import SettingError, msg
from engine.model.diffusion_model import DiffusionModel, checked_canvas
from engine.runner.turns import read_canvas
from engine.sampling import SamplingSettings

_RAW = SamplingSettings()  # the model's own probabilities, temperature 1


@dataclass(frozen=True)
class Outcome:
    """One token x_i, and the effect of committing it on x_j.

    Attributes:
        token_id: x_i.
        probability: p(x_i), 0 to 1.
        total_variation: TV(p(x_j), p(x_j | x_i)) over the whole vocabulary, 0 to 1.
        kl_bits: KL(p(x_j | x_i) || p(x_j)) in bits.
        likeliest: the most likely x_j given x_i.
        likeliest_probability: p(x_j | x_i) of that token.
        likeliest_alone: p(x_j) of that token, with x_i unknown.
    """

    token_id: int
    probability: float
    total_variation: float
    kl_bits: float
    likeliest: int
    likeliest_probability: float
    likeliest_alone: float


@dataclass(frozen=True)
class JointError:
    """Comparison of the product and the joint distribution of two positions.

    Attributes:
        first, second: positions i and j; i is committed first.
        outcomes: the likeliest x_i, best first.
        covered: their total probability.
        lowest: their share of the total variation, so a lower bound; 0 to 1.
        highest: `lowest` plus all probability that is not covered: an upper bound.
        kl_bits: their share of KL(joint || product) in bits, a lower bound. The whole is the
            mutual information of the two positions.
        likeliest_alone: the most likely x_j with x_i unknown, and its probability.
    """

    first: int
    second: int
    outcomes: tuple[Outcome, ...]
    covered: float
    lowest: float
    highest: float
    kl_bits: float
    likeliest_alone: tuple[int, float]


def joint_error_of(
    model: DiffusionModel,
    canvas: Sequence[int],
    first: int,
    second: int,
    *,
    most: int = 16,
    progress: Callable[[int, int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> JointError:
    """Compare the product and the joint distribution at temperature 1, over all values of x_j.

    Args:
        model: the model.
        canvas: token ids with masks at both positions.
        first, second: the positions i and j.
        most: maximum number of values of x_i to try, with one pass each.
        progress: called with the number done and the total.
        should_stop: asked before every pass; True ends the trial, and the rest are only bounded.

    Raises:
        SettingError: positions that are equal or not masked, or `most` below 1.
        PromptError: a canvas that the model cannot read.
        OutOfMemoryError, CancelledError: as in a step.
    """
    ids = checked_canvas(model, canvas)
    most = at_least_one("most", most)
    for name, place in (("first", first), ("second", second)):
        if not is_whole(place) or not 0 <= place < len(ids) or ids[place] != model.mask_id:
            raise SettingError(name, place, "is not a mask of the canvas", "use a masked position")
    if first == second:
        remedy = msg("use two masked positions")
        raise SettingError("second", second, "is the same as the first position", remedy)
    logits = read_canvas(model, ids)
    choices, alone = (shaped(logits[place], _RAW).probs for place in (first, second))
    ranked = np.argsort(-choices, kind="stable")[:most]
    ranked = ranked[choices[ranked] > 0].tolist()
    outcomes: list[Outcome] = []
    for token_id in ranked:
        if should_stop is not None and should_stop():
            break
        after = list(ids)
        after[first] = token_id
        given = shaped(read_canvas(model, after)[second], _RAW).probs
        outcomes.append(_outcome(token_id, float(choices[token_id]), alone, given))
        if progress is not None:
            progress(len(outcomes), len(ranked))
    covered = math.fsum(outcome.probability for outcome in outcomes)
    lowest = math.fsum(outcome.probability * outcome.total_variation for outcome in outcomes)
    best = int(alone.argmax())
    return JointError(
        first,
        second,
        tuple(outcomes),
        min(1.0, covered),
        lowest,
        min(1.0, lowest + max(0.0, 1.0 - covered)),
        math.fsum(outcome.probability * outcome.kl_bits for outcome in outcomes),
        (best, float(alone[best])),
    )


def _outcome(token_id: int, probability: float, alone: np.ndarray, given: np.ndarray) -> Outcome:
    there = given > 0
    with np.errstate(divide="ignore"):  # a token that was impossible before is infinitely far
        kl = float((given[there] * np.log2(given[there] / alone[there])).sum())
    best = int(given.argmax())
    return Outcome(
        token_id,
        probability,
        min(1.0, float(np.abs(given - alone).sum()) / 2),
        max(0.0, kl),
        best,
        float(given[best]),
        float(alone[best]),
    )
