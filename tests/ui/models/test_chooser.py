"""The model chooser on its own page: what it loads and refuses, and how loads are shared."""

import re
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit as st
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from engine.errors import ModelNotFoundError, PromptError
from engine.model import BUNDLED, BUNDLED_DRAFT, load_model
from engine.model.loading import checkpoint
from tests.bundled import bundled
from tests.engine.backend.top_n import TopN
from tests.engine.test_panics import PanicException
from tests.ui import hostile
from tests.waiting import until
from ui.jobs import LOADS
from ui.models import choice_fields, servers
from ui.models import chooser as model_chooser
from ui.models.choice import KINDS, Choice
from ui.models.chooser import Load, allowed, shared_model
from ui.models.first_model import first_model, load_quietly
from ui.server.addresses import Addresses
from ui.server.guard import Guard
from ui.server.websocket import live_route

ROOT = Path(__file__).resolve().parents[3]
OURS = [Choice(BUNDLED), Choice(BUNDLED_DRAFT)]
UNSEEN = (lambda *_: None, lambda: False)  # reports to no one, and never gives up


def page() -> None:
    import streamlit as st

    from ui.models.chooser import model_chooser
    from ui.models.first_model import first_model

    if "model" not in st.session_state:
        st.session_state["model"], _ = first_model(lambda *_: None, lambda: False)

    def take_over(model) -> None:
        if st.session_state.get("refuses"):
            raise st.session_state["refuses"]
        st.session_state["model"] = model

    model_chooser(st.session_state["model"], take_over, "The text is kept.")


@pytest.fixture(autouse=True)
def environment(monkeypatch) -> None:
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    monkeypatch.delenv("DECODING_MODELS", raising=False)
    monkeypatch.delenv("DECODING_SERVERS", raising=False)
    monkeypatch.setattr(model_chooser, "served_to_others", lambda: False)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> str:
    return hostile.save(tmp_path_factory.mktemp("models") / "tiny")


def test_panic_during_loading_is_reported_to_waiters(monkeypatch):
    def panics(*_, **__):
        raise PanicException("out of bounds")

    monkeypatch.setattr(model_chooser, "load_model", panics)
    load = Load.join(Choice("/no/such/model"))
    assert load.wait(20)
    assert "gave up on what it was given (out of bounds)" in str(load.failure)


@pytest.fixture
def app() -> AppTest:
    return drawn(AppTest.from_function(page, default_timeout=60))


def drawn(app: AppTest) -> AppTest:
    app.run()
    assert not app.exception
    return app


def load(app: AppTest, kind: str, *texts: str) -> AppTest:
    """Fill in the fields, press Load, and wait until the load has ended."""
    app.radio(key="model_kind").set_value(kind).run()
    for field, text in zip(app.text_input, texts, strict=False):
        field.set_value(text)
    return pressed(app)


def pressed(app: AppTest) -> AppTest:
    app.button(key="model_button").click()
    return until_ended(drawn(app))


def until_ended(app: AppTest) -> AppTest:
    end = time.monotonic() + 30
    while app.session_state["model_chooser"].load is not None:
        assert time.monotonic() < end, "the load does not end"
        time.sleep(0.05)
        drawn(app)
    return app


def errors(app: AppTest) -> list[str]:
    return [error.value for error in app.error]


def source(app: AppTest) -> str:
    return app.session_state["model"].source


# --- loading --------------------------------------------------------------------------------------


def test_loaded_folder_is_handed_over_and_announced(app, tiny):
    def popovers() -> list[str]:
        return [block.proto.id for block in app.get("popover")]

    assert source(app) == BUNDLED
    assert any("The text is kept." in caption.value for caption in app.caption)
    before = popovers()
    load(app, "folder", tiny)
    assert source(app) == tiny and not errors(app)
    assert any("**tiny**" in text.value for text in app.markdown)
    assert [toast.value for toast in app.toast] == ["tiny is in use. The text is kept."]
    assert popovers() != before, "another popover, and so a closed one"
    assert not drawn(app).toast, "it is said once"
    load(app, BUNDLED)
    assert source(app) == BUNDLED and not errors(app)


