"""The tail is never zero: every token of the vocabulary, and its float32 probability.

The softmax of finite logits is above zero for every token. Float32, in which most servers compute
it, has no positive number below 1.4e-45, so a low temperature rounds the tail to zero there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.claims import inputs
from engine.claims.claim import CROSSES, LINE, Chart, Claim, Series, Table, Token
from engine.claims.experiment import Experiment, checked_prompts
from engine.claims.inputs import Lines, Numbers
from engine.claims.uncertainty import counted
from engine.claims.verdict import AT_MOST, Check, noted
from engine.errors import PromptError, msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling.divergence import log_probabilities
from engine.sampling.ranking import RankedRow
from engine.study.likelihood import next_rows
from engine.values import Amount, Logprob, Name, Positive, Row, Text, Whole

PROMPTS = """The capital of France is
Once upon a time, there was a little
Two and two make"""
WORDS = """banana
parliament
thermometer"""
POINTS = 200  # of a curve over all ranks
_LOG10 = float(np.log(10.0))


@dataclass(frozen=True)
class Absurd:
    """A word that would be absurd after the prompt.

    Attributes:
        word: the word as typed.
        token: label of its first token, which is examined.
        rank: rank of that token; 1 is the likeliest.
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
        absurd: the examined words.
        zeros: by temperature, number of tokens whose probability is 0 in float32.
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
    """The distributions after several prompts.

    Attributes:
        temperatures: the temperatures tried.
        vocab_size: number of tokens in the vocabulary.
        tails: one per prompt.
    """

    temperatures: Row[Amount]
    vocab_size: Positive
    tails: Row[Tail]

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        every = self.vocab_size * len(self.tails)
        checks = []
        for place, temperature in enumerate(self.temperatures):
            part = msg("T = {t}", f"{temperature:g}")
            zeros = sum(tail.zeros[place] for tail in self.tails)
            least = min(tail.least[place] for tail in self.tails)
            checks.append(Check("zeros", counted(zeros, every), AT_MOST, 0.0, part))
            checks.append(noted("least", counted(least, every), part))
        return tuple(checks)


def tail(
    model: LanguageModel,
    prompts: Sequence[str],
    words: Sequence[str],
    temperatures: Sequence[float],
) -> Experiment[Tails]:
    """Examine the whole vocabulary after each prompt, and locate absurd words in the tail."""
    if not words:
        raise PromptError("There is no absurd word; type at least one, each on its own line.")
    encode, label = model.vocabulary.encode, model.vocabulary.label
    firsts = [(word, (encode(f" {word.strip()}") or encode(word))[0]) for word in words]

    def look(prompt: str) -> list[Tail]:
        (row,) = next_rows(model, prompt, [0])
        ranked = RankedRow(row)
        absurd = [
            Absurd(word, label(one)[:200], ranked.rank(one), ranked.logprob(one) / _LOG10)
            for word, one in firsts
        ]
        ordered = np.sort(log_probabilities(row[None])[0])[::-1] / _LOG10
        ranks = np.unique(np.geomspace(1, len(ordered), POINTS).round().astype(int))
        least = [log_probabilities(row[None] / t).min() / _LOG10 for t in temperatures]
        return [
            Tail(
                prompt,
                tuple(absurd),
                tuple(int((float32_softmax(row, t) == 0).sum()) for t in temperatures),
                tuple(map(float, least)),
                tuple(ranks.tolist()),
                tuple(ordered[ranks - 1].tolist()),
            )
        ]

    def judged(found: tuple[Tail, ...]) -> Tails:
        return Tails(tuple(temperatures), model.vocab_size, found)

    def seconds(pace: Pace) -> float:
        return sum(pace.read_seconds(len(encode(prompt))) for prompt in prompts)

    return Experiment(checked_prompts(model, prompts, 1), look, judged, seconds, "prompt")


def float32_softmax(logits: np.ndarray, temperature: float) -> np.ndarray:
    """Compute the softmax at a temperature, entirely in float32: (vocab,) float32."""
    scaled = logits.astype(np.float32) / np.float32(temperature)
    weights = np.exp(scaled - scaled.max())
    return weights / weights.sum(dtype=np.float32)


def _curves(result: Tails) -> Chart:
    """Chart the probability of every rank after each prompt, with the absurd words as crosses."""
    series = [
        one
        for tail in result.tails
        for one in (
            Series(tail.prompt, [*zip(tail.ranks, tail.exponents, strict=True)], form=LINE),
            Series(
                "",
                [(one.rank, one.exponent) for one in tail.absurd],
                [Token(one.token) for one in tail.absurd],
                form=CROSSES,
            ),
        )
    ]
    return Chart(
        "tail",
        msg("The whole vocabulary"),
        msg(
            "Every token has a place on the curve of its prompt. The crosses are the absurd words."
        ),
        msg("rank"),
        msg("probability, power of ten"),
        series,
        logs="x",
    )


def _power(exponent: float) -> str:
    return msg("10^{exponent}", f"{exponent:.1f}".replace("-", "−"))


CLAIM = Claim(
    "tail",
    Tails,
    (
        inputs.prompts(PROMPTS, height=100),
        Lines("words", msg("Absurd words, one per line"), WORDS, height=100),
        Numbers("temperatures", msg("Temperatures"), "0.2, 0.7, 1", low=0.001, high=1000.0),
    ),
    tail,
    Table(
        msg("Absurd words"),
        lambda result: [(tail.prompt, one) for tail in result.tails for one in tail.absurd],
        {
            msg("prompt"): lambda prompt, one: prompt,
            msg("absurd token"): lambda prompt, one: Token(one.token),
            msg("rank"): lambda prompt, one: one.rank,
            msg("probability"): lambda prompt, one: _power(one.exponent),
            msg("draws until it is drawn once"): lambda prompt, one: _power(-one.exponent),
        },
        is_open=True,
    ),
    charts=lambda result: (_curves(result),),
)
