"""Temperature 0 gives the truth: greedy answers to facts, with the majority of samples.

An answer is the first word. Where that is none, such as "the", the fact counts in no share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.claims.experiment import Experiment, checked_range, writing_seconds
from engine.claims.facts import ANSWER_TOKENS, Fact, checked_facts, first_word
from engine.claims.uncertainty import Figure, counted, share
from engine.claims.verdict import AT_LEAST, Check, noted
from engine.decoding.batch import MOST_ROWS, Batch, Row
from engine.errors import msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.values import Name, Positive, Whole
from engine.values import Row as Values

MOST_SAMPLES = 64
OFTEN = 0.8  # the share of right answers that counts as the truth; the words of the claim name it


@dataclass(frozen=True)
class Answered:
    """A fact, and the model's answers.

    Attributes:
        fact: the fact.
        greedy: first word of greedy decoding.
        majority: the commonest first word of the samples.
        votes: how many of them said it.
    """

    fact: Fact
    greedy: Name
    majority: Name
    votes: Whole

    @property
    def greedy_right(self) -> bool | None:
        """Tell whether greedy decoding is right; None if it gave no answer."""
        return self.fact.is_right(self.greedy)

    @property
    def majority_right(self) -> bool | None:
        """Tell whether most samples are right; None if they gave no answer."""
        return self.fact.is_right(self.majority)


@dataclass(frozen=True)
class Truth:
    """Answers to facts.

    Attributes:
        answers: one a fact.
        samples: of each fact.
    """

    answers: Values[Answered]
    samples: Positive

    def group(self, name: str) -> list[Answered]:
        """The answers to facts of a kind."""
        return [one for one in self.answers if one.fact.group == name]

    @property
    def groups(self) -> list[str]:
        """The kinds of facts."""
        return list(dict.fromkeys(one.fact.group for one in self.answers))

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        greedy = [one.greedy_right for one in self.answers]
        silent = greedy.count(None)
        return (
            *(
                Check("greedy", right([one.greedy_right for one in group]), AT_LEAST, OFTEN, name)
                for name, group in ((name, self.group(name)) for name in self.groups)
            ),
            noted("all", right(greedy)),
            noted("silent", counted(silent / len(greedy), len(greedy))),
            noted("majority", right([one.majority_right for one in self.answers])),
            noted("agree", share([one.greedy == one.majority for one in self.answers])),
        )


def right(answers: Sequence[bool | None]) -> Figure:
    """The share of answers that are right; None is no answer."""
    return share([is_right for is_right in answers if is_right is not None])


class TruthExperiment(Experiment[Truth]):
    """Asks every fact greedily, and several times with draws.

    Args:
        model: what is asked.
        facts: what it is asked.
        samples: draws of each fact, at temperature 1.

    Raises:
        PromptError, SettingError: facts or settings out of range.
    """

    def __init__(self, model: LanguageModel, facts: Sequence[Fact], samples: int = 9) -> None:
        checked_range(msg("Samples"), samples, 1, MOST_SAMPLES)
        self._facts = checked_facts(model, facts)
        self._together = max(1, MOST_ROWS // (1 + samples))  # facts that are asked at once
        starts = range(0, len(self._facts), self._together)
        self._parts = [self._facts[start : start + self._together] for start in starts]
        super().__init__([float(len(asked)) for asked in self._parts])
        self._model, self._samples = model, samples
        self._answers: list[Answered] = []

    def _measure(self, part: int) -> None:
        ways = [SamplingSettings(temperature=0.0)]
        ways += [SamplingSettings(seed=seed) for seed in range(self._samples)]
        asked = self._parts[part]
        rows = [Row(fact.question, way, ANSWER_TOKENS) for fact in asked for way in ways]
        batch = Batch(self._model, rows)
        for _ in batch.run():
            pass
        words = [first_word(text.text)[:1000] for text in batch.texts]
        answers = []
        for place, fact in enumerate(asked):
            greedy, *drawn = words[place * len(ways) : (place + 1) * len(ways)]
            majority, votes = Counter(drawn).most_common(1)[0]
            answers.append(Answered(fact, greedy, majority, votes))
        self._answers[part * self._together :] = answers

    @property
    def result(self) -> Truth | None:
        if not self._answers:
            return None
        return Truth(tuple(self._answers), self._samples)

    def seconds(self, pace: Pace) -> float:
        texts = (1 + self._samples) * self._together
        return writing_seconds(pace, ANSWER_TOKENS, texts) * len(self._parts)
