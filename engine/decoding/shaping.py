"""A row of logits shaped in the host's memory, which may be full."""

from __future__ import annotations

import numpy as np
import torch

from engine.errors import OutOfMemoryError
from engine.runner.budget import budget_of, with_room
from engine.sampling import Distribution, SamplingSettings, shape
from engine.sampling.stages import NO_CONTEXT, Context

_HOST = torch.device("cpu")


def shaped(
    logits: np.ndarray, settings: SamplingSettings, context: Context = NO_CONTEXT
) -> Distribution:
    """What `engine.sampling.shape` gives; where memory runs out, tried once more with more room.

    Raises:
        OutOfMemoryError: also after idle memory was given back.
        DecodingError: what `shape` raises.
    """
    try:
        return with_room(budget_of(_HOST), lambda: shape(logits, settings, context))
    except MemoryError:
        pass
    # Out here: the error would hold what the failed try had allocated.
    raise OutOfMemoryError(
        "The computer ran out of memory for the {size:,} scores of a step; close other "
        "texts or programs.",
        logits.size,
    )
