"""Quality of a masked diffusion model with few and many steps: filled gaps, written passages.

Each step keeps several tokens that were drawn independently, so fewer steps are faster but fit
together less well (Nie et al. 2025, arXiv:2502.09992).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.decoding.diffusion import DiffusionDecoder, DiffusionSettings
from engine.model import DiffusionModel
from models.training.evaluation.loading import Scorer, documents, evenly, log_softmax
from models.training.evaluation.repetition import repeated_share

STEPS = (1, 2, 4, 8, 16, 32)
GAPS, GAP, WINDOW = 64, 8, 64  # gaps, tokens per gap, tokens of gap and surrounding text
PASSAGES, PROMPT, PASSAGE = 32, 16, 32  # passages, tokens of the prompt and of its continuation
PASSAGE_TEMPERATURE = 0.7


@dataclass(frozen=True)
class Gap:
    """A text with a hole.

    Attributes:
        ids: token ids of the text.
        start, end: first token of the gap, and first token after it.
    """

    ids: tuple[int, ...]
    start: int
    end: int

    @property
    def hidden(self) -> tuple[int, ...]:
        """The original tokens of the gap."""
        return self.ids[self.start : self.end]

    def canvas(self, mask_id: int) -> tuple[int, ...]:
        """Return the text with its gap masked."""
        masks = (mask_id,) * (self.end - self.start)
        return self.ids[: self.start] + masks + self.ids[self.end :]


def held_out_gaps(
    row: np.ndarray, count: int = GAPS, window: int = WINDOW, gap: int = GAP
) -> list[Gap]:
    """Cut gaps from the middle of the first `window` tokens of evenly spread documents."""
    texts = _beginnings(row, window, count)
    start = (window - gap) // 2
    return [Gap(ids, start, start + gap) for ids in texts]


def held_out_passages(
    row: np.ndarray, count: int = PASSAGES, prompt: int = PROMPT, passage: int = PASSAGE
) -> list[Gap]:
    """Take the beginnings of documents, with everything after a short prompt as the gap."""
    texts = _beginnings(row, prompt + passage, count)
    return [Gap(ids, prompt, prompt + passage) for ids in texts]


def _beginnings(row: np.ndarray, length: int, count: int) -> list[tuple[int, ...]]:
    long = [document[1 : length + 1] for document in documents(row) if len(document) > length]
    return [tuple(ids.tolist()) for ids in evenly(long, count)]


def fill(
    model: DiffusionModel, gap: Gap, *, steps: int, temperature: float, seed: int
) -> tuple[int, ...]:
    """Fill the gap with the model's tokens, keeping the most confident ones of each step."""
    settings = DiffusionSettings(steps=steps, temperature=temperature, seed=seed)
    decoder = DiffusionDecoder(model, gap.canvas(model.mask_id), settings)
    for _ in decoder.run():
        pass
    return decoder.ids[gap.start : gap.end]


def recovered(gaps: Sequence[Gap], fillings: Sequence[Sequence[int]]) -> float:
    """Return the share of hidden tokens that appear at their original places, 0 to 1."""
    same = [
        token_id == hidden
        for gap, filling in zip(gaps, fillings, strict=True)
        for token_id, hidden in zip(filling, gap.hidden, strict=True)
    ]
    return sum(same) / len(same)


def bits_per_token(judge: Scorer, gaps: Sequence[Gap], fillings: Sequence[Sequence[int]]) -> float:
    """Return the cross-entropy of the fillings under a causal model, in bits per token.

    A low value means fluent or dull text: a text that repeats itself is easy to predict.
    """
    nats, count = 0.0, 0
    for gap, filling in zip(gaps, fillings, strict=True):
        ids = [*gap.ids[: gap.start], *filling]
        rows = log_softmax(judge(ids[:-1])[gap.start - 1 :])
        nats -= float(rows[np.arange(len(filling)), list(filling)].sum(dtype=np.float64))
        count += len(filling)
    return nats / count / math.log(2)


def repeated_pairs(fillings: Sequence[Sequence[int]]) -> float:
    """Return the mean share of repeated pairs of tokens: 1 - distinct-2."""
    return sum(repeated_share(filling, 2) for filling in fillings) / len(fillings)


@dataclass(frozen=True)
class Quality:
    """Results of one way of writing; None if a figure does not apply.

    Attributes:
        recovered: share of the gaps' tokens that equal the hidden ones.
        bits_per_token: bits per token of the passages, under the judge.
        repeated_pairs: share of repeated pairs of tokens in the passages.
    """

    recovered: float | None
    bits_per_token: float | None
    repeated_pairs: float | None


def quality_by_steps(
    model: DiffusionModel,
    judge: Scorer,
    gaps: Sequence[Gap],
    passages: Sequence[Gap],
    *,
    steps: Sequence[int] | None = None,
    temperature: float = PASSAGE_TEMPERATURE,
) -> dict[int, Quality]:
    """Fill all gaps at temperature 0 and write all passages at `temperature`, per step count.

    A gap takes at most one step for each of its tokens, so larger step counts leave gaps out.
    Passage i is drawn with seed i.

    Args:
        judge: a causal model that scores the passages.
    """
    table = {}
    for count in STEPS if steps is None else steps:
        short = [gap for gap in gaps if count <= gap.end - gap.start]
        fillings = [fill(model, gap, steps=count, temperature=0.0, seed=0) for gap in short]
        texts = [
            fill(model, gap, steps=count, temperature=temperature, seed=seed)
            for seed, gap in enumerate(passages)
        ]
        table[count] = Quality(
            recovered(short, fillings) if short else None,
            bits_per_token(judge, passages, texts),
            repeated_pairs(texts),
        )
    return table
