"""Fixtures of a running llama.cpp server and of the same model here, for conftests to import."""

from pathlib import Path

import pytest

from engine import connect, load_model
from engine.model import LanguageModel
from tests.engine.backend.llama_server import LlamaServer
from tests.engine.gguf_files import write_gguf

TARGET = Path(__file__).parents[3] / "models" / "target"
DRAFT = TARGET.with_name("draft")


@pytest.fixture(scope="session")
def gguf_file(tmp_path_factory):
    return write_gguf(TARGET, tmp_path_factory.mktemp("gguf") / "target.gguf")


@pytest.fixture(scope="session")
def draft_file(tmp_path_factory):
    return write_gguf(DRAFT, tmp_path_factory.mktemp("gguf") / "draft.gguf")


@pytest.fixture(scope="session")
def server(gguf_file):
    with LlamaServer(gguf_file) as server:
        yield server


@pytest.fixture(scope="session")
def local() -> LanguageModel:
    return load_model(dtype="float32")


@pytest.fixture(scope="session")
def remote(server, local):
    return connect(server.address, tokenizer=local.tokenizer)
