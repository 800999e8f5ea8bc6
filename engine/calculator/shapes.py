"""Well-known models, given by their configuration; the list is `shapes.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from engine.calculator.cited import citation

_FILE = Path(__file__).with_name("shapes.toml")


@dataclass(frozen=True)
class Shape:
    """The configuration of a well-known model, without weights.

    Attributes:
        name: display name.
        source: where its fields are published.
        address: where the fields that its cache depends on were compared.
        checked: the day of that comparison.
        parameters: the published count of its weights; None if none was found.
        declared: the fields as in config.json.
    """

    name: str
    source: str
    address: str
    checked: date
    parameters: int | None
    declared: dict[str, Any]

    @property
    def cited(self) -> str:
        """Citation of its fields, and of the source that they were compared with."""
        return (
            f"{self.source}; compared with {citation('another source', self.address, self.checked)}"
        )


@cache
def known_shapes() -> dict[str, Shape]:
    """Return all shapes by name, in the order of the file."""
    entries = tomllib.loads(_FILE.read_text("utf-8"))["shape"]
    made = (
        Shape(
            entry["name"],
            entry["source"],
            entry["address"],
            entry["checked"],
            entry.get("parameters"),
            entry["config"] | dict.fromkeys(entry.get("null", ())),
        )
        for entry in entries
    )
    return {shape.name: shape for shape in made}
