"""The models to compare: the loaded one, named shapes, and one added by the visitor."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from engine.cache_formula import CacheFormula
from engine.calculator import HALF, Described, Estimate, estimate
from engine.errors import DecodingError
from engine.model import LanguageModel, formula_of
from ui.jobs import COUNTS, UNKNOWN, Call, Owner
from ui.models.choice import Choice
from ui.models.chooser import check_allowed
from ui.shell.work import owner
from ui.words.errors import told
from ui.words.language import marked

GRACE_SECONDS = 0.3  # for which drawing waits, as counts may be nearly finished
MOST = 64  # models whose counts are kept

_lock = threading.Lock()
_counts: OrderedDict[tuple[str, ...], Call[Estimate]] = OrderedDict()


def counted(models: Sequence[Described], owner: Owner = UNKNOWN) -> list[Call[Estimate]]:
    """Estimate each model's size; slow estimates continue in the background.

    A deep model takes seconds. Equal configurations are counted once per process.
    """
    found = [_count(model, owner) for model in models]
    end = time.monotonic() + GRACE_SECONDS
    for count in found:
        count.wait(max(0.0, end - time.monotonic()))
    return found


def _count(model: Described, owner: Owner) -> Call[Estimate]:
    fields = json.dumps(model.config.to_dict(), sort_keys=True, default=str)
    key = (model.name, model.source, fields, *model.notices)
    with _lock:
        if key not in _counts:
            count = Call("", partial(estimate, model), COUNTS, is_told=False)
            _counts[key] = count.start(owner)
        _counts.move_to_end(key)
        while len(_counts) > MOST:
            _counts.popitem(last=False)
        return _counts[key]


LOADED = marked("configuration of the loaded model")  # translated when shown
FOLDER, HUB, PASTED = "folder", "hub", "pasted"
OWN = {  # ways to specify an additional model, with the page's names
    "": marked("No other model"),
    PASTED: marked("Paste its config.json"),
    FOLDER: marked("A folder on this computer"),
    HUB: marked("A hub id in the cache"),
}


@dataclass(frozen=True)
class Compared:
    """The estimates so far.

    Attributes:
        models: the finished estimates, in the order of the page.
        to_come: names of the models whose weights are still being counted.
        problem: why models are left out; empty if none are.
    """

    models: tuple[Estimate, ...]
    to_come: tuple[str, ...]
    problem: str


def compared(model: LanguageModel | None, shapes: list[str], own: str, text: str) -> Compared:
    """Return the estimate for each model, the loaded one first.

    Args:
        model: the loaded model, None to leave it out.
        shapes: names of well-known models.
        own: the kind of additional model, a key of `OWN`.
        text: its configuration, folder or hub id.
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
    """Return the formula of a well-known model's cache, at 16 bits per value."""
    return formula_of(_named(name).config, HALF)


@lru_cache(maxsize=8)
def _loaded(model: LanguageModel) -> Described:
    return Described(model.name, LOADED, model.hf.config)


@lru_cache(maxsize=64)
def _named(name: str) -> Described:
    return Described.named(name)


def _own(kind: str, text: str) -> Described:
    if kind == PASTED:
        return _pasted(text)
    text = text.strip()
    if kind == FOLDER:
        folder = os.path.abspath(os.path.expanduser(text))
        check_allowed(Choice(folder))
        return Described.in_folder(folder)
    check_allowed(Choice(text))
    return Described.in_hub_cache(text)


@lru_cache(maxsize=16)
def _pasted(text: str) -> Described:
    return Described.pasted(text)
