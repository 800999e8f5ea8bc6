"""GGUF files: each is converted once, to a folder in transformers' format that is kept.

transformers converts it (`convert_gguf`), in a process of its own: that takes seconds to minutes,
and its limit on memory protects this process.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engine.errors
from engine.errors import NotAModelError, OutOfMemoryError, msg
from engine.model.loading.data_folder import KEPT_BYTES, data_folder, remove_oldest
from engine.model.loading.files import GGUF, open_regular

ABOUT = "gguf.json"
_ROOT = str(Path(__file__).resolve().parents[3])
_MAGIC = b"GGUF"
_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf")
_BEGINNING = 1_000_000  # bytes of a file that identify it, with its size and time
_LOOK_SECONDS = 0.1


def is_gguf(path: Path) -> bool:
    """Return whether a path is that of a GGUF file, by its name."""
    return path.suffix.lower() == GGUF


def parts_of(file: Path) -> list[Path]:
    """Return all files of a model that may be split, by the name of one; the first has its facts.

    Raises:
        NotAModelError: a part is missing.
    """
    found = _PART.fullmatch(file.name)
    if found is None:
        return [file]
    stem, _, count = found.groups()
    parts = [file.with_name(f"{stem}-{n + 1:05d}-of-{count}{GGUF}") for n in range(int(count))]
    missing = next((part.name for part in parts if not part.is_file()), None)
    if missing is not None:
        raise NotAModelError(
            "{name} is one of {count} parts of a model, and {missing} is missing; put all parts in "
            "one folder.",
            (file.name, int(count), missing),
        )
    return parts


def copy_of(file: Path, progress: Callable[[str, int, int | None], None]) -> Path:
    """Return the folder of a GGUF file's converted copy, which is made if there is none.

    Args:
        file: the GGUF file, or any part of a split one; a renamed one has the same copy.
        progress: as of `engine.load_model`.

    Raises:
        ModelError: it is no GGUF file, is damaged, or is of a kind that cannot be converted.
        OutOfMemoryError: there is not enough memory or disk space to convert it.
    """
    file, *_ = parts_of(file)
    folder = data_folder() / "converted" / _name_of(file)
    if not (folder / ABOUT).is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as unfinished:
            _convert(file, Path(unfinished, "copy"), progress)
            try:
                os.replace(Path(unfinished, "copy"), folder)
            except OSError:
                if not (folder / ABOUT).is_file():  # else another process was faster
                    raise
        remove_oldest(folder.parent, KEPT_BYTES, folder)
    os.utime(folder)
    return folder


def quantisation_of(folder: Path) -> str:
    """Return the quantisation of the file that a folder is a copy of; empty if it is no copy."""
    about = folder / ABOUT
    return json.loads(about.read_text())["quantisation"] if about.is_file() else ""


def forget_copy_of(file: Path) -> None:
    """Remove the converted copy of a GGUF file, if there is one."""
    shutil.rmtree(data_folder() / "converted" / _name_of(file), ignore_errors=True)


def _name_of(file: Path) -> str:
    """Return the name of a file's copy, from its first bytes, its size and its time."""
    digest = hashlib.sha256()
    for part in parts_of(file):
        _take(digest, part)
    return digest.hexdigest()[:32]


def _take(digest: Any, file: Path) -> None:
    try:
        with open_regular(file) as opened:
            beginning = opened.read(_BEGINNING)
            status = os.fstat(opened.fileno())
    except OSError as error:
        raise NotAModelError(
            "{name} cannot be read ({error}); check the file.", (file.name, error)
        ) from error
    if beginning[:4] != _MAGIC:
        raise NotAModelError(
            "{name} does not begin as a GGUF file does; download it again, as a file and not as "
            "the web page about it.",
            file.name,
        )
    digest.update(beginning)
    digest.update(f"{status.st_size} {status.st_mtime_ns}".encode())


def _convert(file: Path, folder: Path, progress: Callable[[str, int, int | None], None]) -> None:
    arguments = [sys.executable, "-m", "engine.model.loading.convert_gguf"]
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            [*arguments, str(file.resolve()), str(folder)],
            cwd=_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.DEVNULL,
        ) as child,
    ):
        try:
            while child.poll() is None:
                progress(*_stage(said))
                time.sleep(_LOOK_SECONDS)
        finally:
            child.kill()
        last = _last(said)
    if "failure" in last:
        kind, template, values = last["failure"]
        raise getattr(engine.errors, kind)(template, tuple(values))
    if child.returncode or not (folder / ABOUT).is_file():
        raise OutOfMemoryError(
            "The process that converts {name} was ended, probably because memory ran out; use a "
            "smaller model.",
            file.name,
        )


def _stage(said: Any) -> tuple[str, int, int | None]:
    template = _last(said).get("stage", "Reading the GGUF file")
    return msg(template), 0, None


def _last(said: Any) -> dict[str, Any]:
    """Return the last whole line that the child has written, decoded."""
    said.seek(0)
    lines = said.read().rpartition(b"\n")[0].splitlines()
    return json.loads(lines[-1]) if lines else {}
