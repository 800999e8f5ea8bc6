"""A higher temperature is more random, not more often right: facts scored at every temperature.

The score is exact: the probability, from the logits, that a draw at that temperature gives a right
answer. Nothing is sampled, so only the choice of facts is uncertain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.claims.claim import Chart, Claim, Columns, Series, Table
from engine.claims.experiment import Experiment
from engine.claims.facts import FACTS, Fact, checked_facts, kind_name
from engine.claims.inputs import Numbers
from engine.claims.uncertainty import Figure, mean
from engine.claims.verdict import ABOVE, AT_MOST, Check
from engine.errors import msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling.divergence import log_probabilities
from engine.study.likelihood import next_rows
from engine.values import Amount, Row, Share


@dataclass(frozen=True)
class Scored:
    """A fact, scored at every temperature.

    Attributes:
        fact: the fact.
        right: probability of a right answer.
        bits: entropy of the distribution from which its first token is drawn.
    """

    fact: Fact
    right: Row[Share]
    bits: Row[Amount]


@dataclass(frozen=True)
class Temperatures:
    """Facts, scored at several temperatures.

    Attributes:
        temperatures: ascending.
        scored: one per fact.
    """

    temperatures: Row[Amount]
    scored: Row[Scored]

    def right(self, place: int, group: str) -> Figure:
        """Return the mean probability of a right answer, for one kind of fact and temperature."""
        return mean([one.right[place] for one in self.scored if one.fact.group == group])

    def bits(self, place: int) -> Figure:
        """Return the mean entropy at a temperature."""
        return mean([one.bits[place] for one in self.scored])

    @property
    def groups(self) -> list[str]:
        """The kinds of facts."""
        return list(dict.fromkeys(one.fact.group for one in self.scored))

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        checks = []
        first, *others = self.temperatures
        for place, temperature in enumerate(others, start=1):
            part = msg("T {low} to {high}", (f"{first:g}", f"{temperature:g}"))
            bits = mean([one.bits[place] - one.bits[0] for one in self.scored])
            right = mean([one.right[place] - one.right[0] for one in self.scored])
            checks.append(Check("random", bits, ABOVE, 0.0, part))
            checks.append(Check("capable", right, AT_MOST, 0.0, part))
        return tuple(checks)


def temperature(
    model: LanguageModel, facts: Sequence[Fact], temperatures: Sequence[float]
) -> Experiment[Temperatures]:
    """Score every fact at every temperature."""
    encode = model.vocabulary.encode

    def look(fact: Fact) -> list[Scored]:
        answers = [tuple(encode(f" {word.strip()}")) for word in fact.answers]
        right = np.zeros(len(temperatures))
        for ids in _without_longer(answers):
            rows = np.array(list(next_rows(model, fact.question, ids)))
            shaped = [log_probabilities(rows / t) for t in temperatures]
            right += [np.exp(sum(row[i] for row, i in zip(p, ids, strict=True))) for p in shaped]
            first = np.array([rows[0] for rows in shaped])  # the same for every answer
        bits = -(np.exp(first) * np.where(np.isfinite(first), first, 0.0)).sum(1) / np.log(2)
        return [Scored(fact, tuple(right.tolist()), tuple(bits.tolist()))]

    def seconds(pace: Pace) -> float:
        question, answer = pace.read_seconds(8), pace.read_seconds(2)
        return sum(question + answer * len(fact.answers) for fact in facts)

    def judged(found: tuple[Scored, ...]) -> Temperatures:
        return Temperatures(tuple(temperatures), found)

    return Experiment(checked_facts(model, facts), look, judged, seconds, "fact")


def _without_longer(answers: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Drop answers that begin with a shorter answer, whose probability includes theirs."""
    kept: list[tuple[int, ...]] = []
    for ids in sorted(set(answers), key=len):
        if not any(ids[: len(other)] == other for other in kept):
            kept.append(ids)
    return kept


def _charts(result: Temperatures) -> tuple[Chart, Chart]:
    """Chart the probability of a right answer by kind, and the first token's mean entropy."""
    places = list(enumerate(result.temperatures))
    right = [
        Series(kind_name(group), [(t, result.right(place, group)) for place, t in places])
        for group in result.groups
    ]
    return (
        Chart(
            "score",
            msg("Right answers"),
            msg(
                "Exact: the probability that a draw is a right answer. Whiskers are 95 % intervals."
            ),
            msg("temperature"),
            msg("right draws"),
            right,
            is_share=True,
        ),
        Chart(
            "entropy",
            msg("Random"),
            msg("Uncertainty of the first token that is drawn."),
            msg("temperature"),
            msg("entropy, bits"),
            (Series("", [(t, result.bits(place)) for place, t in places]),),
        ),
    )


def _columns(result: Temperatures) -> Columns:
    at = {
        msg("right at T = {t}", f"{one:g}"): lambda one, place=place: one.right[place]
        for place, one in enumerate(result.temperatures)
    }
    return {
        msg("question"): lambda one: one.fact.question,
        msg("kind"): lambda one: kind_name(one.fact.group),
    } | at


TEMPERATURES = Numbers(
    *("temperatures", msg("Temperatures"), "0.25, 0.5, 1, 1.5, 2"), low=0.01, high=100.0, least=2
)
CLAIM = Claim(
    "temperature",
    Temperatures,
    (FACTS, TEMPERATURES),
    temperature,
    Table(msg("Scores"), lambda result: result.scored, _columns),
    charts=_charts,
)
