"""Checks of numbers that come from outside the program."""

from __future__ import annotations

import re

import numpy as np

from engine.errors import SettingError, msg


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number; True and False are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def at_least_one(setting: str, value: object) -> int:
    """Return `value` as a plain number; raises `SettingError` unless it is whole and at least 1."""
    remedy = msg("use a whole number, 1 or more")
    if not is_whole(value):
        raise SettingError(setting, value, "must be a whole number", remedy)
    if value < 1:
        raise SettingError(setting, value, "must be at least 1", remedy)
    return int(value)


def typed_list(text: str) -> str:
    """Return a typed list of numbers, separated by commas: ``0,5;0,7`` becomes ``0.5,0.7``."""
    return re.sub(r"(?<=\d),(?=\d)", ".", text).replace(";", ",") if ";" in text else text
