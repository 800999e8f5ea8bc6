"""A back end that reports as little as a server: the likeliest tokens and the mass of the rest.

It runs a real model behind the seam and passes nothing else on.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import torch

from engine.backend import Reading
from engine.model import Forward, LanguageModel, Scores
from engine.runner.runner import open_sequence


class TopN:
    """A model that lists its `listed` likeliest tokens with their log-probabilities."""

    revision = cache_formula = None

    def __init__(self, model: LanguageModel, listed: int) -> None:
        self._model = model
        self.listed = listed
        self.name = f"Top {listed:,} of {model.name}"
        self.source = f"top-{listed}:{model.source}"
        self.notices = ()
        self.device = torch.device("cpu")
        self.vocabulary = model.vocabulary
        self.vocab_size = model.vocab_size
        self.input_size = model.input_size
        self.context_length = model.context_length
        self.eos_ids = model.eos_ids
        self.generate_eos_ids = model.generate_eos_ids
        self.places = model.places
        self.tokenizer = model.tokenizer
        self.tokenizer_hash = model.tokenizer_hash
        self.facts: dict[str, Any] = {
            **{name: model.facts[name] for name in ("vocab_size", "input_size", "context_length")},
            "name": self.name,
            "source": self.source,
            "revision": None,
            "tokenizer_hash": model.tokenizer_hash,
        }

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({"full_row" if self.listed is None else "row_on_demand"})

    def with_whole_rows(self) -> TopN:
        other = copy(self)
        other.listed = None
        return other

    def open(self) -> TopSequence:
        return TopSequence(self, open_sequence(self._model))


class TopSequence:
    """A sequence that reports its likeliest next tokens, and nothing about its cache."""

    usage = formula = None
    can_select, has_cache = False, True
    rows = 1

    def __init__(self, model: TopN, inner: Any) -> None:
        self._model = model
        self._inner = inner

    @property
    def positions(self) -> int:
        return self._inner.positions

    def extend(self, token_ids: Sequence[int] | np.ndarray, *, parity: bool = False) -> Reading:
        read = self._inner.extend(token_ids)
        scores = top(read.forward.logits, self._model.listed or self._model.vocab_size)
        forward = Forward(scores.row(), None, read.forward.ms, scores)
        return Reading(forward, read.ms, read.forward_ms, read.passes, read.is_prefill)

    def whole_row(self, token_ids: np.ndarray) -> Scores:
        read = self._model.open()._inner.extend(token_ids)
        return top(read.forward.logits, self._model.vocab_size)

    def truncate(self, positions: int) -> None:
        self._inner.truncate(positions)

    def fork(self) -> TopSequence:
        return TopSequence(self._model, self._inner.fork())

    def select(self, rows: Sequence[int]) -> None:
        assert list(rows) == [0]

    def distrust(self) -> None:
        self._inner.distrust()

    def release(self) -> bool:
        return self._inner.release()


def top(logits: np.ndarray, count: int) -> Scores:
    """Return the `count` best of a whole row, lower ids first on ties, and the mass of the rest."""
    logprobs = logits.astype(np.float64) - logits.max()
    logprobs -= np.log(np.exp(logprobs).sum())
    ids = np.argsort(-logprobs, kind="stable")[:count]
    listed = logprobs[ids].astype(np.float32)
    rest = max(0.0, 1.0 - float(np.exp(logprobs[ids]).sum()))
    return Scores(ids, listed, logits.size, rest)
