"""Sample texts and experiments, as data."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Sample:
    """A text that tokenizers are tried with.

    Attributes:
        name: its language, or its content.
        text: the text.
        words: whether spaces separate its words.
        is_language: whether it says the same as the samples of all languages.
    """

    name: str
    text: str
    words: bool = True
    is_language: bool = False


@dataclass(frozen=True)
class Experiment:
    """A text to try, and a point to look at in it."""

    name: str
    text: str
    look: str


@cache
def samples() -> tuple[Sample, ...]:
    """The sample texts, languages first."""
    read = tomllib.loads((_HERE / "samples.toml").read_text("utf-8"))
    languages = (Sample(**one, is_language=True) for one in read["language"])
    return (*languages, *(Sample(**one) for one in read["other"]))


@cache
def experiments() -> tuple[Experiment, ...]:
    """The experiments, in the order of the page."""
    read = tomllib.loads((_HERE / "experiments.toml").read_text("utf-8"))
    return tuple(Experiment(**one) for one in read["experiment"])