def test_failed_load_shows_why_and_changes_nothing(app, tmp_path):
    before = app.session_state["model"]
    for kind, texts, said in (
        ("folder", ["no/such/folder"], "There is no folder"),
        ("folder", ["owner/name"], "There is no folder"),  # the hub is not asked
        ("folder", ["~nobody-of-this-name/x"], "There is no folder"),
        ("folder", ["a\x00b"], "There is no folder"),
        ("folder", ["  "], "type a folder, a file or a hub id"),
        ("folder", [str(tmp_path)], "config.json"),
        (
            "folder",
            [str(ROOT / "models" / "diffusion")],
            "masked diffusion model, not a causal language model; choose a causal language model.",
        ),
        ("hub", ["owner/name", "v1"], "could not be reached to look for owner/name at revision v1"),
        ("hub", ["[x](javascript:alert(1))", ""], "it is not a hub id"),
        ("hub", [BUNDLED, "v1"], "applies to hub ids only"),
    ):
        load(app, kind, *texts)
        (message,) = errors(app)
        assert said in message.replace("\\", "")
        assert app.session_state["model"] is before
    app.text_input[0].set_value("another/name").run()
    assert not errors(app), "the message is about what was typed"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PromptError("The prompt does not fit; shorten it."), "The prompt does not fit; shorten"),
        (ZeroDivisionError(), "An unexpected error interrupted the change to "),
    ],
)
def test_model_refused_by_the_page_shows_why(app, tiny, caplog, error, said):
    app.session_state["refuses"] = error
    load(app, "folder", tiny)
    (message,) = errors(app)
    assert message.startswith(said)
    assert isinstance(error, PromptError) or numbered(message, caplog)
    assert source(app) == BUNDLED


def test_visitors_share_a_model(app, tiny):
    other = drawn(AppTest.from_function(page, default_timeout=60))
    assert app.session_state["model"] is other.session_state["model"]
    load(app, "folder", tiny)
    assert source(other) == BUNDLED
    load(other, "folder", tiny)
    model = app.session_state["model"]
    assert model is other.session_state["model"]
    # The effect of `clear_cache`, which any visitor could send to Streamlit.
    st.cache_resource.clear()
    st.cache_data.clear()
    assert shared_model(Choice(tiny)) is model


# --- while a model is loading ---------------------------------------------------------------------


class Slow:
    """A substitute for `load_model`: a download that continues until the test ends it."""

    def __init__(self) -> None:
        self.started = 0
        self.ended = threading.Event()
        self.given_up = threading.Event()

    def __call__(self, source, *, progress, **_):
        self.started += 1
        try:
            while not self.ended.wait(0.01):
                progress(f"Downloading {source}", 12_500_000, 50_000_000)
        except BaseException:
            self.given_up.set()
            raise
        raise ModelNotFoundError("It was not there after all; choose another.")


@pytest.fixture
def slow(monkeypatch):
    played = Slow()
    monkeypatch.setattr(model_chooser, "load_model", played)
    yield played
    played.ended.set()
    until(lambda: not LOADS.jobs())  # a late one would count in the next test


def begin(app: AppTest, hub_id: str) -> AppTest:
    app.radio(key="model_kind").set_value("hub").run()
    app.text_input(key="model_hub_id").set_value(hub_id)
    app.button(key="model_button").click()
    return drawn(app)


def progress_of(app: AppTest) -> list:
    return [(bar.proto.value, bar.proto.text) for bar in app.get("progress")]


def test_download_shows_its_bytes_until_it_ends(app, slow):
    begin(app, "owner/slow")
    while not progress_of(app):  # until it has begun
        drawn(app)
    assert progress_of(app) == [(25, "Downloading owner/slow: 11.9 MiB of 47.7 MiB")]
    assert app.button(key="model_button").disabled
    assert source(app) == BUNDLED
    slow.ended.set()
    until_ended(app)
    assert errors(app) == ["It was not there after all; choose another."]
    assert not progress_of(app) and not app.button(key="model_button").disabled


