"""A masked diffusion model with scripted probabilities, so that whole runs can be worked out.

It knows four words, 0 to 3; 4 is the padding token and 5 the mask.
"""

from __future__ import annotations

import numpy as np
import torch

from engine.model.diffusion_model import DiffusionModel
from engine.model.vocabulary import Vocabulary

PAD, MASK = 4, 5
CONTEXT = 64


class Scripted(DiffusionModel):
    """A model whose probabilities for a canvas come from `script`, one row of four per position."""

    def __init__(self, script, context_length=CONTEXT):
        self.name, self.tokenizer, self.device = "scripted", None, torch.device("cpu")
        self.vocab_size, self.mask_id, self.pad_id = 6, MASK, PAD
        self.context_length = context_length
        self.vocabulary = Vocabulary(None, 6)
        self.script = script
        self.passes = 0

    def _forward(self, ids):
        self.passes += 1
        scores = np.full((len(ids), 6), 9.0, np.float32)  # mask and padding would win by far
        with np.errstate(divide="ignore"):
            scores[:, :4] = np.log(np.array(self.script(ids)))
        return scores


def always(*rows):
    """A model that gives the same probabilities whatever the canvas holds."""
    return Scripted(lambda ids: rows)
