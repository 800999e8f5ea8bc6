"""Traces as JSON files, written atomically and read within size limits.

A file may come from anywhere, so bytes, brackets and commas are counted before anything is parsed.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import TraceError, msg
from engine.values import short


class Most(NamedTuple):
    """Limits on the contents of a JSON file.

    Attributes:
        values: most values of all kinds together.
        objects: most lists and objects among those values.
        lists: most lists alone.
    """

    values: int
    objects: int
    lists: int


MAX_FILE_BYTES = 64 * 2**20
MAX_STEPS = 100_000
MAX_VALUES = 5_000_000  # in all steps together
MAX_OBJECTS = 1_000_000  # lists and objects among those values
# No other thread of the process can run while lists are parsed, so on a server that must be short.
ON_PAGES = Most(1_000_000, objects=250_000, lists=50_000)


def as_json(data: dict[str, Any]) -> str:
    """Return plain values as JSON text; raises `TraceError` for a value JSON cannot represent."""
    try:
        return json.dumps(data, allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError) as error:
        raise _unwritable(error) from error


def write(path: Path, data: dict[str, Any]) -> Path:
    """Write a trace; an existing file is replaced atomically.

    Raises:
        TraceError: a wrong file extension, a trace above the limits, or a file that cannot be
            written.
    """
    if path.suffix != ".json":
        raise TraceError("{name} must end in .json.", short(path.name))
    if len(data["steps"]) > MAX_STEPS:
        raise _too_large(msg("{max_steps:,} steps", MAX_STEPS))
    packed = as_json(data).encode()
    check(packed)  # otherwise the file might be unreadable
    try:
        _replace_file(path, packed)
    except (OSError, ValueError) as error:  # ValueError: an invalid file name
        raise _of_file(msg("{name} cannot be written: {reason}."), path, error) from error
    return path


def read(path: Path) -> bytes:
    """Return a file's content, unchecked.

    Raises:
        TraceError: no such file, or a file above the limits.
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):  # reading a pipe would block, a device has no end
            raise OSError("it is not a regular file; choose a file saved by this app")
        if about.st_size > MAX_FILE_BYTES:
            raise TraceError(
                "{name} has {st_size:,} bytes, more than the {max_file_bytes:,} that a trace "
                "can have; choose another file.",
                (short(path.name), about.st_size, MAX_FILE_BYTES),
            )
        with path.open("rb") as file:
            return file.read(about.st_size)
    except (OSError, ValueError) as error:
        raise _of_file(msg("{name} cannot be read: {reason}."), path, error) from error


def _unwritable(error: Exception) -> TraceError:
    reason = short(str(error), 200)
    return TraceError("The trace cannot be saved: {reason}.", reason)


def _of_file(template: str, path: Path, error: Exception) -> TraceError:
    reason = short(str(getattr(error, "strerror", None) or error), 200)
    return TraceError(template, (short(path.name), reason))


def _too_large(most: str) -> TraceError:
    return TraceError("The trace has more than {most}; use one from a shorter run.", most)


def check(data: bytes, most: Most | None = None) -> None:
    """Reject a file that would take too much memory: a two-byte list becomes a 64-byte object.

    Args:
        data: the file.
        most: limits on its contents; None for those that apply to every file.
    """
    if len(data) > MAX_FILE_BYTES:
        raise _too_large(msg("{max_file_bytes:,} bytes", MAX_FILE_BYTES))
    most = most or Most(MAX_VALUES, MAX_OBJECTS, MAX_OBJECTS)
    if data.count(b",") > most.values:
        raise _too_large(msg("{values:,} values", most.values))
    lists = data.count(b"[")
    if lists > most.lists:
        raise _too_large(msg("{lists:,} lists", most.lists))
    if lists + data.count(b"{") > most.objects:
        raise _too_large(msg("{objects:,} lists and objects", most.objects))


def _replace_file(path: Path, data: bytes) -> None:
    """Write next to the target and rename, so that a full disk leaves the old file unchanged."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as new:
        try:
            os.chmod(new.name, 0o666 & ~_umask())  # like any new file, not private
            new.write(data)
            new.flush()
            os.fsync(new.fileno())
            os.replace(new.name, path)
        except BaseException:
            os.unlink(new.name)
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
