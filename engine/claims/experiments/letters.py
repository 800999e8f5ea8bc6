"""Rare words cost more tokens, which hide their letters: words are tokenized, then asked about.

A question consists of a few lines that show the task, then the word. The model answers with the
likeliest of all possible answers, by its exact probabilities. The control asks the same about words
that are spelled out, so that each letter is a separate token. A model that fails there cannot do
the task, so its other answers show nothing about what it sees.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_lowercase

import numpy as np

from engine.claims.claim import Claim, Table, Token
from engine.claims.experiment import Experiment
from engine.claims.inputs import Lines
from engine.claims.uncertainty import bootstrap, counted, mean, share
from engine.claims.verdict import ABOVE, Check, noted
from engine.errors import PromptError, msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling.ranking import RankedRow
from engine.study.likelihood import next_rows
from engine.values import Name, Row

COMMONS = "cat sun door food water mother little garden people house morning river friend summer"
RARES = "xylophone zugzwang quixotic yurt kumquat fjord sphinx obelisk wyvern ocelot narwhal vellum"
COMMON, RARE = "common", "rare"
GROUPS = {COMMON: msg("common words"), RARE: msg("rare words")}
MORE = msg("tokens of a word")  # the part of the experiment that is not a question
BETWEEN = "-"  # separates the letters of a spelled-out word
SHOWN = ("sun", "paper", "oak", "green", "it", "window")  # words of the example lines of a task
MOST_LETTERS = 9  # so that every answer is one character
_QUESTION_TOKENS = 40  # roughly, for the estimate


@dataclass(frozen=True)
class Task:
    """A question to ask about a word.

    Attributes:
        answers: all possible answers.
        right: returns the right answer for a word.
    """

    answers: tuple[str, ...]
    right: Callable[[str], str]

    def question(self, word: str, between: str = "") -> str:
        """Return the text before the answer; `between` separates the letters of words."""
        shown = "".join(f"{between.join(one)}={self.right(one)}\n" for one in SHOWN)
        return f"{shown}{between.join(word)}="


TASKS = {
    msg("first letter"): Task(tuple(ascii_lowercase), lambda word: word[0]),
    msg("last letter"): Task(tuple(ascii_lowercase), lambda word: word[-1]),
    msg("number of letters"): Task(
        tuple(map(str, range(1, MOST_LETTERS + 1))), lambda word: str(len(word))
    ),
}


@dataclass(frozen=True)
class Spelt:
    """A word, its tokens, and the model's answers.

    Attributes:
        group: `COMMON` or `RARE`.
        word: the word in lower case.
        tokens: labels of its tokens when a space precedes it.
        said: the likeliest answer by task, in the order of `TASKS`.
        right: by task, whether it is right.
        spelled_right: the same for the spelled-out word.
    """

    group: Name
    word: Name
    tokens: Row[Name]
    said: Row[Name]
    right: Row[bool]
    spelled_right: Row[bool]


@dataclass(frozen=True)
class Letters:
    """The words of an experiment, with the model's answers."""

    words: Row[Spelt]

    def guessed(self, task: str) -> float:
        """Return the accuracy of the best constant answer."""
        answers = Counter(TASKS[task].right(word.word) for word in self.words)
        return max(answers.values()) / len(self.words)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        checks = [
            Check("more", bootstrap(self.words, _more_tokens), ABOVE, 0.0, MORE),
            noted("common", bootstrap(_of(self.words, COMMON), _mean_tokens), MORE),
            noted("rare", bootstrap(_of(self.words, RARE), _mean_tokens), MORE),
        ]
        for place, task in enumerate(TASKS):
            pairs = [(word.spelled_right[place], word.right[place]) for word in self.words]
            hidden = mean([float(spelled) - float(whole) for spelled, whole in pairs])
            spelled, whole = (share(flags) for flags in zip(*pairs, strict=True))
            guessed = self.guessed(task)
            checks += [
                Check("hidden", hidden, ABOVE, 0.0, task),
                Check("spelled", spelled, ABOVE, guessed, task, is_condition=True),
                noted("right", whole, task),
                noted("guessed", counted(guessed, len(self.words)), task),
            ]
        return tuple(checks)


