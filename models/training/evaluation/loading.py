"""The models under evaluation, loaded as the app loads them, and how they score a text.

Every measurement of likelihood takes a `Scorer`, so that it does not care which model it reads. The
weights are those of the folder, bfloat16; scores are computed in float32 on the CPU, so that ranks
do not hang on rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from engine.model import LanguageModel, load_model
from models.training.tokenizer import END_OF_TEXT_ID

# Token ids of a text -> (length, vocab) float32 logits; row i scores what follows token i.
Scorer = Callable[[Sequence[int]], np.ndarray]
# Text -> token ids, without special tokens around it.
Encoder = Callable[[str], Sequence[int]]


def load_for_scoring(folder: Path) -> LanguageModel:
    """A causal model in float32 on the CPU."""
    return load_model(folder, device="cpu", dtype="float32")


def load_for_generation(folder: Path) -> LanguageModel:
    """A causal model as the app has it on a CPU: the dtype is the engine's choice."""
    return load_model(folder, device="cpu")


def scorer(model: LanguageModel) -> Scorer:
    """One pass over a whole text, all positions scored."""

    @torch.inference_mode()
    def score(ids: Sequence[int]) -> np.ndarray:
        row = torch.as_tensor(np.asarray(ids, dtype=np.int64))[None]
        return model.hf(input_ids=row, use_cache=False).logits[0].float().numpy()

    return score


@dataclass(frozen=True)
class Target:
    """The target with all ways to use it.

    Attributes:
        score: in float32, for every figure of likelihood.
        model: as the app has it, for every generated text.
    """

    score: Scorer
    model: LanguageModel

    @classmethod
    def from_folder(cls, folder: Path) -> Target:
        """Load the folder twice."""
        return cls(scorer(load_for_scoring(folder)), load_for_generation(folder))

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, none put in front."""
        return self.model.vocabulary.encode(text)

    def label(self, token_id: int) -> str:
        """A token as readable text."""
        return self.model.vocabulary.label(token_id)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Natural logarithms of the probabilities along the last axis, in their own type.

    A logit of -inf stays -inf: such a token cannot be drawn.
    """
    return torch.from_numpy(np.asarray(logits)).log_softmax(-1).numpy()


def documents(row: np.ndarray) -> list[np.ndarray]:
    """The documents of a token file, each with its leading end-of-text token."""
    starts = np.flatnonzero(row == END_OF_TEXT_ID)
    return [row[start:end] for start, end in zip(starts, [*starts[1:], len(row)], strict=True)]


def evenly(items: Sequence, count: int) -> list:
    """At most `count` of the items, evenly spread, the first and the last among them."""
    chosen = np.unique(np.linspace(0, len(items) - 1, min(count, len(items))).astype(int))
    return [items[index] for index in chosen]


def with_prefix(tokens: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The shards whose names begin so, under the rest of their names."""
    return {
        name.removeprefix(prefix): row for name, row in tokens.items() if name.startswith(prefix)
    }
