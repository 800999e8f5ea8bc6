"""A model knows what it knows: the probability of greedy answers, against how often they are right.

An answer is the first word; its probability is the product of those of its tokens. A model is
calibrated if answers of probability p are right in p of the cases (Guo et al. 2017).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from engine.claims.claim import Claim, Table
from engine.claims.experiment import Experiment, writing_seconds
from engine.claims.facts import ANSWER_TOKENS, FACTS, IS_RIGHT, Fact, checked_facts, first_word
from engine.claims.uncertainty import mean, share
from engine.claims.verdict import AT_LEAST, AT_MOST, Check, noted
from engine.decoding.batch import MOST_ROWS, Batch, Row
from engine.errors import Message, msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.values import Name, Share
from engine.values import Row as Values

OFF = 0.1  # largest mean difference that counts as calibrated; the claim's wording states it
EDGES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)  # of the groups of answers, by probability
ALL = msg("all answers")


@dataclass(frozen=True)
class Sure:
    """A fact, the model's answer, and the probability that it gave the answer.

    Attributes:
        fact: the fact.
        answer: first word of greedy decoding.
        probability: probability of its tokens together, at temperature 1.
    """

    fact: Fact
    answer: Name
    probability: Share

    @property
    def is_right(self) -> bool | None:
        """True if the answer is right; None if the word is not an answer."""
        return self.fact.is_right(self.answer)


@dataclass(frozen=True)
class Calibration:
    """Answers with their probabilities, in the order of the facts."""

    answers: Values[Sure]

    @property
    def judged(self) -> list[Sure]:
        """The answers, without words that are none."""
        return [one for one in self.answers if one.is_right is not None]

    def groups(self) -> Iterator[tuple[Message, list[Sure]]]:
        """Yield groups of answers of similar probability, and their names; none is empty."""
        for low, high in pairwise(EDGES):
            last = math.inf if high == EDGES[-1] else high
            some = [one for one in self.judged if low <= one.probability < last]
            if some:
                yield msg("{low:g} to {high:g} % sure", (100 * low, 100 * high)), some

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        gap = mean([one.probability - float(one.is_right) for one in self.judged])
        right = {kind: share([one.is_right for one in some]) for kind, some in self.groups()}
        sure = {kind: mean([one.probability for one in some]) for kind, some in self.groups()}
        return (
            Check("gap", gap, AT_MOST, OFF, ALL),
            Check("gap", gap, AT_LEAST, -OFF, ALL),
            *(noted("right", figure, kind) for kind, figure in right.items()),
            *(noted("sure", figure, kind) for kind, figure in sure.items()),
        )


def calibration(model: LanguageModel, facts: Sequence[Fact]) -> Experiment[Calibration]:
    """Ask about every fact greedily."""
    facts = checked_facts(model, facts)
    parts = [facts[start : start + MOST_ROWS] for start in range(0, len(facts), MOST_ROWS)]
    greedy, token_bytes = SamplingSettings(temperature=0.0), model.vocabulary.token_bytes

    def look(asked: Sequence[Fact]) -> list[Sure]:
        batch = Batch(model, [Row(fact.question, greedy, ANSWER_TOKENS) for fact in asked])
        for _ in batch.run():
            pass
        answers = []
        for fact, text in zip(asked, batch.texts, strict=True):
            word, written, nats = first_word(text.text), b"", 0.0
            for record in text.records:
                if first_word(written.decode("utf-8", "replace")) == word:
                    break
                written += token_bytes(int(record["token_id"]))
                nats += float(record["logprob"])
            answers.append(Sure(fact, word[:1000], min(1.0, math.exp(nats))))
        return answers

    def seconds(pace: Pace) -> float:
        return writing_seconds(pace, ANSWER_TOKENS, MOST_ROWS) * len(parts)

    costs = [float(len(asked)) for asked in parts]
    return Experiment(parts, look, Calibration, seconds, costs=costs)


CLAIM = Claim(
    "calibration",
    Calibration,
    (FACTS,),
    calibration,
    Table(
        msg("Answers"),
        lambda result: sorted(result.answers, key=lambda one: -one.probability),
        {
            msg("question"): lambda one: one.fact.question,
            msg("right answers"): lambda one: " or ".join(one.fact.answers),
            msg("greedy"): lambda one: one.answer,
            msg("probability"): lambda one: one.probability,
            msg("is right"): lambda one: IS_RIGHT[one.is_right],
        },
    ),
)
