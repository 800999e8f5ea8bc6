"""The table of samplers, as plain values for the browser.

Everything comes from the engine: each sampler's class has its name, effect and parameters. So a
new sampler is in the table, and on every page, as soon as it is in `DEFAULT_ORDER`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from engine.sampling import DEFAULT_ORDER, GROUPS, STAGES, BanStage, Number, Stage
from ui.words.glossary import glossary
from ui.words.language import language, say, speaking

_POINTS = {"raw": "logit", "renormalised": "softmax", "drawn": "draw"}  # glossary entries
_SHORT = {"temperature": "T", "top_p": "p", "top_k": "k"}


def setting_name(setting: str) -> str:
    """Return a sampler's label, or any other setting's name with a capital: ``Top-p``, ``Seed``."""
    if setting in STAGES:
        return say(STAGES[setting].info.label)
    return say("None") if setting == "none" else setting.capitalize()


def short_setting_name(setting: str) -> str:
    """Return a sampler's short name, for narrow places: ``p``, ``repetition penalty``."""
    return _SHORT.get(setting) or say(STAGES[setting].info.in_text)


# Fields of a sampler, a group or a preset that a page shows.
WORDED = frozenset(
    {"label", "in_text", "about", "idle", "says", "note", "words"},
)


def table() -> dict[str, Any]:
    """Return the table in the current language as plain JSON values; callers must not change it."""
    return _table(language())


@cache
def _table(code: str) -> dict[str, Any]:
    def said(value: Any, worded: bool) -> Any:
        if isinstance(value, str):
            return say(value) if worded and value else value
        if isinstance(value, list | tuple):
            return [said(one, worded) for one in value]
        if isinstance(value, dict):
            return {key: said(one, worded or key in WORDED) for key, one in value.items()}
        return value

    with speaking(code):
        return said(english_table(), worded=False)


@cache
def english_table() -> dict[str, Any]:
    """Return the table in English.

    Keys:
        samplers: one entry each, in the default order; see `sampler`.
        groups: name and label of each group of samplers, in the order in which they are offered.
        order: names of the samplers in the order in which they apply by default.
        points: descriptions of the points of the loop that are not samplers, by name.
    """
    return {
        "samplers": [sampler(kind) for kind in DEFAULT_ORDER],
        "groups": [{"name": name, "label": label} for name, label in GROUPS.items()],
        "order": [kind.setting for kind in DEFAULT_ORDER],
        "points": {name: glossary()[key]["text"] for name, key in _POINTS.items()},
    }


def sampler(kind: type[Stage]) -> dict[str, Any]:
    """Return one sampler's entry: the fields of its `Info`, and values that follow from its class.

    Of those values, `value` is the shape of its setting (see `value_shape`). `off` is the value
    that switches it off (None unless it is one number). `removes_only` marks edits that only remove
    tokens.
    """
    info = kind.info
    paper = {"text": info.paper.text, "url": info.paper.url} if info.paper else None
    return {
        "name": kind.setting,
        "label": info.label,
        "in_text": info.in_text,
        "kind": kind.kind,
        "removes_only": issubclass(kind, BanStage),
        "group": info.group,
        "value": value_shape(kind.setting),
        "off": kind.off if kind.is_one_number() else None,
        "about": info.about,
        "formula": info.formula,
        "paper": paper,
        "idle": info.idle,
        "numbers": [_number(number) for number in info.numbers],
        "pair": list(info.pair) if info.pair else None,
        "picture": info.picture,
        "says": dict(info.says),
        "note": dict(info.note),
    }


# By the type of a sampler's only field, if that is not a number.
_SHAPES = {
    "tuple[tuple[int, float], ...]": "biases",
    "tuple[tuple[int, ...], ...]": "sequences",
}


def value_shape(name: str) -> str:
    """Return the kind of value that a sampler has while it is on.

    ``number``, ``numbers``; ``biases`` and ``sequences``, lists of [token id, bias] and of lists of
    token ids; ``source``, a text in a language.
    """
    if STAGES[name].is_one_number():
        return "number"
    types = [item.type for item in fields(STAGES[name])]
    if types[:1] == ["str"]:
        return "source"
    return _SHAPES[types[0]] if len(types) == 1 else "numbers"


def _number(number: Number) -> dict[str, Any]:
    return {
        "name": number.name,
        "label": number.label,
        "low": number.low,
        "high": number.high,
        "step": number.step,
        "usual": number.usual,
        "whole": number.whole,
        "words": _texts(number.words),
    }


def _texts(words: Mapping[float, str]) -> dict[str, str]:
    return {f"{value:g}": word for value, word in words.items()}  # JSON allows only strings as keys