def _of(words: Sequence[Spelt], group: str) -> list[Spelt]:
    return [word for word in words if word.group == group]


def _mean_tokens(words: Sequence[Spelt]) -> float:
    return float(np.mean([len(word.tokens) for word in words])) if words else math.nan


def _more_tokens(words: Sequence[Spelt]) -> float:
    """Return how many more tokens rare words have on average; NaN if a group is empty."""
    return _mean_tokens(_of(words, RARE)) - _mean_tokens(_of(words, COMMON))


def letters(
    model: LanguageModel, common: Sequence[str], rare: Sequence[str]
) -> Experiment[Letters]:
    """Tokenize words of the letters a to z, and ask the model about the letters of each."""
    words = [
        *((COMMON, _checked(word)) for word in common),
        *((RARE, _checked(word)) for word in rare),
    ]
    if not common or not rare:
        raise PromptError("One kind of word is missing; type common and rare words.")
    vocabulary, tasks = model.vocabulary, TASKS.values()

    def look(one: tuple[str, str]) -> list[Spelt]:
        group, word = one
        tokens = tuple(vocabulary.label(one)[:200] for one in vocabulary.encode(f" {word}"))
        said, spelled = (
            tuple(_answer(model, task, task.question(word, between)) for task in tasks)
            for between in ("", BETWEEN)
        )
        right, spelled_right = (
            tuple(task.right(word) == one for task, one in zip(tasks, answers, strict=True))
            for answers in (said, spelled)
        )
        return [Spelt(group, word, tokens, said, right, spelled_right)]

    def seconds(pace: Pace) -> float:
        return pace.read_seconds(_QUESTION_TOKENS) * 2 * len(TASKS) * len(words)

    return Experiment(words, look, Letters, seconds, "word")


def _answer(model: LanguageModel, task: Task, question: str) -> str:
    """Return the likeliest answer, judging each by its first token."""
    encoded = [model.vocabulary.encode(answer) for answer in task.answers]
    (row,) = next_rows(model, question, [0])
    ranked = RankedRow(row)
    best = [ranked.logprob(ids[0]) if ids else -math.inf for ids in encoded]
    return task.answers[int(np.argmax(best))]


def _checked(word: str) -> str:
    """Return a word in lower case; raises `PromptError` if it is too long or not all a to z."""
    small = word.strip().lower()
    if not (1 <= len(small) <= MOST_LETTERS and set(small) <= set(ascii_lowercase)):
        problem = msg(
            "The word {word} is not 1 to {most_letters} letters from a to z",
            (repr(word), MOST_LETTERS),
        )
        raise PromptError("{problem}; leave it out or type another.", problem)
    return small


CLAIM = Claim(
    "letters",
    Letters,
    (
        Lines("common", msg("Common words, one per line"), COMMONS.replace(" ", "\n")),
        Lines("rare", msg("Rare words, one per line"), RARES.replace(" ", "\n")),
    ),
    letters,
    Table(
        msg("Words"),
        lambda result: result.words,
        {
            msg("word"): lambda word: word.word,
            msg("kind"): lambda word: GROUPS[word.group],
            msg("cut into"): lambda word: tuple(map(Token, word.tokens)),
            msg("tokens"): lambda word: len(word.tokens),
            **{
                msg("said: {task}", task): lambda word, place=place: word.said[place]
                for place, task in enumerate(TASKS)
            },
            msg("right answers"): lambda word: sum(word.right),
            msg("right answers, spelled out"): lambda word: sum(word.spelled_right),
        },
        about=msg("Every word is split with a space before it, as within a sentence."),
    ),
)
