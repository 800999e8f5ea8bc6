"""Measurements of one machine and model as one JSON file, and back.

    {"format": "decoding-visualiser-measurement", "version": 1,
     "setting": {"machine": {...}, "model": ..., "dtype": ..., "threads": ..., "date": ...},
     "parts": {"with_and_without": {...}, ...}}

A file comes from anywhere: its size is bounded, and every value is checked by type and range.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import MeasurementError, msg
from engine.measure.machine import Setting
from engine.trace.values import Limits, Wrong, plain, read, short

FORMAT = "decoding-visualiser-measurement"
VERSION = 1
MOST_BYTES = 2**20
REMEDY = msg("choose a measurement saved by this app")
NO_TOKENS = Limits(0, 0)  # no value of a measurement is a token id


@dataclass(frozen=True)
class Report:
    """What was measured on one machine.

    Attributes:
        setting: the machine, the model, and when.
        parts: results by section; dataclasses whose fields say what their values must be
            (`engine.trace.values`).
    """

    setting: Setting
    parts: Mapping[str, Any]

    def to_json(self) -> str:
        """The text of a file."""
        data = {
            "format": FORMAT,
            "version": VERSION,
            "setting": plain(self.setting),
            "parts": {name: plain(part) for name, part in self.parts.items()},
        }
        return json.dumps(data, allow_nan=False, indent=1)

    @classmethod
    def from_json(cls, text: str, kinds: Mapping[str, type]) -> Report:
        """The inverse of `to_json`.

        Args:
            text: of the file.
            kinds: the dataclass of each part. Parts that are not named here are passed over, as
                another version of the app may have more of them.

        Raises:
            MeasurementError: it is too large, no measurement, damaged, or of a newer version.
        """
        data = _parsed(text)
        version = data.get("version")
        if type(version) is not int or version < 1:
            raise MeasurementError("The measurement names no version; {remedy}.", REMEDY)
        if version > VERSION:
            raise MeasurementError(
                "The measurement is of version {version}, newer than this app reads "
                "({version2}); update the app.",
                (short(str(version)), VERSION),
            )
        parts = data.get("parts")
        if not isinstance(parts, dict):
            raise MeasurementError("The measurement has no parts; {remedy}.", REMEDY)
        setting = _read(Setting, data.get("setting"), "setting")
        known = {name: kind for name, kind in kinds.items() if name in parts}
        return cls(setting, {name: _read(kind, parts[name], name) for name, kind in known.items()})


def _parsed(text: str) -> dict[str, Any]:
    if len(text) > MOST_BYTES:
        raise MeasurementError(
            "The file has {text:,} characters, more than the {most_bytes:,} of any "
            "measurement; {remedy}.",
            (len(text), MOST_BYTES, REMEDY),
        )
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = short(str(error), 80)
        raise MeasurementError(
            "The file is no JSON ({reason}); {remedy}.", (reason, REMEDY)
        ) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise MeasurementError("The file is no measurement; {remedy}.", REMEDY)
    return data


def _read(kind: type, data: Any, name: str) -> Any:
    try:
        return read(kind, data, NO_TOKENS)
    except Wrong as wrong:
        place = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in wrong.place)
        raise MeasurementError(
            "The measurement is damaged at {name}: {wrong}; {remedy}.",
            (short(name + place, 120), short(wrong.problem, 200), REMEDY),
        ) from wrong
