"""Divergence of two rows of logits."""

from __future__ import annotations

import math

import numpy as np


def log_probabilities(logits: np.ndarray) -> np.ndarray:
    """(rows, vocab) float64 natural log-probabilities at temperature 1 of (rows, vocab) logits."""
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(axis=-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return shifted


def kl_bits(exact: np.ndarray, others: np.ndarray) -> np.ndarray:
    """KL(exact || other) in bits for each of some rows, over the whole vocabulary.

    The bits that one would lose per token by coding what the exact model writes with the other's
    distribution (Kullback and Leibler 1951). 0 where both are equal.

    Args:
        exact: (vocab,) log-probabilities, in nats.
        others: (rows, vocab) the same.

    Returns:
        (rows,) float64, at least 0.
    """
    probabilities = np.exp(exact)
    held = probabilities > 0  # what is too unlikely for a float64 adds nothing, also beside -inf
    parts = probabilities[held] * (exact[held] - others[:, held])
    return np.maximum(parts.sum(axis=-1), 0.0) / math.log(2)
