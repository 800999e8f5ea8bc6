"""The tail is never zero: every token of the vocabulary, as float32 holds its probability.

The softmax of finite logits is above zero for every token. Float32, in which most servers compute
it, holds no number below 1.4e-45, so a low temperature rounds the tail to zero there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.claims.experiment import Experiment, checked_prompts, checked_range
from engine.claims.uncertainty import counted
from engine.claims.verdict import AT_MOST, Check, noted
from engine.errors import PromptError, msg
from engine.measure.divergence import log_probabilities
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling.ranking import RankedRow
from engine.study.likelihood import next_rows
from engine.values import Amount, Logprob, Name, Positive, Row, Text, Whole

MOST_TEMPERATURES = 16
POINTS = 200  # of a curve over all ranks
_LOG10 = float(np.log(10.0))


@dataclass(frozen=True)
class Absurd:
    """A word that nobody expects there.

    Attributes:
        word: as it was typed.
        token: label of its first token, which is looked at.
        rank: of that token; 1 is the likeliest.
        exponent: logarithm to base 10 of its probability at temperature 1.
    """

    word: Name
    token: Name
    rank: Positive
    exponent: Logprob


@dataclass(frozen=True)
class Tail:
    """The distribution after one prompt.

    Attributes:
        prompt: the prompt.
        absurd: the words that were looked at.
        zeros: by temperature, tokens whose probability is 0 in float32.
        least: by temperature, logarithm to base 10 of the smallest probability, computed in
            float64.
        ranks, exponents: points of the curve at temperature 1: rank, and logarithm to base 10 of
            the probability.
    """

    prompt: Text
    absurd: Row[Absurd]
    zeros: Row[Whole]
    least: Row[Logprob]
    ranks: Row[Positive]
    exponents: Row[Logprob]


@dataclass(frozen=True)
class Tails:
    """The distributions after some prompts.

    Attributes:
        temperatures: that were tried.
        vocab_size: tokens of the vocabulary.
        tails: one a prompt.
    """

    temperatures: Row[Amount]
    vocab_size: Positive
    tails: Row[Tail]

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        every = self.vocab_size * len(self.tails)
        checks = []
        for place, temperature in enumerate(self.temperatures):
            part = f"T = {temperature:g}"
            zeros = sum(tail.zeros[place] for tail in self.tails)
            least = min(tail.least[place] for tail in self.tails)
            checks.append(Check("zeros", counted(zeros, every), AT_MOST, 0.0, part))
            checks.append(noted("least", counted(least, every), part))
        return tuple(checks)


class TailExperiment(Experiment[Tails]):
    """Looks at the whole vocabulary after each prompt.

    Args:
        model: whose distribution it is.
        prompts: some prompts.
        words: absurd ones, to be found in the tail.
        temperatures: of the softmax, above 0.

    Raises:
        PromptError, SettingError: prompts, words or temperatures out of range.
    """

    noun = "prompt"

    def __init__(
        self,
        model: LanguageModel,
        prompts: Sequence[str],
        words: Sequence[str],
        temperatures: Sequence[float],
    ) -> None:
        if not words:
            raise PromptError("There is no absurd word; type at least one, each on its own line.")
        for temperature in temperatures:
            checked_range(msg("Temperatures"), temperature, 0.001, 1000.0)
        self._prompts = checked_prompts(model, prompts, 1)
        super().__init__([1.0] * len(prompts))
        self._model = model
        self._temperatures = tuple(temperatures)
        encode = model.vocabulary.encode
        self._words = [(word, (encode(f" {word.strip()}") or encode(word))[0]) for word in words]
        self._tails: list[Tail] = []

    def _measure(self, part: int) -> None:
        prompt = self._prompts[part]
        (row,) = next_rows(self._model, prompt, [0])
        ranked = RankedRow(row)
        label = self._model.vocabulary.label
        absurd = [
            Absurd(word, label(one)[:200], ranked.rank(one), ranked.logprob(one) / _LOG10)
            for word, one in self._words
        ]
        ordered = np.sort(log_probabilities(row[None])[0])[::-1] / _LOG10
        ranks = np.unique(np.geomspace(1, len(ordered), POINTS).round().astype(int))
        least = [log_probabilities(row[None] / t).min() / _LOG10 for t in self._temperatures]
        self._tails[part:] = [
            Tail(
                prompt,
                tuple(absurd),
                tuple(int((float32_softmax(row, t) == 0).sum()) for t in self._temperatures),
                tuple(map(float, least)),
                tuple(ranks.tolist()),
                tuple(ordered[ranks - 1].tolist()),
            )
        ]

    @property
    def result(self) -> Tails | None:
        if not self._tails:
            return None
        return Tails(self._temperatures, self._model.vocab_size, tuple(self._tails))

    def seconds(self, pace: Pace) -> float:
        return sum(
            pace.read_seconds(len(self._model.vocabulary.encode(prompt)))
            for prompt in self._prompts
        )


def float32_softmax(logits: np.ndarray, temperature: float) -> np.ndarray:
    """(vocab,) probabilities at a temperature, computed in float32 all the way."""
    scaled = logits.astype(np.float32) / np.float32(temperature)
    weights = np.exp(scaled - scaled.max())
    return weights / weights.sum(dtype=np.float32)
