"""What the browser needs to know of a step besides its row, so as to shape that row by itself."""

from __future__ import annotations

from typing import Any

from engine.decoder import Decoder
from engine.sampling import STAGES, SamplingSettings
from engine.sampling.stages import Context
from ui.texts.settings import edited_ids, plain_settings


def shown_step(decoder: Decoder, index: int) -> dict[str, Any]:
    """What a step was taken with, or the next one will be; `index` counts from 0."""
    shown = {
        "index": index,
        "is_pending": index == len(decoder.steps),
        **_own_numbers(decoder.context(index)),
    }
    if shown["is_pending"]:
        return shown | {
            "chosen": None,
            "forced": False,
            "u": decoder.uniform(index),
            "recorded_settings": None,
            "recorded_scale": None,
        }
    step = decoder.steps[index]
    return shown | {
        "chosen": step.token_id,
        "forced": step.forced,
        "u": step.u,
        "recorded_settings": plain_settings(decoder.settings_at(index)),
        "recorded_scale": step.guidance_scale,
    }


def needed_tokens(decoder: Decoder, index: int, settings: SamplingSettings) -> list[int]:
    """Tokens whose rank the page needs wherever they lie: the step's own, and those edited."""
    needed = list(edited_ids(settings))
    if index < len(decoder.steps):
        needed.append(decoder.steps[index].token_id)
    return list(dict.fromkeys(needed))


def _own_numbers(context: Context) -> dict[str, float]:
    """``<setting>_u``: the step's number in the random stream of each sampler that has one."""
    return {
        f"{name}_u": context.uniform(kind.stream)
        for name, kind in STAGES.items()
        if kind.stream is not None
    }
