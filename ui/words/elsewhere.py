"""Sentences that stand in no call of `say` or `marked`: in files of data, and in the engine.

They are read at import, in English, and given to `say` where they are shown, as marked ones are.
Here they are found for the files of translations, so a changed sentence is one to be translated.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from engine.sampling.presets import PRESETS
from ui.words.catalogue import WORDED, english_table

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "engine"
NAMED_WAYS = "measure/roofline/ceilings.py"
NAMED = {"number": (0,), "Number": (1, 3), "Layer": (0,), "Ceiling": (1,)}  # their arguments
FILES = {  # of data -> the keys under which, at any depth, words for reading stand
    "lessons/claims.toml": {
        *("topic", "name", "claim", "experiment", "overturned", "measured", "each", "unmet"),
    },
    "ui/tokens/experiments.toml": {"name", "look"},
    "ui/tokens/samples.toml": {"name"},
}


def sentences_elsewhere() -> Iterator[str]:
    """All of them, in English."""
    yield from read_of(english_table(), WORDED)
    yield from PRESETS
    yield from reasons()
    yield from words_of_caches()
    for file, keys in FILES.items():
        yield from read_of(tomllib.loads((ROOT / file).read_text("utf-8")), keys)


def read_of(value: Any, keys: Collection[str], is_read: bool = False) -> Iterator[str]:
    """The texts of some data that are read: all that stand, however deep, under one of the keys."""
    if isinstance(value, str) and is_read and value:
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from read_of(one, keys, is_read)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from read_of(one, keys, is_read or key in keys)


def reasons() -> Iterator[str]:
    """Why a sampler has no effect: the fixed texts of the engine's functions of these names."""
    for file in sorted((ENGINE / "sampling/stages").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name in ("no_effect", "_remarks"):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                yield from fixed_texts(body)


def fixed_texts(parts: Iterable[ast.AST]) -> Iterator[str]:
    """The texts of some code that hold no figures."""
    for part in parts:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif not isinstance(part, ast.JoinedStr):
            yield from fixed_texts(ast.iter_child_nodes(part))


def words_of_caches() -> Iterator[str]:
    """What the engine calls layers, their numbers, ways to store them and to measure a machine."""
    from engine.calculator.storages import AS_DECLARED, CACHE_STORAGES, WEIGHT_STORAGES
    from engine.model.cache_layers import attention
    from engine.model.quantised import AXES

    yield from (attention.FULL, attention.SLIDING, attention.CHUNKED, attention.LATENT)
    yield from (AS_DECLARED, *AXES)
    for storage in (*CACHE_STORAGES.values(), *WEIGHT_STORAGES.values()):
        yield from (storage.name, storage.about)
    folders = (ENGINE / "calculator", ENGINE / "model/cache_layers")
    for file in (*(file for one in folders for file in one.glob("*.py")), ENGINE / NAMED_WAYS):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                wanted = NAMED.get(called, ())
                some = [node.args[at] for at in wanted if at < len(node.args)]
                yield from fixed_texts(one for one in some if isinstance(one, ast.Constant))
