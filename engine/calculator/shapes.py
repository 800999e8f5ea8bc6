"""Well-known models by the fields of their configuration; the list is `shapes.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("shapes.toml")


@dataclass(frozen=True)
class Shape:
    """A model without its weights.

    Attributes:
        name: for the screen.
        source: where its fields are published.
        parameters: the published count of its weights.
        declared: the fields, as config.json has them.
    """

    name: str
    source: str
    parameters: int
    declared: dict[str, Any]


@cache
def shapes() -> dict[str, Shape]:
    """All of them by name, in the order of the file."""
    entries = tomllib.loads(_FILE.read_text("utf-8"))["shape"]
    made = (
        Shape(
            entry["name"],
            entry["source"],
            entry["parameters"],
            entry["config"] | dict.fromkeys(entry.get("null", ())),
        )
        for entry in entries
    )
    return {shape.name: shape for shape in made}
