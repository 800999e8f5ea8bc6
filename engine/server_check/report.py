"""All findings of a server as one file: JSON, or Markdown for a bug report."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from engine.backend.server_model import ServerModel
from engine.server_check.check import Plan
from engine.server_check.finding import AS_EXPECTED, DIFFERS, OPEN, Cell, Finding, Sheet, TokenText
from engine.values import plain

FORMAT, VERSION = "decoding-visualiser-server-check", 1
_SIGNS = {AS_EXPECTED: "✓", DIFFERS: "✗", OPEN: "?"}


def is_on_server(model: object) -> bool:
    """Return whether a model is on a server, so that it can be checked."""
    return isinstance(model, ServerModel)


def report_json(
    facts: Mapping[str, Any], plan: Plan, other: str | None, findings: Mapping[str, Finding]
) -> str:
    """Return the findings with all figures as JSON text, in English.

    Args:
        facts: the server's account of itself (`ServerModel.facts`); its address is left out.
        plan: what was asked.
        other: name of the other engine's model.
        findings: the findings by check.
    """
    checks = {
        key: {
            "title": str(found.title),
            "outcome": found.outcome,
            "sentences": [str(each) for each in found.sentences],
            "figures": plain(found),
        }
        for key, found in findings.items()
    }
    data = {
        "format": FORMAT,
        "version": VERSION,
        "server": _reported(facts),
        "plan": plain(plan),
        "other": other,
        "checks": checks,
    }
    content = json.dumps(_finite(data), indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    return _without_address(content, facts)


def report_markdown(
    facts: Mapping[str, Any], plan: Plan, other: str | None, findings: Mapping[str, Finding]
) -> str:
    """Return the findings as Markdown, in English; the arguments are those of `report_json`."""
    about = [(name.replace("_", " "), value) for name, value in plain(plan).items()]
    about += [("other engine", other)] if other else []
    head = ("fact", "value")
    all_facts = [*_reported(facts).items(), *about]
    rows = tuple((str(name), _plain_cell(value)) for name, value in all_facts)
    parts = [f"# Server check: {_escaped(str(facts.get('name', '')))}"]
    parts.append(_table(Sheet("Server and plan", head, rows)))
    for found in findings.values():
        parts.append(f"## {_SIGNS[found.outcome]} {found.title}: {found.outcome}")
        parts.append("\n".join(f"- {_escaped(str(each))}" for each in found.sentences))
        parts += [_table(sheet) for sheet in found.sheets]
    return _without_address("\n\n".join(parts) + "\n", facts)


def _reported(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts without the address, as a bug report is public."""
    return {name: value for name, value in facts.items() if name != "source"}


def _without_address(content: str, facts: Mapping[str, Any]) -> str:
    """Return a report without the server's address, which errors name, escaped or not."""
    address = str(facts.get("source") or "")
    for each in filter(None, {address, _escaped(address)}):
        content = content.replace(each, "the server")
    return content


def _table(sheet: Sheet) -> str:
    lines = [sheet.head, ("---",) * len(sheet.head), *sheet.rows]
    body = "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)
    return f"**{sheet.name}**\n\n{body}"


def _cell(value: Cell) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, TokenText):
        return _escaped(value.quoted)
    return _escaped(f"{value:,}" if isinstance(value, int) else value)


def _plain_cell(value: object) -> Cell:
    return value if isinstance(value, int | float | None) else str(value)


def _escaped(text: str) -> str:
    """Return a text on one line, without signs that Markdown or HTML would read."""
    line = " ".join(text.split())
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>#|" else sign for sign in line)


def _finite(value: Any) -> Any:
    """Return plain values with None for numbers that JSON lacks."""
    if isinstance(value, Mapping):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
