"""The app's folders where this operating system keeps the files of programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

_XDG = {"data": ("XDG_DATA_HOME", ".local/share"), "state": ("XDG_STATE_HOME", ".local/state")}


def user_folder(kind: Literal["data", "state"]) -> Path:
    """Return the app's folder for data that it keeps, or for its state between two runs."""
    home = Path.home()
    if sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        variable, usual = _XDG[kind]
        base = Path(os.environ.get(variable) or home / usual)
    return base / "decoding-visualiser"
