"""What the browser needs to know of a step besides its row, so as to shape that row by itself."""

from __future__ import annotations

from typing import Any

from engine.decoder import Decoder
from engine.sampling import SamplingSettings, Xtc
from ui.texts.settings import edited_ids, plain_settings

WITH_XTC = SamplingSettings(chain=[Xtc()])


def shown_step(decoder: Decoder, index: int) -> dict[str, Any]:
    """What a step was taken with, or the next one will be; `index` counts from 0."""
    shown = {
        "index": index,
        "is_pending": index == len(decoder.steps),
        "xtc_u": decoder.context(index, WITH_XTC).xtc_uniform,
        "mirostat": _mirostat_before(decoder, index),
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


def _mirostat_before(decoder: Decoder, index: int) -> dict[str, float] | None:
    """What the step before left to Mirostat: its bound, and the tau that it was steered towards.

    Under settings with another tau it begins anew, so the page needs both.
    """
    stage = decoder.settings_at(index - 1).stage("mirostat") if index else None
    if stage is None:
        return None
    mu = decoder.context(index, SamplingSettings(chain=[stage])).mirostat_mu
    return {"tau": stage.tau, "mu": mu}