def test_shared_load_ends_when_last_visitor_cancels(app, slow):
    other = begin(drawn(AppTest.from_function(page, default_timeout=60)), "owner/slow")
    begin(app, "owner/slow")
    assert slow.started == 1
    other.button(key="model_cancel").click()
    drawn(other)
    assert not slow.given_up.wait(0.2), "somebody else still waits"
    app.button(key="model_cancel").click()
    drawn(app)
    assert slow.given_up.wait(5)
    assert not progress_of(app) and not errors(app) and source(app) == BUNDLED


def test_load_after_a_cancelled_one_starts_over(slow):
    first = Load.join(Choice("owner/slow"))
    first.leave()
    second = Load.join(Choice("owner/slow"))
    assert second is not first
    assert first.wait(5) and second.is_running
    second.leave()


def test_loads_beyond_the_limit_wait(slow):
    loads = [Load.join(Choice(f"owner/slow-{number}")) for number in range(3)]

    until(lambda: slow.started == 2)
    assert [load.is_waiting for load in loads] == [False, False, True]
    assert loads[2].stage.what.startswith("Waiting")
    slow.ended.set()
    assert all(load.wait(5) for load in loads)


def numbered(message: str, caplog) -> bool:
    """Return whether a sentence names a number under which the log has a traceback."""
    number = re.search(r"this number to the person who runs this app: (\d{5})\.", message).group(1)
    return f"Problem {number} interrupted" in caplog.text and "ZeroDivisionError" in caplog.text


