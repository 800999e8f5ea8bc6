"""What the browser needs to know of a step besides its row, so as to shape that row by itself."""

from __future__ import annotations

from dataclasses import asdict
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
        **_of_stages(decoder.context(index)),
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
    """Tokens whose rank the page needs wherever they lie: the step's own, and those edited.

    Penalties and bans look at the context, so where any edit is on, that is among them.
    """
    needed = [*edited_ids(settings), *decoder.model.eos_ids]
    if index < len(decoder.steps):
        needed.append(decoder.steps[index].token_id)
    if any(stage.kind == "edit" for stage in settings.chain):
        needed += [*decoder.prompt_ids, *decoder.token_ids[:index]]
    return list(dict.fromkeys(needed))


def _of_stages(context: Context) -> dict[str, Any]:
    """What any chain of samplers would know in this step, whichever are on now.

    ``<setting>_u``, the step's number in the sampler's random stream; ``<setting>``, what a sampler
    with a memory left in the step before, None where it was off there.
    """
    known: dict[str, Any] = {}
    for name, kind in STAGES.items():
        if kind.stream is not None:
            known[f"{name}_u"] = context.uniform(kind.stream)
        if kind.has_memory():
            left = context.states.get(name)
            known[name] = None if left is None else asdict(left)
    return known
