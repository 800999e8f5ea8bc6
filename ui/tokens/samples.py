"""Sample texts and experiments, read from TOML files."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Sample:
    """A sample text for comparing tokenizers.

    Attributes:
        name: its language, or its content.
        text: the text.
        words: whether spaces separate its words.
        is_language: whether it is a translation of the text that all languages share.
    """

    name: str
    text: str
    words: bool = True
    is_language: bool = False


@dataclass(frozen=True)
class Experiment:
    """A text to try, and a sentence on what to look at in its tokens."""

    name: str
    text: str
    look: str


@cache
def samples() -> tuple[Sample, ...]:
    """Load the sample texts, languages first."""
    read = tomllib.loads((_HERE / "samples.toml").read_text("utf-8"))
    languages = (Sample(**one, is_language=True) for one in read["language"])
    return (*languages, *(Sample(**one) for one in read["other"]))


@cache
def experiments() -> tuple[Experiment, ...]:
    """Load the experiments, in the order of the page."""
    read = tomllib.loads((_HERE / "experiments.toml").read_text("utf-8"))
    return tuple(Experiment(**one) for one in read["experiment"])