def test_unexpected_load_failure_gets_a_log_number(app, monkeypatch, caplog):
    def broken(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(model_chooser, "load_model", broken)
    load(app, "hub", "owner/broken")
    (message,) = errors(app)
    assert message.startswith("An unexpected error interrupted the loading of owner/broken. Choose")
    assert numbered(message, caplog)
    assert source(app) == BUNDLED
    assert not app.button(key="model_button").disabled, "and the page can be used again"


def test_error_in_progress_callback_ends_loading(tiny):
    for ends_at in ("Reading configuration", "Reading 0.1 MB", "Trying"):

        def told(what, done, total, ends_at=ends_at):
            if what.startswith(ends_at):
                raise InterruptedError(ends_at)

        with pytest.raises(InterruptedError, match=ends_at):
            load_model(tiny, progress=told)


def test_download_progress_follows_the_furthest_byte_bar():
    told = []
    bar = checkpoint._byte_counter("Downloading x", 100, lambda *stage: told.append(stage))
    arrived, written, files = bar(unit="B", total=0), bar(unit="B", total=0), bar(total=3)
    for count in (10, 30):
        arrived.update(count)
        written.update(count)
        files.update(1)
    written.update(80)  # the hub may send more than it announced
    assert told == [("Downloading x", done, 100) for done in (10, 40, 100)]


# --- loading permissions --------------------------------------------------------------------------


class Visitor:
    """A substitute for `st.context`; AppTest's own has a mock for an address."""

    def __init__(self, ip_address: str | None = None, **headers: str) -> None:
        self.ip_address = ip_address
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


TUNNELLED = Visitor(Host="localhost:8501", X_Forwarded_For="203.0.113.9")


@pytest.mark.parametrize("visitor", [Visitor(), TUNNELLED])
def test_only_the_person_at_this_computer_types_models(monkeypatch, tiny, visitor):
    monkeypatch.undo()  # with the app's own configuration
    monkeypatch.delenv("DECODING_MODELS", raising=False)
    monkeypatch.delenv("DECODING_ONLY_ME")
    monkeypatch.setattr(st, "context", visitor)
    app = drawn(AppTest.from_function(page, default_timeout=60))
    if visitor is not TUNNELLED:
        assert app.radio(key="model_kind").options == list(KINDS.values())
        return
    assert not app.radio and not app.text_input
    visit = model_chooser._Visit()
    visit.begin(Choice(tiny))
    assert visit.load is None and "is not among the models" in visit.problem


def test_shared_app_loads_only_bundled_and_first_models(monkeypatch, tiny):
    monkeypatch.setattr(model_chooser, "served_to_others", lambda: True)
    assert allowed() == OURS
    monkeypatch.setenv("DECODING_MODEL", tiny)
    assert allowed() == [*OURS, Choice(tiny)]
    app = drawn(AppTest.from_function(page, default_timeout=60))
    assert source(app) == tiny
    assert not app.radio and not app.text_input, "nothing can be typed"
    assert any("DECODING_MODELS=owner/name" in caption.value for caption in app.caption)
    pressed(app)
    assert source(app) == BUNDLED


@pytest.mark.parametrize(("separator", "others"), [(",", True), (" , ", False), (":", True)])
def test_model_list_applies_to_every_visitor(monkeypatch, tiny, others, separator):
    monkeypatch.setattr(model_chooser, "served_to_others", lambda: others)
    monkeypatch.setattr(model_chooser.os, "pathsep", ":")
    monkeypatch.setenv("DECODING_MODELS", separator.join(["owner/name@v1", tiny, "gpt2"]))
    assert allowed() == [*OURS, Choice("owner/name", "v1"), Choice(tiny), Choice("gpt2")]


def test_a_listed_model_is_chosen_by_name(monkeypatch, tiny):
    monkeypatch.setenv("DECODING_MODELS", tiny)
    app = drawn(AppTest.from_function(page, default_timeout=60))
    assert app.selectbox(key="model_listed").options == ["Bundled", "Bundled draft", tiny]
    app.selectbox(key="model_listed").select_index(2)
    pressed(app)
    assert source(app) == tiny


@pytest.mark.parametrize("path", ["{tiny}/../tiny", "{tiny}/.", "/etc", "owner/other", "gpt2@v1"])
def test_unlisted_model_is_refused(monkeypatch, tiny, path):
    monkeypatch.setenv("DECODING_MODELS", f"{tiny},gpt2")
    monkeypatch.setattr(model_chooser, "load_model", lambda *_, **__: pytest.fail("it was read"))
    visit = model_chooser._Visit()
    visit.begin(Choice.parse(path.format(tiny=tiny)))
    assert visit.load is None
    assert "is not among the models" in visit.problem and "DECODING_MODELS=" in visit.problem


# --- models that are fetched ----------------------------------------------------------------------


def test_model_with_terms_is_fetched_once_they_are_accepted(app, monkeypatch):
    accepted = []
    monkeypatch.setattr(choice_fields, "is_fetched", lambda name: False)
    monkeypatch.setattr(model_chooser, "accept_terms", accepted.append)
    monkeypatch.setattr(model_chooser, "load_model", lambda source, **_: named(source))
    app.radio(key="model_kind").set_value("gemma3").run()
    assert any("Licence: Gemma Terms of Use" in each.value for each in app.caption)
    pressed(app)
    assert errors(app) == [
        "No model is named yet; type a folder, a file or a hub id, or accept the terms."
    ]
    app.checkbox(key="model_accepts").check().run()
    pressed(app)
    assert (accepted, source(app)) == (["gemma3"], "gemma3")


def named(source: str) -> TopN:
    model = TopN(bundled(), 50)
    model.source = source
    return model


def test_fetched_model_is_offered_to_visitors_and_removed(app, monkeypatch):
    removed = []
    for module in (model_chooser, choice_fields):
        monkeypatch.setattr(module, "is_fetched", lambda name: name == "smollm2")
    monkeypatch.setattr(choice_fields, "remove_fetched", removed.append)
    app.radio(key="model_kind").set_value("smollm2").run()
    app.button(key="model_remove").click().run()
    assert removed == ["smollm2"]
    monkeypatch.setattr(model_chooser, "served_to_others", lambda: True)
    assert allowed() == [*OURS, Choice("smollm2")]


# --- servers --------------------------------------------------------------------------------------

ADDRESS, OTHER = "http://127.0.0.1:8080", "http://127.0.0.1:8081"  # kept models are shared


@pytest.fixture
def connected(monkeypatch) -> list[tuple[str, str | None]]:
    """Addresses and keys of connections, each of which gives a model that lists 50 tokens."""
    made = []

    def connect(address, kind, *, key, **_):
        made.append((address, key))
        model = TopN(bundled(), 50)
        model.source = address
        return model

    monkeypatch.setattr(servers, "connect", connect)
    monkeypatch.setattr(servers, "_typed", {})
    return made


def test_owner_connects_to_a_server_with_a_key(app, connected, monkeypatch):
    monkeypatch.setenv("DECODING_SERVERS", f"{ADDRESS}/")
    app.radio(key="model_kind").set_value("server").run()
    app.selectbox(key="model_server").select_index(0).run()
    app.text_input(key="model_key_0").set_value("s3cret")
    pressed(app)
    assert connected == [(ADDRESS, "s3cret")] and source(app) == ADDRESS and not errors(app)
    drawn(app)
    assert app.text_input(key="model_key_1").value == "", "the key is not shown again"
    assert servers.known(ADDRESS).key == "s3cret"


def test_owner_names_a_model_of_a_server_and_how_much_it_lists(app, connected, monkeypatch):
    monkeypatch.setenv("DECODING_SERVERS", OTHER)
    app.radio(key="model_kind").set_value("server").run()
    app.text_input(key="model_server_model").set_value("small")
    app.number_input(key="model_server_listed").set_value(20)
    app.text_input(key="model_server_session").set_value("X-Visit")
    app.selectbox(key="model_server").select_index(0)
    pressed(app)
    server = servers.known(f"{OTHER}#small")
    assert (server.model, server.listed, server.session_header) == ("small", 20, "X-Visit")
    assert len(connected) == 1 and not errors(app)


def test_named_servers_are_offered_to_every_visitor(monkeypatch, connected):
    monkeypatch.setenv("DECODING_SERVERS", OTHER)
    assert allowed() is None, "the owner is not restricted"
    monkeypatch.setattr(model_chooser, "served_to_others", lambda: True)
    assert allowed() == [*OURS, Choice(OTHER)]
    visit = model_chooser._Visit()
    visit.begin(Choice("http://10.0.0.1"))
    assert "can start it with DECODING_SERVERS=http://10.0.0.1" in visit.problem
    app = drawn(AppTest.from_function(page, default_timeout=60))
    app.selectbox(key="model_listed").select_index(2)
    pressed(app)
    assert connected == [(OTHER, None)] and source(app) == OTHER


def test_record_cannot_name_an_unknown_server(connected):
    with pytest.raises(ModelNotFoundError, match="is not connected to http"):
        load_quietly("http://10.0.0.1", None)
    with pytest.raises(ModelNotFoundError):
        shared_model(Choice("http://10.0.0.1", local_files_only=True))
    assert not connected


def test_unreadable_list_of_servers_is_reported(monkeypatch):
    monkeypatch.setenv("DECODING_SERVERS", "missing.toml")
    app = drawn(AppTest.from_function(page, default_timeout=60))
    assert any("names missing.toml" in warning.value for warning in app.warning)


HERE, SERVER = "127.0.0.1", "server.address"


@pytest.mark.parametrize(
    ("option", "value", "visitor", "others"),
    [
        (SERVER, HERE, Visitor(), False),
        (SERVER, "localhost", Visitor(), False),
        (SERVER, "::1", Visitor("::1"), False),
        (SERVER, HERE, Visitor("127.0.0.2"), False),
        (SERVER, None, Visitor(), True),
        (SERVER, "0.0.0.0", Visitor(), True),
        (SERVER, "192.168.1.5", Visitor(), True),
        (SERVER, "classroom.local", Visitor(), True),
        (SERVER, "unix:///run/app.sock", Visitor(), True),
        (SERVER, HERE, Visitor("192.168.1.7"), True),
        (SERVER, HERE, Visitor("unknown"), True),
        # Tunnels and proxies on this machine.
        (SERVER, HERE, Visitor(X_Forwarded_For="203.0.113.9"), True),
        (SERVER, HERE, Visitor(Forwarded="for=203.0.113.9"), True),
        (SERVER, HERE, Visitor(X_Forwarded_Host="classroom.example"), True),
        (SERVER, HERE, Visitor(x_forwarded_proto="https"), True),
        (SERVER, HERE, Visitor(X_Real_IP="127.0.0.1"), True),
        (SERVER, HERE, Visitor(Via="1.1 proxy"), True),
        (SERVER, HERE, Visitor(CF_Connecting_IP="203.0.113.9"), True),
        (SERVER, HERE, Visitor(Tailscale_User_Login="a@b.example"), True),
        (SERVER, HERE, Visitor(Host="decode.trycloudflare.example"), True),
        (SERVER, HERE, Visitor(Host="192.168.1.5:8501"), True),
        (SERVER, HERE, Visitor(Host="localhost.evil.example:8501"), True),
        (SERVER, HERE, Visitor(Host="[::1"), True),
        (SERVER, HERE, Visitor(Host="localhost:9000"), False),
        (SERVER, HERE, Visitor(Host="[::1]:8501"), False),
        (SERVER, HERE, Visitor(Host="127.0.0.1"), False),
        ("server.allowedHosts", [HERE, "localhost", "::1", "LOCALHOST."], Visitor(), False),
        ("server.allowedHosts", ["localhost", "classroom.example"], Visitor(), True),
        ("server.allowedHosts", ["*"], Visitor(), True),
        ("server.allowedHosts", ["*.localhost.example"], Visitor(), True),
        ("server.allowedHosts", ["0.0.0.0"], Visitor(), True),
        ("server.corsAllowedOrigins", ["http://localhost:3000"], Visitor(), False),
        ("server.corsAllowedOrigins", ["https://classroom.example"], Visitor(), True),
        ("browser.serverAddress", "classroom.example", Visitor(), True),
    ],
)
def test_sign_of_other_people_is_detected(served, monkeypatch, option, value, visitor, others):
    served[option] = value
    monkeypatch.setattr(st, "context", visitor)
    assert model_chooser.served_to_others() is others
    assert (allowed() is None) is not others


@pytest.fixture
def served(monkeypatch) -> dict[str, object]:
    """The app's serving options for tests to change; they start as configured."""
    monkeypatch.undo()  # removes the override that all other tests use
    monkeypatch.delenv("DECODING_MODELS", raising=False)
    monkeypatch.delenv("DECODING_ONLY_ME", raising=False)
    options = {
        "server.address": "127.0.0.1",
        "server.allowedHosts": ["127.0.0.1", "localhost"],
        "server.corsAllowedOrigins": [],
        "browser.serverAddress": "localhost",
    }
    monkeypatch.setattr(st, "get_option", options.__getitem__)
    monkeypatch.setattr(st, "context", Visitor())
    return options


class Asked:
    """A page of the live channel that reports, from its own threads, its visitor's permissions."""

    def __init__(self, connection, first) -> None:
        pass

    def hello(self):
        return [b"anything" if allowed() is None else b"listed"]

    def answer(self, data):
        return self.hello()

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("address", "headers", "answer"),
    [
        ("127.0.0.1", {}, b"anything"),
        ("127.0.0.1", {"X-Forwarded-For": "203.0.113.9"}, b"listed"),
        ("127.0.0.1", {"Via": "1.1 nginx"}, b"listed"),
        ("192.168.1.7", {}, b"listed"),
    ],
)
def test_live_channel_checks_its_own_connection(served, address, headers, answer):
    app = Starlette(routes=[live_route({"asked": Asked})])
    host = "127.0.0.1:8501"
    guarded = Guard(app, Addresses(hosts=("127.0.0.1",)))
    client = TestClient(guarded, client=(address, 50_000))
    headers = headers | {"origin": f"http://{host}"}
    with client.websocket_connect(f"ws://{host}/live", headers=headers) as socket:
        socket.send_json({"kind": "hello", "page": "asked"})
        assert socket.receive_bytes() == answer
        socket.send_json({"kind": "again"})
        assert socket.receive_bytes() == answer


