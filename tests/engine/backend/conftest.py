"""A running llama.cpp server, shared by the tests of this folder."""

from tests.engine.backend.running import draft_file, gguf_file, local, remote, server

__all__ = ["draft_file", "gguf_file", "local", "remote", "server"]
