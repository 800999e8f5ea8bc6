"""More people who use one model at once, for benchmarks (see `engine.measure.company`)."""

from __future__ import annotations

import numpy as np

from engine.decoder import Decoder
from engine.decoding.contrastive import ContrastiveSearch
from engine.measure.company import (
    BATCH_TOKENS,
    LENGTH,
    PROMPT_TOKENS,
    SETTINGS,
    Over,
    Pace,
    Seen,
    Work,
    batches,
    prefills,
    prompt_ids,
    steps,
    together,
)
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.study.sweep import Axis, Sweep

__all__ = [
    "LENGTH",
    "Pace",
    "Seen",
    "Work",
    "batches",
    "contrastive",
    "prefills",
    "rebuilds",
    "steps",
    "sweeps",
    "together",
]

SEARCHED = 900  # tokens of a prompt for contrastive search: each candidate has them in its cache


def sweeps(model: LanguageModel) -> Work:
    """One sweep of 100 texts after another."""

    def work(seen: Seen, over: Over) -> None:
        while True:
            sweep = Sweep(
                SamplingSettings(),
                Axis("temperature", np.linspace(0.4, 1.2, 5).round(3)),
                Axis("top_p", np.linspace(0.6, 1.0, 5).round(3)),
                [prompt_ids(model, PROMPT_TOKENS)],
                range(4),
                BATCH_TOKENS,
            )
            before = seen.tokens
            for progress in sweep.run(model):
                seen.tokens = before + progress.tokens_done
                if over() and seen.tokens:
                    return

    return work


def contrastive(model: LanguageModel, candidates: int) -> Work:
    """One contrastive search of a long text after another, with so many candidates in each step."""

    def work(seen: Seen, over: Over) -> None:
        while True:
            search = ContrastiveSearch(model, prompt_ids(model, SEARCHED), candidates)
            for _ in range(BATCH_TOKENS):
                seen.time(search.step)
                seen.tokens += 1
                if over() and seen.tokens:
                    return

    return work


def rebuilds(model: LanguageModel, length: int) -> Work:
    """A text of so many generated tokens whose cache is taken away before each step."""
    decoder = Decoder(model, prompt_ids(model, PROMPT_TOKENS), SETTINGS)
    for _ in range(length):
        decoder.step()

    def work(seen: Seen, over: Over) -> None:
        while not (over() and seen.tokens):
            twin = decoder.fork()
            if not twin.release_cache():
                raise RuntimeError("a cache that nobody uses could not be taken away")
            seen.time(twin.step)
            seen.tokens += 1
            seen.notes.append(twin.steps[-1].passes)

    return work
