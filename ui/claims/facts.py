"""The facts that claims ask for, from `lessons/facts.toml`, and as a person changes them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engine.claims.facts import Fact
from engine.errors import SettingError
from ui.claims.inputs import ClaimInputs
from ui.labs import fields
from ui.measurements.held import Held
from ui.words.language import marked, say

FILE = Path(__file__).resolve().parents[2] / "lessons" / "facts.toml"
REMEDY = marked('write each as in "Grass is" = ["green"], below a kind such as [colours]')


@cache
def known_facts() -> str:
    """The text of the file."""
    return FILE.read_text("utf-8")


@dataclass(frozen=True)
class FactsInputs(ClaimInputs):
    """Inputs of a claim whose experiment asks facts.

    Attributes, besides the prediction:
        facts: as `lessons/facts.toml` has them; empty for those.
    """

    facts: str = ""


def facts_of(text: str) -> list[Fact]:
    """The facts of a text, or of the file where it is empty.

    Raises:
        SettingError: the text is no table of facts.
    """
    try:
        data = tomllib.loads(text or known_facts())
        return [
            Fact(kind, question, tuple(_texts(answers)))
            for kind, entries in data.items()
            for question, answers in entries.items()
        ]
    except (tomllib.TOMLDecodeError, AttributeError, TypeError) as error:
        raise SettingError(say("Facts"), text[:40], say("cannot be read"), say(REMEDY)) from error


def _texts(answers: object) -> list[str]:
    if not isinstance(answers, list) or not all(isinstance(one, str) for one in answers):
        raise TypeError("answers are a list of texts")
    return answers


def facts_field(held: Held) -> None:
    """The field that changes the facts; while it is empty, it shows those of the file."""
    fields.text(
        held,
        "facts",
        say("Facts; empty for the usual ones"),
        height=150,
        placeholder=known_facts()[:600],
        help=say("A kind of fact in brackets; below it each fact, and the words that are right."),
    )