@pytest.mark.parametrize("source", ["owner/name", "../tiny", "x" * 5_000, ""])
def test_record_loads_no_model_from_elsewhere(monkeypatch, source):
    monkeypatch.setattr(model_chooser, "load_model", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(ModelNotFoundError, match="is not on this computer"):
        load_quietly(source, None)


def test_record_uses_only_the_local_model_copy(monkeypatch):
    def load(source, *, local_files_only, **_):
        assert local_files_only
        raise ModelNotFoundError("removed meanwhile")

    monkeypatch.setattr("ui.models.first_model.is_here", lambda *_: True)
    monkeypatch.setattr(model_chooser, "load_model", load)
    with pytest.raises(ModelNotFoundError, match="removed meanwhile"):
        load_quietly("owner/name", "0" * 40)


@pytest.mark.parametrize(
    ("switch", "alone"),
    [("yes", True), (" YES ", True), ("1", True), ("true", True), ("", False), ("no", False)],
)
def test_only_me_switch_allows_any_model(served, monkeypatch, switch, alone):
    served["server.allowedHosts"] = ["*"]
    monkeypatch.setattr(st, "context", Visitor("203.0.113.9", X_Forwarded_For="203.0.113.9"))
    monkeypatch.setenv("DECODING_ONLY_ME", switch)
    assert (allowed() is None) is alone


# --- the first model ------------------------------------------------------------------------------


def test_decoding_model_names_the_first_model(monkeypatch, tiny):
    monkeypatch.setenv("DECODING_MODEL", f" {tiny} ")
    model, said = first_model(*UNSEEN)
    assert (model.source, said) == (tiny, "")


def test_bundled_model_replaces_an_unloadable_first_model(monkeypatch, caplog):
    loaded = model_chooser.load_model

    def broken(source, **options):
        return 1 / 0 if source == "owner/broken" else loaded(source, **options)

    monkeypatch.setattr(model_chooser, "load_model", broken)
    for name, reason in (
        ("no/such-model", "There is no folder"),
        ("owner/broken", "An unexpected error interrupted"),
    ):
        monkeypatch.setenv("DECODING_MODEL", name)
        model_chooser.preload()
        model, said = first_model(*UNSEEN)
        assert model.source == BUNDLED
        assert said.startswith(f"DECODING_MODEL={name}: {reason}")
        assert said.endswith("The bundled model is in use instead.")
    assert numbered(said, caplog)


def test_chooser_works_without_any_model(monkeypatch, tmp_path, tiny):
    monkeypatch.setattr("engine.model.loading.checkpoint.BUNDLED_FOLDER", tmp_path)
    model_chooser.MODELS.forget()
    with pytest.raises(Exception, match=r"config\.json"):
        first_model(*UNSEEN)
    monkeypatch.undo()
    monkeypatch.setattr(model_chooser, "served_to_others", lambda: False)
    app = AppTest.from_function(page, default_timeout=60)
    app.session_state["model"] = None
    drawn(app)
    assert any("none" in text.value for text in app.markdown)
    load(app, "folder", tiny)
    assert source(app) == tiny


def test_revision_is_split_only_from_hub_ids(tmp_path, monkeypatch):
    assert Choice.parse("owner/name@refs/pr/1") == Choice("owner/name", "refs/pr/1")
    assert Choice.parse("gpt2@v1") == Choice("gpt2", "v1")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "name@v1").mkdir()
    for folder in ("name@v1", "/models/a@b", "~/a@b", "C:\\models\\a@b"):
        assert Choice.parse(folder) == Choice(folder)


@pytest.mark.parametrize(
    ("source", "others", "alone"),
    [("bundled", False, True), ("bundled", True, False), ("a folder", False, False)],
)
def test_work_starts_itself_only_on_local_bundled_model(monkeypatch, source, others, alone):
    monkeypatch.setattr(model_chooser, "served_to_others", lambda: others)
    assert model_chooser.begins_alone(SimpleNamespace(source=source)) is alone
