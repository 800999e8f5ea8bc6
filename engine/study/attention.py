"""Attention weights of a model's heads over the positions of a text, as the model computes them.

The engine's passes use a kernel that does not return these weights. So a second copy of the model,
in float32, makes a separate pass with the eager attention of transformers, which returns them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from engine.decoding.prompt import encode_prompt
from engine.errors import PromptError
from engine.model import LanguageModel
from engine.runner.turns import exclusive

MOST_TOKENS = 48  # of the text: a head has a weight for every pair of tokens


def attention_weights(model: LanguageModel, text: str) -> np.ndarray:
    """Return the attention weights of a text.

    Args:
        model: loaded from a folder of safetensors.
        text: the text to read, at most `MOST_TOKENS` tokens.

    Returns:
        (layers, heads, n, n) float32: how much a row's position attends to a column's; each row
        sums to 1.

    Raises:
        PromptError: the text is empty or too long.
        CancelledError: as in any turn.
    """
    ids = encode_prompt(model, text)
    if len(ids) > MOST_TOKENS:
        raise PromptError(
            "This text has {ids:,} tokens, but the picture shows at most {most_tokens}; "
            "shorten it.",
            (len(ids), MOST_TOKENS),
        )
    telling = _telling(model.hf.name_or_path)
    with exclusive():
        told = telling(torch.tensor([ids]), output_attentions=True, use_cache=False)
    return torch.cat(told.attentions).numpy()


@lru_cache(maxsize=1)
def _telling(folder: str) -> PreTrainedModel:
    """Load a second copy of the model, with eager attention, which returns its weights."""
    return AutoModelForCausalLM.from_pretrained(
        folder,
        attn_implementation="eager",
        dtype=torch.float32,
        trust_remote_code=False,
        local_files_only=True,
    ).eval()
