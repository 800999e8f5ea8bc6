"""The folder with models that were fetched or converted, and its size."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

VARIABLE = "DECODING_DATA"
# Converted copies beyond this are removed, those first that were used least recently.
KEPT_BYTES = 20_000_000_000


def data_folder() -> Path:
    """Return the folder that DECODING_DATA names; else the user's folder for data of programs."""
    if named := os.environ.get(VARIABLE, "").strip():
        return Path(named).expanduser()
    home = Path.home()
    if sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / "decoding-visualiser"


def size_of(folder: Path) -> int:
    """Return the size of all files in a folder, in bytes."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def remove_oldest(folder: Path, most: int, keep: Path) -> None:
    """Remove folders in a folder until at most `most` bytes are left; `keep` stays.

    Args:
        folder: the folder with the folders.
        most: bytes that may stay.
        keep: the one that is needed now.
    """
    found = sorted(
        (one for one in folder.iterdir() if one.is_dir() and one != keep),
        key=lambda one: one.stat().st_mtime,
        reverse=True,
    )
    left = most - size_of(keep)
    for one in found:
        left -= size_of(one)
        if left < 0:
            shutil.rmtree(one, ignore_errors=True)
