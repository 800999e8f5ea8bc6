"""The servers that DECODING_SERVERS names, and keys that stay in the process."""

import pytest

from tests.bundled import bundled
from tests.engine.backend.top_n import TopN
from ui.models import servers
from ui.models.servers import Server

ADDRESS = "http://127.0.0.1:8080"


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    monkeypatch.setattr(servers, "_typed", {})


def test_addresses_and_files_are_read_together(monkeypatch, tmp_path):
    file = tmp_path / "class.toml"
    file.write_text(
        '[[server]]\naddress = "https://gpu.example/v1/"\nkey = "s3cret"\nlisted = 20\n'
    )
    monkeypatch.setenv(servers.VARIABLE, f" {ADDRESS}/ ,{file},")
    assert list(servers.named()) == [ADDRESS, "https://gpu.example"]
    server = servers.named()["https://gpu.example"]
    assert (server.key, server.listed, servers.problem()) == ("s3cret", 20, "")
    assert "s3cret" not in repr(servers.named())


@pytest.mark.parametrize(
    "text", [None, "server = 3", "[[server]]\nadress = 'http://a'", "[[server]", b"\xff"]
)
def test_unreadable_file_is_named_and_the_rest_used(monkeypatch, tmp_path, text):
    file = tmp_path / "class.toml"
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    monkeypatch.setenv(servers.VARIABLE, f"{file},{ADDRESS}")
    assert list(servers.named()) == [ADDRESS]
    assert servers.problem().startswith(f"DECODING_SERVERS names {file}, which is neither")


def test_servers_connect_with_their_own_key(monkeypatch):
    asked = []

    def connect(*args, **named):
        asked.append((args, named))
        model = TopN(bundled(), 50)
        model.source = args[0]
        return model

    monkeypatch.setattr(servers, "connect", connect)
    monkeypatch.setenv(servers.VARIABLE, ADDRESS)
    assert servers.known("http://other.example") is None
    servers.type_in(Server("http://other.example/", kind="llama.cpp", key="s3cret", tokenizer="a"))
    assert servers.known("http://other.example") and servers.known(ADDRESS)
    servers.connected("http://other.example")
    servers.connected(ADDRESS)
    [(first, named), (second, plain)] = asked
    assert first[1] == "llama.cpp" and (named["key"], named["tokenizer"]) == ("s3cret", "a")
    assert second == (ADDRESS, "auto") and (plain["key"], plain["tokenizer"]) == (None, None)


def test_new_settings_of_a_server_call_for_a_new_connection(monkeypatch):
    def connect(address, kind, *, model, **_):
        made = TopN(bundled(), 50)
        made.source = f"{address}#{model}" if model else address
        return made

    monkeypatch.setattr(servers, "connect", connect)
    source = f"{ADDRESS}#small"
    assert servers.parsed(f"{ADDRESS}/v1/#small").source == source
    server = Server(ADDRESS, model="small")
    servers.type_in(server)
    model = servers.connected(source)
    assert model.source == source and servers.is_current(model)
    servers.type_in(Server(ADDRESS, model="small", listed=20))
    assert not servers.is_current(model) and servers.is_current(servers.connected(source))
    assert servers.is_current(servers.connected(ADDRESS)), "another model of the same server"
