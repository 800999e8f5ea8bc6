"""The field's terms with two sentences each, from `lessons/glossary.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TypedDict

FILE = Path(__file__).resolve().parents[2] / "lessons" / "glossary.toml"


class Term(TypedDict):
    """A term as it stands in a heading, and what it means."""

    name: str
    text: str


@cache
def glossary() -> dict[str, Term]:
    """All terms by the key that pages write."""
    return tomllib.loads(FILE.read_text("utf-8"))


def meaning(key: str) -> str:
    """What a term means, for the `help` of a field; raises `KeyError` for an unknown one."""
    return glossary()[key]["text"]
