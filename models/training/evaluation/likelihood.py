"""Bits per byte of held-out text: exact for a causal model, a bound for a diffusion model.

Bits per byte do not depend on the tokenizer, so models with different vocabularies are comparable.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.training.evaluation.loading import Scorer, documents, evenly, log_softmax

DOCUMENTS = 40  # of each validation shard, evenly spread
EARLY = 256  # every training window has positions up to here, only long ones have later ones
MASK_DRAWS = 4  # per document, for the diffusion bound


@dataclass(frozen=True)
class HeldOutBits:
    """Bits per byte of one validation shard.

    Attributes:
        early: tokens 1 to `EARLY` of each document.
        late: later tokens, up to the end of the context; None if no document is that long.
        all: both together.
    """

    early: float
    late: float | None
    all: float


def held_out_bits(
    score: Scorer,
    shards: Mapping[str, np.ndarray],
    token_bytes: np.ndarray,
    context: int,
    *,
    documents_each: int = DOCUMENTS,
    early: int = EARLY,
) -> dict[str, HeldOutBits]:
    """Read each document from its end-of-text token up to the end of the context.

    Args:
        score: a causal model.
        shards: name -> (tokens,); the end-of-text token opens each document.
        token_bytes: (vocab,) bytes of each token's text.
        context: maximum number of positions that the model takes.
    """
    table = {}
    for name, row in shards.items():
        nats, sizes = np.zeros(context), np.zeros(context)
        for ids in evenly(documents(row), documents_each):
            ids = ids[: context + 1].astype(np.int64)
            if len(ids) < 2:
                continue
            logprobs = log_softmax(score(ids[:-1]))
            nats[: len(ids) - 1] -= logprobs[np.arange(len(ids) - 1), ids[1:]]
            sizes[: len(ids) - 1] += token_bytes[ids[1:]]
        parts = (slice(early), slice(early, None), slice(None))
        table[name] = HeldOutBits(*(_bits(nats[part], sizes[part]) for part in parts))
    return table


def _bits(nats: np.ndarray, sizes: np.ndarray) -> float | None:
    return float(nats.sum() / math.log(2) / sizes.sum()) if sizes.any() else None


@dataclass(frozen=True)
class BoundBits:
    """An upper bound on a masked diffusion model's bits per byte.

    Attributes:
        bits: mean over documents, weighted by their bytes.
        standard_error: standard error of `bits`, from the spread over documents and masks.
    """

    bits: float
    standard_error: float


def diffusion_bound(
    score: Scorer,
    shards: Mapping[str, np.ndarray],
    token_bytes: np.ndarray,
    context: int,
    mask_id: int,
    *,
    seed: int,
    documents_each: int = DOCUMENTS,
    draws: int = MASK_DRAWS,
) -> dict[str, BoundBits]:
    """Monte Carlo estimate of the bound of LLaDA (Nie et al. 2025, arXiv:2502.09992, equation 14).

    Of the first L tokens of a document, l are masked, with l uniform from 1 to L and uniform
    places. L times the mean cross-entropy of the masked places bounds -log p(text) from above in
    expectation. The draws of l for one document come from equal parts of 1 to L, one each, which
    removes most of the noise without bias.

    Args:
        score: the diffusion model: row i scores the token at place i itself.
        shards, token_bytes, context: as for `held_out_bits`; the end-of-text token is not read.
        mask_id: the token that represents a masked place.
        seed: seed of the masks.
    """
    generator = np.random.default_rng(seed)
    table = {}
    for name, row in shards.items():
        nats, sizes = [], []
        for document in evenly(documents(row), documents_each):
            ids = document[1 : context + 1].astype(np.int64)
            if not len(ids):
                continue
            bounds = [
                _masked_nats(score, ids, mask_id, count, generator)
                for count in stratified_counts(len(ids), draws, generator)
            ]
            nats.append(np.mean(bounds))
            sizes.append(token_bytes[ids].sum())
        table[name] = _bound(np.array(nats), np.array(sizes, dtype=float))
    return table


def stratified_counts(length: int, draws: int, generator: np.random.Generator) -> list[int]:
    """Draw `draws` numbers from 1 to `length`, each uniform when taken in random order.

    One falls into each of `draws` equal parts of the range.
    """
    places = (np.arange(draws) + generator.random(draws)) / draws  # one in each part of 0 to 1
    return [1 + int(place * length) for place in places]


def _masked_nats(
    score: Scorer, ids: Sequence[int], mask_id: int, count: int, generator: np.random.Generator
) -> float:
    masked = generator.permutation(len(ids))[:count]
    noisy = np.array(ids)
    noisy[masked] = mask_id
    logprobs = log_softmax(score(noisy)[masked])
    return -float(logprobs[np.arange(count), np.asarray(ids)[masked]].mean()) * len(ids)


def _bound(nats: np.ndarray, sizes: np.ndarray) -> BoundBits:
    bits = nats.sum() / sizes.sum()
    # Ratio of two means: its error to first order (Cochran 1977, section 2.11).
    spread = np.sqrt(((nats - bits * sizes) ** 2).sum() / max(len(nats) - 1, 1) / len(nats))
    return BoundBits(float(bits / math.log(2)), float(spread / sizes.mean() / math.log(2)))
