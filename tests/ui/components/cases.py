"""Random rows, texts and chains of all samplers, to compare the browser with the engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engine.sampling import DEFAULT_ORDER, STAGES, SamplingSettings, shape
from engine.sampling.distribution import Distribution
from engine.sampling.samplers import (
    Banned,
    Context,
    Dry,
    LogitBias,
    MinP,
    MirostatState,
    Stage,
    Temperature,
    TopK,
    TopP,
)
from tests.samplers import random_numbers
from ui.components.outcomes import PREVIEWED


@dataclass
class Case:
    """A row, its settings and context, and the numbers for its draws.

    `text` holds the tokens so far; the first `prompt_length` tokens are the prompt.
    """

    logits: np.ndarray
    settings: SamplingSettings
    text: list[int]
    us: list[float] = field(default_factory=list)
    prompt_length: int = 0
    eos_ids: tuple[int, ...] = ()
    line_break_ids: tuple[int, ...] = ()
    xtc_u: float = 0.0
    mu: float | None = None  # Mirostat's, steered towards its present tau

    @property
    def context(self) -> Context:
        return Context(
            np.array(self.text, np.int64),
            prompt_length=self.prompt_length,
            eos_ids=self.eos_ids,
            line_break_ids=self.line_break_ids,
            states={} if self.mirostat is None else {"mirostat": MirostatState(**self.mirostat)},
            uniform=lambda stream: self.xtc_u,
        )

    @cached_property
    def distribution(self) -> Distribution:
        return shape(self.logits, self.settings, self.context)

    @property
    def mirostat(self) -> dict | None:
        """The state left by the previous step, in the browser's form."""
        stage = self.settings.stage("mirostat")
        return None if self.mu is None or stage is None else {"tau": stage.tau, "mu": self.mu}


def bfloat16(logits: np.ndarray) -> np.ndarray:
    return (logits.view(np.uint32) & 0xFFFF_0000).view(np.float32)


def random_row(rng: np.random.Generator, vocab: int, kind: str) -> np.ndarray:
    if kind == "zipf":
        ranks = rng.permutation(vocab) + 1
        logits = 20 - rng.uniform(0.8, 2) * np.log(ranks) + rng.normal(0, 0.3, vocab)
    elif kind == "extreme":  # one token has it all, or scores are beyond any model's
        logits = rng.normal(0, 10 ** rng.uniform(-4, 4), vocab)
        logits[rng.integers(vocab)] += 10 ** rng.uniform(0, 4)
    else:
        logits = rng.normal(rng.uniform(-8, 8), rng.uniform(0.5, 6), vocab)
    logits = logits.astype(np.float32)
    if kind == "bfloat16":
        return bfloat16(logits)
    if kind == "levels":  # ties everywhere: an edge almost always falls within equal scores
        return np.round(logits * 2) / np.float32(2)
    if kind == "banned":
        logits[rng.random(vocab) < rng.choice([0.01, 0.5, 0.999])] = -np.inf
        logits[rng.integers(vocab)] = 3
    return logits


KINDS = ("normal", "zipf", "bfloat16", "levels", "banned", "extreme")


def random_text(rng: np.random.Generator, logits: np.ndarray) -> list[int]:
    """Return a text with repetitions, likely tokens, unlikely ones and one the model lacks."""
    best = np.argsort(-logits)[:50]
    some = [*rng.integers(0, logits.size, 30), *rng.choice(best, 12), logits.size + 5]
    text = rng.choice(some, 60).tolist()
    for _ in range(rng.integers(3)):  # a phrase repeats, and may continue
        start = int(rng.integers(len(text)))
        text += text[start : start + int(rng.integers(1, 12))]
    return text


def random_stage(rng: np.random.Generator, name: str, vocab: int, text: list[int]) -> Stage:
    """Return a sampler with random values; its tokens are often those of the text."""
    known = [token for token in text if token < vocab]

    def ids(most: int) -> list[int]:
        return [int(i) for i in rng.choice([*known, *rng.integers(0, vocab, 5)], most)]

    def between(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    def phrase() -> list[int]:
        start = int(rng.integers(len(known)))
        return [*text[-int(rng.integers(1, 4)) :], *known[start : start + 1]]

    sequences = [*([i] for i in ids(int(rng.integers(1, 6)))), phrase(), ids(3)]
    numbers = random_numbers(STAGES[name], rng)
    values = {
        "logit_bias": lambda: LogitBias({i: rng.choice([-100, -5, 0.5, 3, 100]) for i in ids(8)}),
        "dry": lambda: Dry(**numbers, breakers=ids(int(rng.integers(4)))),
        "banned": lambda: Banned([part for part in sequences if max(part) < vocab]),
        "temperature": lambda: Temperature(
            rng.choice([0, 1e-6, 0.05, 50, 1e6, between(0.1, 2)], p=[*[0.1] * 5, 0.5])
        ),
        "top_k": lambda: TopK(
            min(vocab, rng.choice([1, 2, 40, 200, vocab, rng.integers(1, vocab)]))
        ),
        "top_p": lambda: TopP(rng.choice([1e-4, 0.5, 0.99, 0.9999, between(0.01, 1)])),
        "min_p": lambda: MinP(rng.choice([1e-6, 1e-3, 0.02, 0.3, 1, between(0, 1)])),
    }
    return values[name]() if name in values else STAGES[name](**numbers)


def random_case(
    rng: np.random.Generator, logits: np.ndarray, names: list[str], text: list[int] | None = None
) -> Case:
    """Return a case with these stages, in this order."""
    text = random_text(rng, logits) if text is None else text
    chain = [random_stage(rng, name, logits.size, text) for name in names]
    return Case(
        logits,
        SamplingSettings(chain=chain),
        text,
        us=[0, 0.999, *rng.random(4)],
        prompt_length=len(text) if rng.random() < 0.1 else int(rng.integers(len(text))),
        eos_ids=tuple(rng.integers(0, logits.size, 2).tolist()),
        line_break_ids=tuple(np.argsort(-logits)[: rng.integers(2)].tolist()),
        xtc_u=float(rng.random()),
        mu=float(rng.uniform(-1, 12)) if rng.random() < 0.7 else None,
    )


NAMES = [kind.setting for kind in DEFAULT_ORDER if kind.setting != "constraint"]


def previewed_names(rng: np.random.Generator) -> list[str]:
    """Choose some of the samplers that the browser computes itself, in the default order."""
    return [name for name in NAMES if name in PREVIEWED and rng.random() < 0.6]


def random_names(rng: np.random.Generator) -> list[str]:
    """Choose some samplers, half of the time in a random order."""
    share = rng.choice([0.1, 0.3, 0.6])
    names = [name for name in NAMES if rng.random() < share]
    return [str(name) for name in rng.permutation(names)] if rng.random() < 0.5 else names
