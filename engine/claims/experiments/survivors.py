"""A fixed k and the nucleus at every step of some texts: two claims on one experiment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.claims.experiment import Experiment, checked_prompts, checked_range, writing_seconds
from engine.claims.uncertainty import bootstrap, ratio
from engine.claims.verdict import ABOVE, Check, noted
from engine.decoding.batch import Batch
from engine.decoding.batch import Row as TextRow
from engine.errors import msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling import SamplingSettings, shape
from engine.study.likelihood import next_rows
from engine.values import Amount, Name, Positive, Row, Share, Text

MOST_TOKENS = 256
MOST_TEXTS = 16
HALF = 0.5
QUARTER = 25  # percent of the steps that count as sure, and as uncertain


@dataclass(frozen=True)
class Steps:
    """The steps of one text.

    Attributes:
        prompt: what the text goes on from.
        tokens: labels of its tokens.
        bits: entropy of the model's distribution at every step.
        nucleus: tokens that top-p keeps there.
        mass: probability of the k likeliest tokens together.
    """

    prompt: Text
    tokens: Row[Name]
    bits: Row[Amount]
    nucleus: Row[Positive]
    mass: Row[Share]


@dataclass(frozen=True)
class Survivors:
    """The tokens that both samplers keep.

    Attributes:
        texts: their steps.
        top_k, top_p: of the samplers.
    """

    texts: Row[Steps]
    top_k: Positive
    top_p: Share

    @cached_property
    def edges(self) -> tuple[float, float]:
        """Entropy up to which a step counts as sure, and from which as uncertain, in bits."""
        every = np.concatenate([text.bits for text in self.texts])
        low, high = np.percentile(every, (QUARTER, 100 - QUARTER))
        return float(low), float(high)


@dataclass(frozen=True)
class FixedK(Survivors):
    """A fixed k against the nucleus."""

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        low, high = self.edges
        loose, tight = [], []
        for text in self.texts:
            pairs = list(zip(text.bits, text.nucleus, strict=True))
            sure = [size < self.top_k for bits, size in pairs if bits <= low]
            torn = [size > self.top_k for bits, size in pairs if bits >= high]
            loose.append((sum(sure), len(sure)))
            tight.append((sum(torn), len(torn)))
        return (
            Check("loose", ratio(loose), ABOVE, HALF, f"at most {low:.2g} bits"),
            Check("tight", ratio(tight), ABOVE, HALF, f"at least {high:.2g} bits"),
        )


@dataclass(frozen=True)
class NucleusAdapts(Survivors):
    """The size of the nucleus."""

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        low, high = self.edges
        sums = []
        for text in self.texts:
            pairs = list(zip(text.bits, text.nucleus, strict=True))
            sure = [size for bits, size in pairs if bits <= low]
            unsure = [size for bits, size in pairs if bits >= high]
            sums.append((sum(unsure), len(unsure), sum(sure), len(sure)))
        return (
            Check("larger", bootstrap(sums, _times_larger), ABOVE, 2.0),
            noted("sure", ratio([one[2:] for one in sums])),
            noted("unsure", ratio([one[:2] for one in sums])),
        )


def _times_larger(sums: list[tuple[int, int, int, int]]) -> float:
    """The mean nucleus of uncertain steps over that of sure ones; NaN if a kind is missing."""
    unsure, unsure_steps, sure, sure_steps = map(sum, zip(*sums, strict=True))
    return (unsure / unsure_steps) / (sure / sure_steps) if unsure_steps and sure else math.nan


class SurvivorsExperiment(Experiment[Survivors]):
    """Draws texts from the model's own distribution, and looks at every step of them.

    Args:
        kind: of the result, `FixedK` or `NucleusAdapts`.
        model: what writes.
        prompts: what the texts go on from.
        tokens: most tokens of a text.
        texts: of each prompt.
        top_k, top_p: of the samplers that are compared; they shape no text.

    Raises:
        PromptError, SettingError: prompts or settings out of range.
    """

    def __init__(
        self,
        kind: type[Survivors],
        model: LanguageModel,
        prompts: Sequence[str],
        tokens: int = 48,
        texts: int = 3,
        top_k: int = 40,
        top_p: float = 0.9,
    ) -> None:
        checked_range(msg("Tokens"), tokens, 1, MOST_TOKENS)
        checked_range(msg("Texts of each prompt"), texts, 1, MOST_TEXTS)
        checked_range(msg("Top-k"), top_k, 1, model.vocab_size)
        self._prompts = checked_prompts(model, prompts, tokens)
        self._nucleus = SamplingSettings(top_p=checked_range(msg("Top-p"), top_p, 0.01, 0.9999))
        super().__init__([1.0] * (1 + len(prompts)))  # all are written, then each is looked at
        self._kind, self._model, self._tokens, self._count = kind, model, tokens, texts
        self._top_k, self._top_p = top_k, top_p
        seeds = [SamplingSettings(seed=seed) for seed in range(texts)]
        rows = [TextRow(prompt, seed, tokens) for prompt in self._prompts for seed in seeds]
        self._batch = Batch(model, rows)
        self._texts: list[list[Steps]] = []

    def _measure(self, part: int) -> None:
        if not part:
            for _ in self._batch.run():
                pass
            return
        prompt, first = self._prompts[part - 1], (part - 1) * self._count
        texts = map(self._batch.text, range(first, first + self._count))
        self._texts[part - 1 :] = [[self._steps(prompt, text.token_ids) for text in texts]]

    def _steps(self, prompt: str, token_ids: Sequence[int]) -> Steps:
        label = self._model.vocabulary.label
        bits, sizes, masses = [], [], []
        for row in next_rows(self._model, prompt, token_ids):
            kept = shape(row, self._nucleus)
            bits.append(kept.raw.entropy_bits)
            sizes.append(kept.survivors)
            kept.raw.sort_to_depth(self._top_k)
            masses.append(float(kept.raw.cumulative[self._top_k - 1] / kept.raw.total))
        labels = tuple(label(token_id)[:200] for token_id in token_ids)
        return Steps(prompt, labels, tuple(bits), tuple(sizes), tuple(masses))

    @property
    def result(self) -> Survivors | None:
        texts = tuple(text for texts in self._texts for text in texts)
        return self._kind(texts, self._top_k, self._top_p) if texts else None

    def seconds(self, pace: Pace) -> float:
        texts = len(self._prompts) * self._count
        writing = writing_seconds(pace, self._tokens, texts)
        return writing + pace.read_seconds(self._tokens) * texts
