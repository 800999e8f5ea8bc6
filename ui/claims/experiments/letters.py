"""The claim that rare words cost more tokens, and that letters hide in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from engine.claims.experiments.letters import (
    COMMON,
    RARE,
    TASKS,
    Letters,
    LettersExperiment,
    Spelt,
)
from engine.claims.uncertainty import counted, share
from engine.model import LanguageModel
from ui.claims.charts import dots_figure, intervals_figure
from ui.claims.claim import claim
from ui.claims.inputs import ClaimInputs, lines
from ui.claims.words import part_said
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart, sheet
from ui.measurements.section import Shown, Table
from ui.words.labels import token_label
from ui.words.language import marked, say

ANSWERS: dict[str, Callable[[Spelt], tuple[bool, ...]]] = {
    marked("the whole word"): lambda word: word.right,
    marked("spelled out"): lambda word: word.spelled_right,
}
GROUPS = {COMMON: marked("common words"), RARE: marked("rare words")}
COMMONS = "cat sun door food water mother little garden people house morning river friend summer"
RARES = "xylophone zugzwang quixotic yurt kumquat fjord sphinx obelisk wyvern ocelot narwhal vellum"


@dataclass(frozen=True)
class LettersInputs(ClaimInputs):
    """The words.

    Attributes, besides the prediction:
        common, rare: words, one a line.
    """

    common: str = COMMONS.replace(" ", "\n")
    rare: str = RARES.replace(" ", "\n")


def _experiment(model: LanguageModel, inputs: LettersInputs) -> LettersExperiment:
    return LettersExperiment(model, lines(inputs.common), lines(inputs.rare))


def _fields(held: Held) -> None:
    fields.text(held, "common", say("Common words, one a line"), height=150)
    fields.text(held, "rare", say("Rare words, one a line"), height=150)


def _picture(result: Letters, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            f"{shown.name}_tokens",
            say("Tokens of each word"),
            say("Every word is cut with a space before it, as it stands within a sentence."),
            dots_figure(
                {
                    say(name): [(word.word, len(word.tokens)) for word in result.group(group)]
                    for group, name in GROUPS.items()
                },
                say("tokens"),
                shown.dark,
                shares=False,
            ),
        )
        chart(
            f"{shown.name}_right",
            say("Right answers"),
            say(
                "Letters hide where spelled-out words do better than whole ones, and better than "
                "the best single answer. Whiskers are 95 %."
            ),
            intervals_figure(
                {
                    say(name): [
                        (part_said(task), share([right(word)[place] for word in result.words]))
                        for place, task in enumerate(TASKS)
                    ]
                    for name, right in ANSWERS.items()
                }
                | {
                    say("the best single answer"): [
                        (part_said(task), counted(result.guessed(task), len(result.words)))
                        for task in TASKS
                    ],
                },
                say("right answers"),
                shown.dark,
            ),
        )
    with st.expander(say("The words")):
        sheet(_words(result))


def _words(result: Letters) -> Table:
    rows = [
        (
            word.word,
            say(GROUPS[word.group]),
            " ".join(map(token_label, word.tokens)),
            len(word.tokens),
            *word.said,
            sum(word.right),
            sum(word.spelled_right),
        )
        for word in result.words
    ]
    head = (
        say("word"),
        say("kind"),
        say("cut into"),
        say("tokens"),
        *(say("said: {task}", task=part_said(task)) for task in TASKS),
        say("right answers"),
        say("right answers, spelled out"),
    )
    return Table(say("Words"), head, rows)


SECTION = claim(
    "letters",
    inputs=LettersInputs,
    result=Letters,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (_words(result),),
)
