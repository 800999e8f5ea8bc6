"""A higher temperature is more random, not more often right: facts scored at every temperature.

The score is exact: the probability that a draw at that temperature gives a right answer, from the
logits. No sample is drawn, so only the choice of facts is uncertain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.claims.experiment import Experiment, checked_range
from engine.claims.facts import Fact, checked_facts
from engine.claims.uncertainty import Figure, mean
from engine.claims.verdict import ABOVE, AT_MOST, Check
from engine.errors import SettingError, msg
from engine.measure.divergence import log_probabilities
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.study.likelihood import next_rows
from engine.values import Amount, Row, Share

MOST_TEMPERATURES = 16


@dataclass(frozen=True)
class Scored:
    """A fact at every temperature.

    Attributes:
        fact: the fact.
        right: probability of a right answer.
        bits: entropy of the distribution that its first token is drawn from.
    """

    fact: Fact
    right: Row[Share]
    bits: Row[Amount]


@dataclass(frozen=True)
class Temperatures:
    """Facts at some temperatures.

    Attributes:
        temperatures: ascending.
        scored: one a fact.
    """

    temperatures: Row[Amount]
    scored: Row[Scored]

    def right(self, place: int, group: str | None = None) -> Figure:
        """Mean probability of a right answer at a temperature."""
        return mean([one.right[place] for one in self._of(group)])

    def bits(self, place: int) -> Figure:
        """Mean entropy at a temperature."""
        return mean([one.bits[place] for one in self.scored])

    def _of(self, group: str | None) -> list[Scored]:
        return [one for one in self.scored if group in (None, one.fact.group)]

    @property
    def groups(self) -> list[str]:
        """The kinds of facts."""
        return list(dict.fromkeys(one.fact.group for one in self.scored))

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        checks = []
        first, *others = self.temperatures
        for place, temperature in enumerate(others, start=1):
            part = f"T {first:g} to {temperature:g}"
            bits = mean([one.bits[place] - one.bits[0] for one in self.scored])
            right = mean([one.right[place] - one.right[0] for one in self.scored])
            checks.append(Check("random", bits, ABOVE, 0.0, part))
            checks.append(Check("capable", right, AT_MOST, 0.0, part))
        return tuple(checks)


class TemperatureExperiment(Experiment[Temperatures]):
    """Scores every fact at every temperature.

    Args:
        model: what is asked.
        facts: what it is asked.
        temperatures: at least two, ascending, above 0.

    Raises:
        PromptError, SettingError: facts or temperatures out of range.
    """

    noun = "fact"

    def __init__(
        self, model: LanguageModel, facts: Sequence[Fact], temperatures: Sequence[float]
    ) -> None:
        if len(temperatures) < 2:
            remedy = msg("give at least two, as in 0.5, 1")
            raise SettingError(msg("Temperatures"), list(temperatures), "are too few", remedy)
        for temperature in temperatures:
            checked_range(msg("Temperatures"), temperature, 0.01, 100.0)
        self._facts = checked_facts(model, facts)
        super().__init__([1.0] * len(facts))
        self._model = model
        self._temperatures = tuple(temperatures)
        self._scored: list[Scored] = []

    def _measure(self, part: int) -> None:
        fact = self._facts[part]
        vocabulary = self._model.vocabulary
        answers = [tuple(vocabulary.encode(f" {word.strip()}")) for word in fact.answers]
        right = np.zeros(len(self._temperatures))
        for ids in _without_longer(answers):
            rows = np.array(list(next_rows(self._model, fact.question, ids)))
            shaped = [log_probabilities(rows / t) for t in self._temperatures]
            right += [np.exp(sum(row[i] for row, i in zip(p, ids, strict=True))) for p in shaped]
            first = np.array([rows[0] for rows in shaped])  # the same for every answer
        bits = -(np.exp(first) * np.where(np.isfinite(first), first, 0.0)).sum(1) / np.log(2)
        self._scored[part:] = [Scored(fact, tuple(right.tolist()), tuple(bits.tolist()))]

    @property
    def result(self) -> Temperatures | None:
        if not self._scored:
            return None
        return Temperatures(self._temperatures, tuple(self._scored))

    def seconds(self, pace: Pace) -> float:
        return sum(
            pace.read_seconds(8) + pace.read_seconds(2) * len(fact.answers) for fact in self._facts
        )


def _without_longer(answers: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Answers none of which begins another: the probability of the longer one is in the shorter."""
    kept: list[tuple[int, ...]] = []
    for ids in sorted(set(answers), key=len):
        if not any(ids[: len(other)] == other for other in kept):
            kept.append(ids)
    return kept
