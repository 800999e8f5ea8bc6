"""Passages by masked diffusion in few and in many steps, next to an autoregressive model's.

    >>> settings = DiffusionSettings(temperature=0.7)
    >>> plan = Plan(canvas, step_counts=(4, 8, 16), seeds=(0, 1, 2), settings=settings)
    >>> passages = list(plan.run(model, judge))
    >>> rows = summaries(passages)

Every seed writes one passage autoregressively and one in each number of steps, in turn. So a
temporary slowdown of the machine slows them all. Few bits per byte mean fluent or repetitive
text, since repetition is easy to predict: read them together with the repetition. The
autoregressive model sees the text before the first gap, and nothing given after it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from engine.decoding.decoder import Decoder
from engine.decoding.diffusion import DiffusionDecoder, DiffusionSettings
from engine.errors import PromptError, SettingError
from engine.model import LanguageModel
from engine.model.diffusion_model import DiffusionModel, checked_canvas
from engine.sampling import SamplingSettings
from engine.study.likelihood import token_logprobs
from engine.study.metrics import Spread, distinct_n, seq_rep_n, spread


@dataclass(frozen=True)
class Passage:
    """One finished passage and its measurements.

    Attributes:
        steps: forward passes of masked diffusion; None for the autoregressive model.
        seed: the seed that it was drawn with.
        token_ids: the tokens from the first gap to the end, given ones included.
        text: their text.
        bits_per_byte: bits per byte of these tokens under the autoregressive model, given the text
            before the gap.
        repeated_2: share of the pairs of tokens that repeat an earlier one, 0 to 1.
        repeated_4: the same for runs of four.
        remasked: how often a committed token was masked again.
        ms: wall time of generation in milliseconds, including the wait for a turn.
    """

    steps: int | None
    seed: int
    token_ids: tuple[int, ...]
    text: str
    bits_per_byte: float
    repeated_2: float
    repeated_4: float
    remasked: int
    ms: float


@dataclass(frozen=True)
class Plan:
    """Passages to write.

    Attributes:
        canvas: token ids with masks; the first position is given.
        step_counts: numbers of steps, each at most the number of masks.
        seeds: seeds of the passages, without duplicates.
        settings: settings of masked diffusion; steps and seed are those above. Their temperature
            also applies to the autoregressive model.
    """

    canvas: tuple[int, ...]
    step_counts: tuple[int, ...]
    seeds: tuple[int, ...]
    settings: DiffusionSettings

    @property
    def count(self) -> int:
        """Number of passages."""
        return len(self.seeds) * (1 + len(self.step_counts))

    def run(
        self,
        model: DiffusionModel,
        judge: LanguageModel,
        *,
        done: Sequence[Passage] = (),
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Iterator[Passage]:
        """Write the passages, seed by seed; yields each when it is done.

        Args:
            model: fills the canvas.
            judge: writes autoregressively, and scores every passage.
            done: passages of an earlier run, which are not written again.
            should_stop: asked before every step; True ends the run without the unfinished passage.

        Raises:
            PromptError: a canvas that begins with a mask, is too long for one of the models, or has
                tokens that the judge's vocabulary lacks or spells differently.
            SettingError: steps or blocks that do not fit the canvas, or no seed.
        """
        start = self.check(model, judge)
        found = {(passage.steps, passage.seed) for passage in done}
        for seed in self.seeds:
            for steps in (None, *self.step_counts):
                if (steps, seed) in found:
                    continue
                passage = self._passage(model, judge, start, steps, seed, should_stop)
                if passage is None:
                    return
                yield passage

    def check(self, model: DiffusionModel, judge: LanguageModel) -> int:
        """Check the plan; returns the position of the first gap, and raises the errors of `run`."""
        ids = checked_canvas(model, self.canvas)
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise SettingError("seeds", self.seeds, "must be different numbers", "give one or more")
        for steps in self.step_counts:
            DiffusionDecoder(model, ids, replace(self.settings, steps=steps))
        start = ids.index(model.mask_id)
        if not start:
            raise PromptError(
                "The canvas begins with a gap, so an autoregressive model has nothing to begin "
                "with; put a word before it."
            )
        limit = judge.context_length
        if limit is not None and len(ids) > limit:
            raise PromptError(
                "The canvas has {ids:,} tokens, and {name} reads at most {limit:,}; shorten it.",
                (len(ids), judge.name, limit),
            )
        _check_same_tokens(model, judge)
        return start

    def _passage(
        self,
        model: DiffusionModel,
        judge: LanguageModel,
        start: int,
        steps: int | None,
        seed: int,
        should_stop: Callable[[], bool],
    ) -> Passage | None:
        """Write one passage; returns None if it was stopped."""
        remasked = 0
        if steps is None:
            settings = SamplingSettings(temperature=self.settings.temperature, seed=seed)
            writer = Decoder(judge, list(self.canvas[:start]), settings)
            turns = len(self.canvas) - start
        else:
            settings = replace(self.settings, steps=steps, seed=seed)
            writer = DiffusionDecoder(model, self.canvas, settings)
            turns = steps
        began = time.perf_counter()
        for _ in range(turns):
            if should_stop():
                return None
            step = writer.step()
            remasked += len(step.remasked) if steps is not None else 0
        ms = (time.perf_counter() - began) * 1e3
        written = writer.token_ids if steps is None else writer.ids[start:]
        writer.release_cache()
        ids = [*self.canvas[:start], *written]
        return Passage(
            steps,
            seed,
            tuple(written),
            model.text(written),
            bits_per_byte(judge, ids, start),
            1.0 - distinct_n([written], 2),
            seq_rep_n(written, 4),
            remasked,
            ms,
        )


def bits_per_byte(judge: LanguageModel, token_ids: Sequence[int], start: int) -> float:
    """Return the surprisal of tokens given those before them, in bits per byte of text.

    Args:
        judge: the model, at temperature 1.
        token_ids: the text.
        start: index of the first token that counts, at least 1: it needs a token before it.
    """
    counted = token_ids[start:]
    nats = -float(token_logprobs(judge, token_ids[:start], counted).sum())
    texts = judge.vocabulary
    size = sum(len(texts.token_bytes(one)) for one in counted if not texts.is_special(one))
    return nats / math.log(2) / size if size else math.nan


def _check_same_tokens(model: DiffusionModel, judge: LanguageModel) -> None:
    """Raise `PromptError` if a token has different text in the two models."""
    for token_id in range(model.vocab_size):
        if token_id in (model.mask_id, model.pad_id):
            continue
        known = token_id < judge.vocab_size
        if not known or (
            model.vocabulary.token_bytes(token_id) != judge.vocabulary.token_bytes(token_id)
        ):
            raise PromptError(
                "{name} has different tokens from {name2}, so it cannot score its texts; use "
                "models with the same tokenizer.",
                (judge.name, model.name),
            )


@dataclass(frozen=True)
class StepsSummary:
    """All passages of one number of steps.

    Attributes:
        steps: forward passes; None for the autoregressive model.
        count: number of passages.
        bits_per_byte, repeated_2, repeated_4, remasked, ms: mean and spread over the seeds.
    """

    steps: int | None
    count: int
    bits_per_byte: Spread
    repeated_2: Spread
    repeated_4: Spread
    remasked: Spread
    ms: Spread


def summaries(passages: Sequence[Passage]) -> list[StepsSummary]:
    """Return one row for each number of steps, ascending; the autoregressive model comes last."""
    counts = {passage.steps for passage in passages}
    order = sorted(counts, key=lambda steps: math.inf if steps is None else steps)
    names = ("bits_per_byte", "repeated_2", "repeated_4", "remasked", "ms")
    rows = []
    for steps in order:
        some = [passage for passage in passages if passage.steps == steps]
        spreads = [spread([getattr(passage, name) for passage in some]) for name in names]
        rows.append(StepsSummary(steps, len(some), *spreads))
    return rows
