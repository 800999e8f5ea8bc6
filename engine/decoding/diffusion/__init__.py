"""Masked diffusion: all positions are predicted at once, and a few are kept in each step.

decoder.py    the loop: predict every mask, keep the best
settings.py   settings, and how many tokens each step keeps
"""

from engine.decoding.diffusion.decoder import DiffusionDecoder
from engine.decoding.diffusion.settings import (
    DiffusionSettings,
    block_lengths,
    schedule,
    step_counts,
)
from engine.model.load import load_diffusion_model

__all__ = [
    "DiffusionDecoder",
    "DiffusionSettings",
    "block_lengths",
    "load_diffusion_model",
    "schedule",
    "step_counts",
]
