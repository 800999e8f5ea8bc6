"""Questions with one-word answers, for claims about a model's knowledge."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engine.claims.experiment import checked_prompts
from engine.claims.inputs import Text
from engine.errors import PromptError, SettingError, msg
from engine.model import LanguageModel
from engine.values import Name, Row, Wrong, convert

FILE = Path(__file__).resolve().parents[2] / "lessons" / "facts.toml"
KINDS = msg("capitals"), msg("everyday"), msg("world")  # of facts, in that file
MOST_FACTS = 400
IS_RIGHT = {True: msg("yes"), False: msg("no"), None: msg("no answer")}
ANSWER_TOKENS = 5  # maximum for a word
# English words that answer no such question by themselves: "the" may follow "stand in".
_NO_ANSWER = re.compile(
    "(a|about|all|also|always|an|and|any|are|as|at|be|been|but|by|called|can|do|for|from|had|has|"
    "have|he|her|his|how|i|if|in|into|is|it|its|just|known|made|more|most|my|no|not|of|often|on|"
    "or|our|out|she|so|some|still|such|that|the|their|them|then|there|these|they|this|to|used|"
    "very|was|we|were|what|when|where|which|who|will|with|would|you|your)?"
)
_WORD = re.compile(r"\s*([\w'’-]+)")


@dataclass(frozen=True)
class Fact:
    """A text that one word completes.

    Attributes:
        group: kind of fact; claims report each kind separately.
        question: the text before that word.
        answers: the right words.
    """

    group: Name
    question: Name
    answers: Row[Name]

    def is_right(self, word: str) -> bool | None:
        """Return whether a word is right, ignoring case; None if it is not an answer."""
        small = word.casefold()
        if small in {answer.casefold() for answer in self.answers}:
            return True
        return None if _NO_ANSWER.fullmatch(small) else False


class Facts(Text):
    """Facts as text in the format of `FILE`; an empty text means the facts of that file."""

    def value(self, typed: str) -> list[Fact]:
        """Parse the facts."""
        try:
            data = convert(tomllib.loads(typed or known_facts()), dict[Name, dict[Name, Row[Name]]])
        except (tomllib.TOMLDecodeError, Wrong) as error:
            remedy = msg('write each as in "Grass is" = ["green"], below a kind such as [colours]')
            raise SettingError(msg("Facts"), typed[:40], "cannot be read", remedy) from error
        return [Fact(kind, *fact) for kind, facts in data.items() for fact in facts.items()]


FACTS = Facts(
    "facts",
    msg("Facts; empty for the usual ones"),
    "",
    msg("A kind of fact in brackets; below it each fact, and the words that are right."),
)


@cache
def known_facts() -> str:
    """Return the text of `FILE`."""
    return FILE.read_text("utf-8")


def kind_name(group: str) -> str:
    """Return the display name of a kind of fact; a visitor's own kind stays as typed."""
    return msg(group) if group in KINDS else group


def first_word(text: str) -> str:
    """Return the first word of a text; empty if the text does not begin with one."""
    found = _WORD.match(text)
    return found.group(1) if found else ""


def checked_facts(model: LanguageModel, facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts after checking that the model can be asked about them.

    Raises:
        PromptError: there are no facts, or too many; a question or an answer is empty.
        SettingError: a question is longer than the context.
    """
    if not 1 <= len(facts) <= MOST_FACTS:
        raise PromptError(
            "There are {facts:,} facts; give 1 to {most_facts}.", (len(facts), MOST_FACTS)
        )
    for fact in facts:
        if not fact.answers or not all(map(str.strip, fact.answers)):
            raise PromptError(
                "The fact {question} has no answer; give at least one word.", repr(fact.question)
            )
    checked_prompts(model, [fact.question for fact in facts], ANSWER_TOKENS)
    return list(facts)
