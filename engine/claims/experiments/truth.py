"""Temperature 0 gives the truth: greedy answers to facts, next to the majority of samples.

An answer is the first word. If it is a word such as "the", the fact counts in no share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.claims.claim import Claim, Table
from engine.claims.experiment import Experiment, writing_seconds
from engine.claims.facts import (
    ANSWER_TOKENS,
    FACTS,
    IS_RIGHT,
    Fact,
    checked_facts,
    first_word,
    kind_name,
)
from engine.claims.inputs import Whole
from engine.claims.uncertainty import Figure, counted, share
from engine.claims.verdict import AT_LEAST, Check, noted
from engine.decoding.batch import MOST_ROWS, Batch, Row
from engine.errors import msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.values import Name, Positive
from engine.values import Row as Values
from engine.values import Whole as Count

OFTEN = 0.8  # share of right answers that counts as the truth; the claim's wording states it


@dataclass(frozen=True)
class Answered:
    """A fact, and the model's answers.

    Attributes:
        fact: the fact.
        greedy: first word of greedy decoding.
        majority: the commonest first word of the samples.
        votes: number of samples with that word.
    """

    fact: Fact
    greedy: Name
    majority: Name
    votes: Count

    @property
    def greedy_right(self) -> bool | None:
        """True if greedy decoding is right; None if it gave no answer."""
        return self.fact.is_right(self.greedy)

    @property
    def majority_right(self) -> bool | None:
        """True if the samples' commonest word is right; None if it is not an answer."""
        return self.fact.is_right(self.majority)


@dataclass(frozen=True)
class Truth:
    """Answers to facts.

    Attributes:
        answers: one per fact.
        samples: number of samples per fact.
    """

    answers: Values[Answered]
    samples: Positive

    def of_kinds(self, attribute: str) -> Iterator[tuple[Figure, str]]:
        """Yield the share of right answers of each kind of fact, and the name of the kind."""
        for group in dict.fromkeys(one.fact.group for one in self.answers):
            asked = [one for one in self.answers if one.fact.group == group]
            yield right([getattr(one, attribute) for one in asked]), kind_name(group)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        greedy = [one.greedy_right for one in self.answers]
        silent = greedy.count(None)
        return (
            *(
                Check("greedy", found, AT_LEAST, OFTEN, kind)
                for found, kind in self.of_kinds("greedy_right")
            ),
            noted("all", right(greedy)),
            noted("silent", counted(silent / len(greedy), len(greedy))),
            noted("majority", right([one.majority_right for one in self.answers])),
            noted("agree", share([one.greedy == one.majority for one in self.answers])),
        )


def right(answers: Sequence[bool | None]) -> Figure:
    """Return the share of right answers, leaving out facts without an answer (None)."""
    return share([is_right for is_right in answers if is_right is not None])


def truth(model: LanguageModel, facts: Sequence[Fact], samples: int) -> Experiment[Truth]:
    """Ask about every fact greedily, and several times by sampling at temperature 1."""
    together = max(1, MOST_ROWS // (1 + samples))  # facts asked at once
    facts = checked_facts(model, facts)
    parts = [facts[start : start + together] for start in range(0, len(facts), together)]
    ways = [SamplingSettings(temperature=0.0)]
    ways += [SamplingSettings(seed=seed) for seed in range(samples)]

    def look(asked: Sequence[Fact]) -> list[Answered]:
        rows = [Row(fact.question, way, ANSWER_TOKENS) for fact in asked for way in ways]
        batch = Batch(model, rows)
        for _ in batch.run():
            pass
        words = [first_word(text.text)[:1000] for text in batch.texts]
        answers = []
        for place, fact in enumerate(asked):
            greedy, *drawn = words[place * len(ways) : (place + 1) * len(ways)]
            majority, votes = Counter(drawn).most_common(1)[0]
            answers.append(Answered(fact, greedy, majority, votes))
        return answers

    def seconds(pace: Pace) -> float:
        return writing_seconds(pace, ANSWER_TOKENS, len(ways) * together) * len(parts)

    costs = [float(len(asked)) for asked in parts]
    return Experiment(parts, look, lambda found: Truth(found, samples), seconds, costs=costs)


CLAIM = Claim(
    "truth",
    Truth,
    (FACTS, Whole("samples", msg("Samples per fact"), 9, low=1, high=64)),
    truth,
    Table(
        msg("Answers"),
        lambda result: result.answers,
        {
            msg("question"): lambda one: one.fact.question,
            msg("right answers"): lambda one: " or ".join(one.fact.answers),
            msg("greedy"): lambda one: one.greedy,
            msg("is right"): lambda one: IS_RIGHT[one.greedy_right],
            msg("majority"): lambda one: one.majority,
            msg("votes for it"): lambda one: one.votes,
            msg("kind"): lambda one: kind_name(one.fact.group),
        },
    ),
    more=lambda result: [noted("majority", *one) for one in result.of_kinds("majority_right")],
)
