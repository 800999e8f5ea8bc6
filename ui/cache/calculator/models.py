"""The models that a visitor compares: the loaded one, named shapes, one of their own."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

from engine.cache_formula import CacheFormula
from engine.calculator import sources
from engine.calculator.estimate import HALF, Estimate
from engine.calculator.sources import Described
from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.model.cache_layers import formula_of
from ui.cache.calculator.counting import counted
from ui.models.chooser import Choice, check_allowed
from ui.skeleton.work import owner
from ui.words.language import marked
from ui.words.refusals import told

LOADED = marked("configuration of the loaded model")  # said where it is shown
FOLDER, HUB, PASTED = "folder", "hub", "pasted"
OWN = {  # what else a visitor may add, by what the page calls it
    "": marked("None"),
    PASTED: marked("Paste its config.json"),
    FOLDER: marked("A folder on this computer"),
    HUB: marked("A hub id in the cache"),
}


@dataclass(frozen=True)
class Compared:
    """What is known of the models so far.

    Attributes:
        models: that are computed, in the order of the page.
        to_come: names of those whose weights are still counted.
        problem: why some are left out; empty where none is.
    """

    models: tuple[Estimate, ...]
    to_come: tuple[str, ...]
    problem: str


def compared(model: LanguageModel | None, shapes: list[str], own: str, text: str) -> Compared:
    """What is computed of each, the loaded model first.

    Args:
        model: the loaded model, None to leave it out.
        shapes: names of shapes.
        own: a key of `OWN`.
        text: the configuration, folder or hub id.
    """
    described, models, to_come, problems = [], [], [], []
    for begin in (
        *([lambda: _loaded(model)] if model is not None else []),
        *(lambda name=name: _named(name) for name in shapes),
        *([lambda: _own(own, text)] if own and text.strip() else []),
    ):
        try:
            described.append(begin())
        except DecodingError as error:
            problems.append(told(error))
    for one, count in zip(described, counted(described, owner()), strict=True):
        if count.is_running:
            to_come.append(one.name)
        elif isinstance(count.failure, DecodingError):
            problems.append(told(count.failure))
        elif count.failure is not None:
            raise count.failure
        else:
            models.append(count.result)
    return Compared(tuple(models), tuple(to_come), " ".join(problems))


def formula_of_shape(name: str) -> CacheFormula:
    """The formula of a well-known model's cache, in 16 bits a value; no weights are counted."""
    return formula_of(_named(name).config, HALF)


@lru_cache(maxsize=8)
def _loaded(model: LanguageModel) -> Described:
    return Described(model.name, LOADED, model.hf.config)


@lru_cache(maxsize=64)
def _named(name: str) -> Described:
    return sources.named(name)


def _own(kind: str, text: str) -> Described:
    if kind == PASTED:
        return _pasted(text)
    text = text.strip()
    if kind == FOLDER:
        folder = os.path.abspath(os.path.expanduser(text))
        check_allowed(Choice(folder))
        return sources.in_folder(folder)
    check_allowed(Choice(text))
    return sources.in_hub_cache(text)


@lru_cache(maxsize=16)
def _pasted(text: str) -> Described:
    return sources.pasted(text)
