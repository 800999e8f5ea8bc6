"""Settings of masked diffusion, and the number of tokens that each step keeps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

from engine.checks import is_whole
from engine.errors import SettingError, msg
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Temperature
from engine.trace import REMASKING


@dataclass(frozen=True)
class DiffusionSettings:
    """Settings of masked diffusion: how a canvas is filled.

    Attributes:
        steps: forward passes for the whole canvas, at most one per mask; None for one per mask.
        temperature: temperature of the draw at each position; 0 takes the most likely token.
        remasking: LLaDA draws a token for every mask and then masks most of them again; this
            chooses which are kept. ``low_confidence`` re-masks those with the lowest
            probability, ``random`` any of them, ``entropy`` those where the model is least certain
            (Dream 7B, Ye et al. 2025), ``left_to_right`` those furthest right. A kept token is
            committed: it stays unless `eta` says otherwise.
        seed: seed of the random stream; None lets the decoder choose one, which it records.
        block_length: masks per block; blocks are filled from left to right, each over its share of
            the steps. None for a single block.
        eta: re-masking of committed tokens, P2's eta. At 0 they stay. Above 0, every step scores
            each committed token of its block by eta times the log-probability that the model now
            gives it, and each prediction by its log-probability. As many of the best stay as the
            schedule says, and the others are masked. At 1, both compete on equal terms. It needs
            `remasking` to be ``low_confidence``. Given tokens are never masked.

    Raises:
        SettingError: a value outside its range. Whether steps and blocks fit a canvas is checked
            by `schedule`.
    """

    steps: int | None = None
    temperature: float = 0.0
    remasking: str = "low_confidence"
    seed: int | None = 0
    block_length: int | None = None
    eta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", Temperature(self.temperature).temperature)
        object.__setattr__(self, "seed", SamplingSettings(seed=self.seed).seed)
        for name in ("steps", "block_length"):
            value = getattr(self, name)
            if value is None:
                continue
            if not is_whole(value) or value < 1:
                remedy = msg("use a whole number of at least 1, or None for the default")
                raise SettingError(name, value, "must be at least 1", remedy)
            object.__setattr__(self, name, int(value))
        if self.remasking not in REMASKING:
            remedy = msg("use one of {remasking}", ", ".join(REMASKING))
            raise SettingError("remasking", self.remasking, "is not known", remedy)
        object.__setattr__(self, "eta", _checked_eta(self.eta))
        if self.eta and self.remasking != "low_confidence":
            problem = msg("compares confidences, but the order is {remasking}", self.remasking)
            raise SettingError("eta", self.eta, problem, "use 0, or the order low_confidence")


def _checked_eta(eta: object) -> float:
    is_number = isinstance(eta, Real) and not isinstance(eta, bool)
    if not is_number or not 0 <= eta < math.inf:
        remedy = msg("use 0 to keep committed tokens, 1 to let them compete")
        raise SettingError("eta", eta, "must be a number, at least 0", remedy)
    return float(eta)


def block_lengths(masks: int) -> list[int]:
    """List every `block_length` that divides the masks into equal blocks, ascending."""
    return [length for length in range(1, masks + 1) if masks % length == 0]


def step_counts(masks: int, block_length: int | None = None) -> range:
    """Return every valid number of steps: the same for each block, at most one per mask."""
    blocks = masks // (block_length or masks)
    return range(blocks, masks + 1, blocks)


def schedule(
    masks: int, steps: int | None = None, block_length: int | None = None
) -> tuple[int, ...]:
    """Return how many tokens each step keeps: LLaDA's even schedule, which sums to `masks`.

    Within a block each step keeps the same number; the remainder goes to its first steps.

    Raises:
        SettingError: blocks that do not divide the masks, steps that do not divide among the
            blocks, or more steps than masks.
    """
    if block_length is not None and (block_length > masks or masks % block_length):
        remedy = msg("use one of {masks}", _some(block_lengths(masks)))
        raise SettingError(
            "block_length", block_length, msg("must divide the {masks:,} masks", masks), remedy
        )
    fitting = step_counts(masks, block_length)
    blocks = fitting.start
    steps = masks if steps is None else steps
    if steps not in fitting:
        if steps > masks:
            problem = msg("must be at most the number of masks, {masks:,}", masks)
            remedy = msg("take fewer steps or make the gaps longer")
        else:
            problem = msg("must be a multiple of the number of blocks, {blocks:,}", blocks)
            remedy = msg("use one of {fitting}", _some(fitting))
        raise SettingError("steps", steps, problem, remedy)
    kept, left_over = divmod(masks // blocks, steps // blocks)
    block = [kept + (place < left_over) for place in range(steps // blocks)]
    return tuple(block * blocks)


def _some(values: Sequence[int]) -> str:
    shown = [f"{value:,}" for value in values]
    return ", ".join(shown if len(shown) <= 8 else [*shown[:6], "...", shown[-1]])
