"""Checked access to the files of a model folder: regular files, of bounded size.

A file that is not regular (a pipe, a device, a socket) may block the reader forever. So nothing is
opened before the whole folder has been checked.
"""

from __future__ import annotations

import io
import json
import os
import stat
from pathlib import Path

from engine.errors import Message, ModelError, NotAModelError, msg

# The largest tokenizers in use today have tokenizer.json files of about 35 MB.
MAX_TEXT_BYTES = 128_000_000
# Files that are parsed in this process, which blocks its other threads: an index for 0.6 s, the
# others for 0.05 s. Configurations in use have some 100 kB, an index has 0.1 kB per tensor.
MAX_JSON_BYTES = {
    "config.json": 1_000_000,
    "generation_config.json": 1_000_000,
    "adapter_config.json": 1_000_000,
    "model.safetensors.index.json": 16_000_000,  # the largest published has 9 MB
}
# Most lists and objects in such a file; a MB of them would take 0.4 s.
_MAX_CONTAINERS = 20_000
_MODELS = Path(__file__).resolve().parents[3] / "models"
BUNDLED_FOLDER = _MODELS / "target"
BUNDLED_DRAFT_FOLDER = _MODELS / "draft"
BUNDLED_DIFFUSION_FOLDER = _MODELS / "diffusion"
GGUF = ".gguf"
TEXT_FILES = (".json", ".txt", ".model", ".jinja", ".tiktoken")
_MAX_DEPTH = 64
_MAX_VALUES = 200_000


def check_folder(folder: Path) -> None:
    """Refuse a folder with a file that cannot be read safely; opens no file.

    Raises:
        ModelError: a pipe, device or socket, a broken link, or a file too large for its kind.
    """
    for path in _entries(folder):
        try:
            found = path.stat()
        except OSError as error:
            raise ModelError(
                "{name} of {name2} cannot be read ({strerror}); download the model again.",
                (path.name, folder.name, error.strerror),
            ) from error
        if stat.S_ISDIR(found.st_mode):
            continue
        if not stat.S_ISREG(found.st_mode):
            raise ModelError(
                "{name} of {name2} is a pipe or a device, not a file; remove it or put "
                "the model's file in its place.",
                (path.name, folder.name),
            )
        limit = MAX_JSON_BYTES.get(path.name, MAX_TEXT_BYTES)
        if path.name.endswith(TEXT_FILES) and found.st_size > limit:
            raise NotAModelError(
                "{name} of {name2} has {st_size:,.0f} MB, but at most {limit:,.0f} MB are "
                "read; download the model again or choose another one.",
                (path.name, folder.name, found.st_size / 1e6, limit / 1e6),
            )


def is_bundled(folder: Path) -> bool:
    """Return whether a folder is that of a bundled model, whose files can be trusted."""
    bundled = (BUNDLED_FOLDER, BUNDLED_DRAFT_FOLDER, BUNDLED_DIFFUSION_FOLDER)
    return folder.resolve() in bundled


def text_files(folder: Path, kinds: str | tuple[str, ...] = TEXT_FILES) -> list[Path]:
    """Return the regular text files of a folder."""
    return [path for path in folder.iterdir() if path.name.endswith(kinds) and path.is_file()]


def text_bytes(folder: Path) -> int:
    """Return the total size of a folder's text files in bytes."""
    return sum(path.stat().st_size for path in text_files(folder))


def other_format(path: Path) -> str | None:
    """Return a sentence about an adapter or a folder with GGUF files; None for others."""
    adapter = path / "adapter_config.json"
    if adapter.is_file():
        try:
            base = read_json(adapter)["base_model_name_or_path"]
        except (ValueError, OSError, LookupError, TypeError):
            base = "its base model"
        return msg(
            "{name} is an adapter for {base}, not a whole model; merge the two "
            "with `merge_and_unload` of the package peft, save the result and load its folder.",
            (path.name, str(base)[:80]),
        )
    is_gguf = path.is_dir() and any(path.glob(f"*{GGUF}"))
    return no_gguf(path.name) if is_gguf else None


def no_gguf(name: str) -> str:
    """Return the sentence for a folder or repository whose weights are in a GGUF file."""
    return msg(
        "{name} has its weights in a GGUF file; download that, and give the path of the file.",
        name,
    )


def _entries(folder: Path) -> list[Path]:
    # Chat templates may be one level down; no other file below the folder is read.
    folders = [folder, folder / "additional_chat_templates"]
    return sorted(path for place in folders if place.is_dir() for path in place.iterdir())


def open_regular(path: Path) -> io.FileIO:
    """Open a file for unbuffered reading; raises `OSError` if it is not a regular file."""
    # Without waiting: a pipe put there since the check must not block.
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    file = io.FileIO(number)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        file.close()
        raise OSError(f"{path.name} is not a regular file")
    return file


def read_json(path: Path) -> object:
    """Return the contents of a JSON file in a model folder, one of `MAX_JSON_BYTES`.

    Raises:
        ValueError: not JSON, not UTF-8, too large, nested too deeply or with too many values.
        OSError: it cannot be read.
    """
    data = read_bounded(path, MAX_JSON_BYTES[path.name])
    try:
        return json.loads(data.decode("utf-8"))
    except RecursionError as error:
        raise ValueError(f"nested deeper than {_MAX_DEPTH} levels") from error


def read_bounded(path: Path, limit: int) -> bytes:
    """Read a JSON file that can be parsed in bounded time; raises the same as `read_json`."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = b"" if size > limit else file.read(limit)
    if size > limit:
        said = msg(
            "{file} has {size:,.1f} MB, but at most {limit:,.0f} MB are read",
            (path.name, size / 1e6, limit / 1e6),
        )
        raise ValueError(said)
    containers = data.count(b"{") + data.count(b"[")
    if containers > _MAX_CONTAINERS:
        said = msg(
            "{file} has {containers:,} lists and objects, but at most {most:,} are read",
            (path.name, containers, _MAX_CONTAINERS),
        )
        raise ValueError(said)
    return data


def check_size(value: object) -> None:
    """Refuse a JSON value that is deeper or larger than any configuration; raises ValueError."""
    values, level, depth = 0, [value], 0
    while level:
        depth += 1
        values += len(level)
        if depth > _MAX_DEPTH:
            raise ValueError(f"nested deeper than {_MAX_DEPTH} levels")
        if values > _MAX_VALUES:
            raise ValueError(msg("more than {most:,} values", _MAX_VALUES))
        level = [inner for outer in level for inner in _inner(outer)]


def _inner(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def first_line(error: BaseException) -> str:
    """Return the first line of another library's error message, shortened for a sentence."""
    if error.args and isinstance(error.args[0], Message):
        return error.args[0]
    lines = str(error).strip().splitlines() or [type(error).__name__]
    line = lines[0].strip().rstrip(".:")
    return line if len(line) <= 160 else line[:157] + "..."
