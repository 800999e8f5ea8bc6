"""Masked diffusion: all positions are predicted at once, and a few are kept in each step.

decoder.py    the loop: predict every mask, keep the best
settings.py   how a canvas is filled, and how many tokens each step keeps
"""

from engine.decoding.diffusion.decoder import DiffusionDecoder
from engine.decoding.diffusion.settings import (
    DiffusionSettings,
    block_lengths,
    schedule,
    step_counts,
)
from engine.model.diffusion_model import (
    MASK_SIGN,
    DiffusionModel,
    continuation,
    fill_gaps,
    load_diffusion_model,
    marked_gaps,
)
from engine.trace import REMASKING, DiffusionStep
from engine.trace.diffusion import FILLED

__all__ = [
    "FILLED",
    "MASK_SIGN",
    "REMASKING",
    "DiffusionDecoder",
    "DiffusionModel",
    "DiffusionSettings",
    "DiffusionStep",
    "block_lengths",
    "continuation",
    "fill_gaps",
    "load_diffusion_model",
    "marked_gaps",
    "schedule",
    "step_counts",
]
