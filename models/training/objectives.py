"""Training objectives: predict the next token, or the tokens under a mask."""

import math
from collections.abc import Mapping
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from models.training.corpus import HELD_OUT, Windows
from models.training.network import Network

HELD_OUT_WINDOWS = 32  # per validation shard, evenly spread over its documents
HELD_OUT_ROWS = 16  # windows measured at once
HELD_OUT_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)  # of a window's tokens masked, for the diffusion bound


class Objective(Protocol):
    """Turns windows of text into a training loss and a figure to monitor."""

    def loss(self, network: Network, windows: Windows, step: int, rows: int, length: int) -> Tensor:
        """Compute the mean loss in nats per token of one step's batch, with gradients."""

    def window_nats(self, network: Network, window: Tensor) -> Tensor:
        """Compute the cross-entropy in nats, (rows, length), of the tokens `window[:, 1:]`."""


class NextToken:
    """The likelihood of every token given those before it."""

    def loss(self, network: Network, windows: Windows, step: int, rows: int, length: int) -> Tensor:
        ids, targets = (_on(network, part) for part in windows.batch(step, rows, length))
        hidden = network.hidden(ids).flatten(0, 1)
        weights = torch.full((len(hidden),), 1 / len(hidden), device=hidden.device)
        return network.loss(hidden, targets.flatten(), weights)

    def window_nats(self, network: Network, window: Tensor) -> Tensor:
        return network.token_losses(window[:, :-1], window[:, 1:])


class MaskedTokens:
    """LLaDA's objective (Nie et al. 2025, arXiv:2502.09992, algorithm 1 and equation 14).

    Of a window of L tokens, l are masked, with l uniform from 1 to L and uniform places. The loss
    is the mean cross-entropy over the masked places. Its expectation bounds the negative
    log-likelihood per token from above.

    Rows come in pairs that mask l and L - l places. That halves only the noise, and makes the
    number of masked places in a batch the same at every step, as compiled code prefers.
    """

    def loss(self, network: Network, windows: Windows, step: int, rows: int, length: int) -> Tensor:
        ids = _on(network, windows.batch(step, rows, length)[0])
        masked = _on(network, masks(np.random.default_rng((windows.seed, step, 1)), rows, length))
        hidden = network.hidden(ids.masked_fill(masked, network.shape.vocab_size - 1))
        # Each row has weight one, whatever the number of its masked places.
        used = masked.any(1).sum()
        weights = (1 / (masked.sum(1, keepdim=True) * used)).expand(rows, length)
        return network.loss(hidden[masked], ids[masked], weights[masked])

    def window_nats(self, network: Network, window: Tensor) -> Tensor:
        """Estimate the bound: a few shares of masked places, the same at every call."""
        ids = window[:, 1:]
        rows, length = ids.shape
        draws = np.random.default_rng(0)
        total = torch.zeros(rows, length, device=ids.device)
        for share in HELD_OUT_SHARES:
            count = round(share * length)
            masked = _on(network, _choose(draws, np.full(rows, count), length))
            noisy = ids.masked_fill(masked, network.shape.vocab_size - 1)
            total += network.token_losses(noisy, ids) * masked * (length / count)
        return total / len(HELD_OUT_SHARES)


def masks(draws: np.random.Generator, rows: int, length: int) -> np.ndarray:
    """Draw the places to mask, (rows, length) bool: rows 2i and 2i + 1 together mask `length`."""
    if rows % 2:
        raise ValueError(f"rows must be even to be paired, got {rows}")
    counts = draws.integers(1, length + 1, rows // 2)
    return _choose(draws, np.stack([counts, length - counts], axis=1).ravel(), length)


def _choose(draws: np.random.Generator, counts: np.ndarray, length: int) -> np.ndarray:
    """Choose `counts[i]` places uniformly in row i."""
    order = draws.random((len(counts), length)).argsort(axis=1).argsort(axis=1)
    return order < counts[:, None]


def _on(network: Network, array: np.ndarray) -> Tensor:
    return torch.from_numpy(array).to(network.cos.device)


def held_out_windows(
    tokens: Mapping[str, np.ndarray], length: int, count: int = HELD_OUT_WINDOWS
) -> dict[str, np.ndarray]:
    """Take the first `length` + 1 tokens of evenly spread documents: (count, length + 1)."""
    windows = {}
    for shard, row in tokens.items():
        if shard.startswith(HELD_OUT):
            starts = np.flatnonzero(row == 0)
            starts = starts[np.linspace(0, len(starts) - 1, count).astype(int)]
            windows[shard.removeprefix(HELD_OUT)] = np.stack(
                [row.take(np.arange(start, start + length + 1), mode="wrap") for start in starts]
            ).astype(np.int64)
    return windows


def bits_per_byte(
    objective: Objective,
    network: Network,
    windows: Mapping[str, np.ndarray],
    token_bytes: np.ndarray,
) -> dict[str, float]:
    """Compute bits per byte of text for each shard, without end-of-text tokens."""
    bits = {}
    for shard, window in windows.items():
        nats = [
            objective.window_nats(network, part)
            for part in _on(network, window).split(HELD_OUT_ROWS)
        ]
        sizes = token_bytes[window[:, 1:]]
        total = torch.cat(nats).double().cpu().numpy()[sizes > 0].sum()
        bits[shard] = float(total / math.log(2) / sizes.sum())
    return bits
