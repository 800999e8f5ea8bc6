"""The models that a visitor compares: the loaded one, named shapes, one of their own."""

from __future__ import annotations

import os
from functools import lru_cache

from engine.calculator import sources
from engine.calculator.estimate import Estimate, estimate
from engine.errors import DecodingError
from engine.model import LanguageModel
from ui.models.chooser import Choice, check_allowed
from ui.words.catalogue import told

FOLDER, HUB, PASTED = "folder", "hub", "pasted"
OWN = {  # what else a visitor may add, by what the page calls it
    "": "Nothing else",
    PASTED: "A pasted config.json",
    FOLDER: "A folder on this computer",
    HUB: "A hub id in the cache",
}


def estimates(
    model: LanguageModel | None, shapes: list[str], own: str, text: str
) -> tuple[list[Estimate], str]:
    """What is computed of each, the loaded model first; and why one of them is left out.

    Args:
        model: the loaded model, None to leave it out.
        shapes: names of shapes.
        own: a key of `OWN`.
        text: the configuration, folder or hub id.
    """
    found, problems = [], []
    for begin in (
        *([lambda: _loaded(model)] if model is not None else []),
        *(lambda name=name: of_shape(name) for name in shapes),
        *([lambda: _own(own, text)] if own and text.strip() else []),
    ):
        try:
            found.append(begin())
        except DecodingError as error:
            problems.append(told(error))
    return found, " ".join(problems)


@lru_cache(maxsize=8)
def _loaded(model: LanguageModel) -> Estimate:
    source = "configuration of the loaded model"
    return estimate(sources.Described(model.name, source, model.hf.config))


@lru_cache(maxsize=64)
def of_shape(name: str) -> Estimate:
    """A well-known model, by its name in `shapes`."""
    return estimate(sources.named(name))


def _own(kind: str, text: str) -> Estimate:
    if kind == PASTED:
        return _pasted(text)
    text = text.strip()
    if kind == FOLDER:
        folder = os.path.abspath(os.path.expanduser(text))
        check_allowed(Choice(folder))
        return estimate(sources.in_folder(folder))
    check_allowed(Choice(text))
    return estimate(sources.in_hub_cache(text))


@lru_cache(maxsize=16)
def _pasted(text: str) -> Estimate:
    return estimate(sources.pasted(text))
