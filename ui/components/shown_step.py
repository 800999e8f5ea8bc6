"""Facts about a step that the browser needs to run the samplers on its row."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.decoder import Decoder
from engine.sampling import STAGES, Context, RankedRow
from ui.texts.settings import plain_settings


def shown_step(decoder: Decoder, index: int, raw: RankedRow) -> dict[str, Any]:
    """Return what the samplers need to know of a step, taken or pending; `index` counts from 0.

    `standing` is the rank and logit of the step's token in `raw`, the row that is shown: 0 and None
    at -inf. It is None if there is no token yet, and for a token that the model does not list.
    """
    shown = {
        "index": index,
        "is_pending": index == len(decoder.steps),
        **_own_numbers(decoder.context(index)),
    }
    if shown["is_pending"]:
        return shown | {
            "chosen": None,
            "standing": None,
            "forced": False,
            "u": decoder.uniform(index),
            "recorded_settings": None,
            "recorded_scale": None,
        }
    step = decoder.steps[index]
    return shown | {
        "chosen": step.token_id,
        "standing": _standing(decoder, index, raw),
        "forced": step.forced,
        "u": step.u,
        "recorded_settings": plain_settings(decoder.settings_at(index)),
        "recorded_scale": step.guidance_scale,
    }


def _standing(decoder: Decoder, index: int, raw: RankedRow) -> tuple[int, float | None] | None:
    token_id = decoder.steps[index].token_id
    if raw.scores[token_id] == -np.inf:
        return 0, None
    rank, listed = raw.rank(token_id), decoder.listed(index)
    is_named = listed is None or rank <= listed.ids.size
    return (rank, float(raw.scores[token_id])) if is_named else None


def _own_numbers(context: Context) -> dict[str, float]:
    """Return ``<setting>_u``, the step's random number, for each sampler with its own stream."""
    return {
        f"{name}_u": context.uniform(kind.stream)
        for name, kind in STAGES.items()
        if kind.stream is not None
    }
