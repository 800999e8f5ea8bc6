"""A running llama.cpp server, and one whose answers a test may change."""

import copy

import pytest

from tests.engine.backend.running import draft_file, gguf_file, local, remote, server
from tests.engine.server_check.changed import Changed

__all__ = ["draft_file", "gguf_file", "local", "remote", "server"]


@pytest.fixture
def changed(remote):
    """The model on the server, with a dialect that a test may change."""
    model = copy.copy(remote)
    model.dialect = Changed(remote.dialect)
    return model
