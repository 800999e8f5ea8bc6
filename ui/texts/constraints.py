"""Example constraints, each with a prompt that suits it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from engine.grammar import PERSON, PERSON_PROMPT
from engine.sampling import Constraint, SamplingSettings
from ui.words.language import marked

NOTHING = "", ""  # language and source that mean no constraint

MOVE = {
    "type": "object",
    "properties": {
        "move": {"enum": ["north", "south", "east", "west"]},
        "steps": {"type": "integer", "minimum": 1, "maximum": 9},
        "run": {"type": "boolean"},
    },
    "required": ["move", "steps"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Example:
    """An example constraint and its prompt.

    Attributes:
        name: a description in a few words, marked.
        language, source: of the constraint, see `engine.grammar`.
        prompt: the text to continue from.
    """

    name: str
    language: str
    source: str
    prompt: str


EXAMPLES = (
    Example(
        marked("A person as JSON"),
        "json_schema",
        PERSON,
        PERSON_PROMPT,
    ),
    Example(
        marked("A move in a game"), "json_schema", json.dumps(MOVE, indent=1), "The next move is\n"
    ),
    Example(
        marked("How the dog was"),
        "choices",
        json.dumps([" happy", " sad", " very tired", " lost"]),
        "The little dog was",
    ),
    Example(
        marked("Yes or no"), "choices", json.dumps([" yes", " no"]), "Are cats animals? Answer:"
    ),
    Example(
        marked("A month and a year"),
        "regex",
        " (January|May|June|August) [12][0-9]{3}\\.",
        "The war ended in",
    ),
    Example(marked("A small number"), "regex", " [0-9]{1,2}", "Question: What is 12 + 5?\nAnswer:"),
    Example(
        marked("A tiny tale"),
        "lark",
        'start: ", " who " " what "."\n'
        'who: "a " ("cat" | "dog" | "king" | "girl")\n'
        'what: "saw " who | "ran to " who | what " and " what',
        "Once upon a time",
    ),
    Example(
        marked("A shopping list"),
        "lark",
        'start: item{3}\nitem: "- " /[a-z ]{3,16}/ "\\n"',
        "Things to buy:\n",
    ),
)
FIRST = {  # the first example of each language
    language: next(each for each in EXAMPLES if each.language == language)
    for language in ("choices", "regex", "json_schema", "lark")
}


def constraint_of(language: str, source: str) -> Constraint | None:
    """Return the constraint typed into a field; None for `NOTHING`.

    Raises:
        SettingError: the source is invalid.
    """
    return None if language == NOTHING[0] else Constraint(language, source)


def typed_of(settings: SamplingSettings) -> tuple[str, str]:
    """Return the language and source of the settings' constraint; `NOTHING` if there is none."""
    constraint = settings.stage(Constraint.setting)
    return NOTHING if constraint is None else (constraint.language, constraint.source)
