"""The folder with models that were fetched or converted, and its size."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from engine.user_folder import user_folder

VARIABLE = "DECODING_DATA"
# Converted copies beyond this are removed, those first that were used least recently.
KEPT_BYTES = 20_000_000_000


def data_folder() -> Path:
    """Return the folder that DECODING_DATA names; else the user's folder for data of programs."""
    named = os.environ.get(VARIABLE, "").strip()
    return Path(named).expanduser() if named else user_folder("data")


def size_of(folder: Path) -> int:
    """Return the size of all files in a folder, in bytes, without those removed in the meantime."""
    size = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                size += os.stat(os.path.join(path, name)).st_size
    return size


def remove_oldest(folder: Path, most: int, keep: Path) -> None:
    """Remove folders in a folder until at most `most` bytes are left; `keep` stays.

    Args:
        folder: the folder with the folders; those that begin with a dot are unfinished, and stay.
        most: bytes that may stay.
        keep: the one that is needed now.
    """
    found = sorted(
        (one for one in folder.iterdir() if one.is_dir() and one != keep and one.name[0] != "."),
        key=lambda one: one.stat().st_mtime,
        reverse=True,
    )
    left = most - size_of(keep)
    for one in found:
        left -= size_of(one)
        if left < 0:
            shutil.rmtree(one, ignore_errors=True)
