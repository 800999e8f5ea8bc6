"""The text that app, twin and floor step through: one model, one prompt, one set of settings."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np

from engine.decoder import Decoder
from engine.model import LanguageModel, load_model
from engine.sampling import SamplingSettings

PROMPT = "Once upon a time"
SETTINGS: dict[str, Any] = {
    "min_new_tokens": 4000,  # first, and so large that no text ends during a measurement
    "temperature": 0.8,
    "top_k": 50,
    "top_p": 0.95,
    "seed": 0,
}


@cache
def _model() -> LanguageModel:
    return load_model(os.environ.get("DECODING_MODEL") or "bundled")


def begun_text(tokens: int) -> Decoder:
    """Return a decoder of the model that DECODING_MODEL names, with `tokens` tokens generated."""
    return _begun_text(tokens).fork()


@cache
def _begun_text(tokens: int) -> Decoder:
    decoder = Decoder(_model(), PROMPT, SamplingSettings(**SETTINGS))
    for _ in range(tokens):
        decoder.step()
    return decoder


def leading(logits: np.ndarray, count: int) -> np.ndarray:
    """Return the ids of the tokens with the highest logits, best first."""
    best = np.argpartition(logits, -count)[-count:]
    return best[np.argsort(-logits[best])]
