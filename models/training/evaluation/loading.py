"""The models under evaluation, loaded as in the app, and their scoring of a text.

Every measurement of likelihood takes a `Scorer`, so that it is independent of the model it reads.
The weights are those of the folder, bfloat16. Scores are computed in float32 on the CPU, so that
ranks do not depend on rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from engine.model import LanguageModel, load_model
from models.training.tokenizer import END_OF_TEXT_ID

# Token ids of a text -> (length, vocab) float32 logits; row i scores the token after token i.
Scorer = Callable[[Sequence[int]], np.ndarray]
# Text -> token ids, without special tokens around the text.
Encoder = Callable[[str], Sequence[int]]


def load_for_scoring(folder: Path) -> LanguageModel:
    """Load a causal model in float32 on the CPU."""
    return load_model(folder, device="cpu", dtype="float32")


def load_for_generation(folder: Path) -> LanguageModel:
    """Load a causal model as the app does on a CPU: the engine chooses the dtype."""
    return load_model(folder, device="cpu")


def scorer(model: LanguageModel) -> Scorer:
    """Return a function that scores all positions of a text in one pass."""

    @torch.inference_mode()
    def score(ids: Sequence[int]) -> np.ndarray:
        row = torch.as_tensor(np.asarray(ids, dtype=np.int64))[None]
        return model.hf(input_ids=row, use_cache=False).logits[0].float().numpy()

    return score


@dataclass(frozen=True)
class Target:
    """The target in all forms of use.

    Attributes:
        score: float32 scorer, for every figure of likelihood.
        model: the model as the app runs it, for every generated text.
    """

    score: Scorer
    model: LanguageModel

    @classmethod
    def from_folder(cls, folder: Path) -> Target:
        """Load the folder twice."""
        return cls(scorer(load_for_scoring(folder)), load_for_generation(folder))

    def encode(self, text: str) -> list[int]:
        """Encode a text, without any token before it."""
        return self.model.vocabulary.encode(text)

    def label(self, token_id: int) -> str:
        """Return a token as readable text."""
        return self.model.vocabulary.label(token_id)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Compute natural logarithms of the probabilities along the last axis, in the input's dtype.

    A logit of -inf stays -inf: such a token cannot be drawn.
    """
    return torch.from_numpy(np.asarray(logits)).log_softmax(-1).numpy()


def documents(row: np.ndarray) -> list[np.ndarray]:
    """Split a token file into documents, each with its leading end-of-text token."""
    starts = np.flatnonzero(row == END_OF_TEXT_ID)
    return [row[start:end] for start, end in zip(starts, [*starts[1:], len(row)], strict=True)]


def evenly(items: Sequence, count: int) -> list:
    """Pick at most `count` items, evenly spread, including the first and the last."""
    chosen = np.unique(np.linspace(0, len(items) - 1, min(count, len(items))).astype(int))
    return [items[index] for index in chosen]


def with_prefix(tokens: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """Select the shards whose names begin with `prefix`, and remove it from their names."""
    return {
        name.removeprefix(prefix): row for name, row in tokens.items() if name.startswith(prefix)
    }
