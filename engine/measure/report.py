"""Measurements of one machine and model, written to and read from one JSON file.

    {"format": "decoding-visualiser-measurement", "version": 1,
     "setting": {"machine": {...}, "model": ..., "dtype": ..., "threads": ..., "date": ...},
     "parts": {"with_and_without": {...}, ...}}

A file may come from anywhere: its size is bounded, and every value's type and range is checked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Raw, Struct

from engine.errors import MeasurementError, msg
from engine.measure.machine import Setting
from engine.values import NoJson, Wrong, decode, plain, short

FORMAT = "decoding-visualiser-measurement"
VERSION = 1
MOST_BYTES = 2**20
REMEDY = msg("choose a measurement saved by this app")


class _File(Struct):
    format: Raw = Raw()
    version: Raw = Raw()
    setting: Raw = Raw(b"null")
    parts: Raw = Raw(b"null")


@dataclass(frozen=True)
class Report:
    """Measurements of one machine.

    Attributes:
        setting: the machine, the model and the date.
        parts: results by section; dataclasses whose fields describe their valid values
            (`engine.values`).
    """

    setting: Setting
    parts: Mapping[str, Any]

    def to_json(self) -> str:
        """Return the report as the text of a JSON file."""
        data = {
            "format": FORMAT,
            "version": VERSION,
            "setting": plain(self.setting),
            "parts": {name: plain(part) for name, part in self.parts.items()},
        }
        return json.dumps(data, allow_nan=False, indent=1)

    @classmethod
    def from_json(cls, text: str, kinds: Mapping[str, type]) -> Report:
        """Parse a file's text; the inverse of `to_json`.

        Args:
            text: the file's text.
            kinds: the dataclass of each part. Parts not named here are skipped, since another
                version of the app may have more parts.

        Raises:
            MeasurementError: the file is too large, not a measurement, damaged, or from a newer
                version.
        """
        if len(text) > MOST_BYTES:
            raise MeasurementError(
                "The file has {text:,} characters, but no measurement has more than "
                "{most_bytes:,}; {remedy}.",
                (len(text), MOST_BYTES, REMEDY),
            )
        file = _file(text.encode("utf-8", "replace"))
        setting = _read(Setting, file.setting, "setting")
        try:
            parts = decode(bytes(file.parts), dict[str, Raw])
        except Wrong as wrong:
            raise MeasurementError("The measurement has no parts; {remedy}.", REMEDY) from wrong
        known = {name: kind for name, kind in kinds.items() if name in parts}
        return cls(setting, {name: _read(kind, parts[name], name) for name, kind in known.items()})


def _file(data: bytes) -> _File:
    """Decode a file, its parts still raw; raises `MeasurementError` if its version is another."""
    try:
        file = decode(data, _File)
    except NoJson as error:
        raise MeasurementError(
            "The file is not JSON ({reason}); {remedy}.", (str(error), REMEDY)
        ) from error
    except Wrong as wrong:
        raise MeasurementError("The file is not a measurement; {remedy}.", REMEDY) from wrong
    if bytes(file.format) != f'"{FORMAT}"'.encode():
        raise MeasurementError("The file is not a measurement; {remedy}.", REMEDY)
    version = bytes(file.version).decode()
    if not version.isdigit() or version == "0":
        raise MeasurementError("The measurement has no version; {remedy}.", REMEDY)
    if version != str(VERSION):
        raise MeasurementError(
            "The measurement has version {version}, newer than this app reads ({version2}); "
            "update the app.",
            (short(version), VERSION),
        )
    return file


def _read(kind: type, data: Raw, name: str) -> Any:
    try:
        return decode(bytes(data), kind)
    except Wrong as wrong:
        place = f"{name}.{wrong.place}".rstrip(".")
        raise MeasurementError(
            "The measurement is damaged at {name}: {wrong}; {remedy}.",
            (place, wrong.problem, REMEDY),
        ) from wrong
