"""Divergence between rows of logits."""

from __future__ import annotations

import math

import numpy as np


def log_probabilities(logits: np.ndarray) -> np.ndarray:
    """Return log-probabilities at temperature 1, in nats, from logits: (rows, vocab) float64."""
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(axis=-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return shifted


def kl_bits(exact: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Compute KL(exact || other) in bits for each row, over the whole vocabulary.

    These are the bits lost per token by coding the exact model's output with the other distribution
    (Kullback and Leibler 1951). 0 if both are equal.

    Args:
        exact: (vocab,) log-probabilities, in nats.
        others: (rows, vocab) log-probabilities, in nats.

    Returns:
        (rows,) float64, at least 0.
    """
    probabilities = np.exp(exact)
    held = probabilities > 0  # a probability that underflows to 0 adds nothing, even with -inf
    parts = probabilities[held] * (exact[held] - others[:, held])
    return np.maximum(parts.sum(axis=-1), 0.0) / math.log(2)


def total_variation(one: np.ndarray, other: np.ndarray) -> float:
    """Return half the sum of the absolute differences of all probabilities, from 0 to 1.

    Args:
        one, other: (vocab,) log-probabilities, in nats.
    """
    return float(np.abs(np.exp(one) - np.exp(other)).sum()) / 2
