"""A running llama.cpp server, shared by the tests of this folder."""

from tests.engine.backend.running import gguf_file, local, remote, server

__all__ = ["gguf_file", "local", "remote", "server"]
