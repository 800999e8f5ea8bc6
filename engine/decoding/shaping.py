"""Shape a row of logits, with more room if memory is full; collect the figures of a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from engine.errors import OutOfMemoryError
from engine.runner.budget import budget_of, with_room
from engine.sampling import Distribution, SamplingSettings, shape
from engine.sampling.samplers import NO_CONTEXT, Context, Stage
from engine.trace import Leading, StageState, StageSummary
from engine.trace.steps import MOST_LEADING

_HOST = torch.device("cpu")


def shaped(
    logits: np.ndarray, settings: SamplingSettings, context: Context = NO_CONTEXT
) -> Distribution:
    """Call `engine.sampling.shape`; if memory runs out, make room and try once more.

    Raises:
        OutOfMemoryError: even after idle memory was freed.
        DecodingError: as in `shape`.
    """
    try:
        return with_room(budget_of(_HOST), lambda: shape(logits, settings, context))
    except MemoryError:
        pass
    # Raised out here: the caught error would keep the failed attempt's memory.
    raise OutOfMemoryError(
        "The computer ran out of memory for the {size:,} scores of a step; close other "
        "texts or programs.",
        logits.size,
    )


def figures_of(
    distribution: Distribution, chain: Sequence[Stage], context: Context, listed: int | None
) -> dict[str, Any]:
    """Return the step fields that are computed from its distribution.

    Args:
        listed: how many tokens the model lists; None for all.
    """
    return {
        "leading": _leading(distribution, listed),
        "entropy_bits": distribution.entropy_bits,
        "model_entropy_bits": distribution.raw.entropy_bits,
        "final_entropy_bits": distribution.final_entropy_bits,
        "survivors": distribution.survivors,
        "stages": tuple(
            StageSummary(stage.name, stage.survivors, stage.mass_removed)
            for stage in distribution.stages
        ),
        "stage_states": stage_states(chain, context),
    }


def _leading(distribution: Distribution, listed: int | None) -> Leading:
    """Return the tokens with the highest raw scores, and their probabilities after the chain."""
    raw = distribution.raw
    count = min(MOST_LEADING, raw.count, listed or MOST_LEADING)
    raw.sort_to_depth(count)
    ids = raw.ids[:count]
    kept = ids, raw.values[:count], distribution.probabilities(ids)
    return Leading(*(column.tolist() for column in kept))


def stage_states(chain: Sequence[Stage], context: Context) -> tuple[StageState, ...]:
    """Return the numbers that a step records of its stages' memory and random streams."""
    return tuple(
        StageState(stage.name, name, value)
        for stage in chain
        for name, value in stage.recorded(context).items()
    )
