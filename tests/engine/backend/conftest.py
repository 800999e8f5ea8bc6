"""A running llama.cpp server, shared by the tests of this folder, and a network for tests."""

import httpx2
import pytest

from engine.backend.client import Client
from tests.engine.backend.running import draft_file, gguf_file, local, remote, server

__all__ = ["draft_file", "gguf_file", "local", "remote", "server"]


@pytest.fixture
def network(monkeypatch):
    """Let a function, or a transport, answer the requests of `connect`."""

    def replace(answer):
        is_transport = isinstance(answer, httpx2.BaseTransport)
        transport = answer if is_transport else httpx2.MockTransport(answer)

        def client(address, **settings):
            return Client(address, transport=transport, **settings)

        monkeypatch.setattr("engine.backend.connection.Client", client)

    return replace
