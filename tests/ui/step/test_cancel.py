"""Long operations are cancelled: the text stays, a sentence says so, the page continues."""

import time
from functools import cache

import pytest

from engine.model import LanguageModel
from engine.runner import runner
from engine.runner.scheduler import SCHEDULER, Kind
from tests.ui.step.live_page import LivePage, client, opened
from ui.models.choice import Choice
from ui.models.first_model import load
from ui.server import websocket
from ui.step import busy, channel
from ui.step.session import Session
from ui.texts.examples import EXAMPLES
from ui.visits.store import Keeper
from ui.visits.visits import Abandoned, Visits

OWN = "My own prompt: the little dog"
LONG = "One day a little cat sat in the sun. " * 12
CHUNK = 16


connections: list[websocket.Connection] = []


class NotedConnection(websocket.Connection):
    def __init__(self, wake) -> None:
        super().__init__(wake)
        connections.append(self)


@pytest.fixture(autouse=True)
def visits(monkeypatch, tmp_path) -> Visits:
    connections.clear()
    monkeypatch.setattr(websocket, "Connection", NotedConnection)
    visits = Visits(Keeper(tmp_path))
    monkeypatch.setattr(channel, "VISITS", visits)
    return visits


@pytest.fixture
def page():
    with opened() as page:
        page.do("start", prompt=OWN)
        page.do("step", count=4)
        yield page


@cache
def of_a_twin() -> list[int]:
    """Return the five tokens of a page without cancellation."""
    with opened() as twin:
        twin.do("start", prompt=OWN)
        twin.do("step", count=5)
        return list(twin.ids)


def until_passes_wait(count: int = 1) -> None:
    for _ in range(2_000):
        line = SCHEDULER.line()
        if line["step"] + line["batch"] + line["prefill"] == count:
            return
        time.sleep(0.005)
    raise AssertionError(f"{count} passes should wait: {SCHEDULER.line()}")


def stop(page: LivePage) -> None:
    page.number += 1
    page.socket.send_json({"kind": "stop", "client": page.client, "number": page.number})


def cancelled(page: LivePage, kind: str, **fields) -> dict:
    """Return the answer to an event that is cancelled while its pass waits for its turn."""
    with SCHEDULER.turn(Kind.STEP):
        page.socket.send_json(page.event(kind, **fields))
        until_passes_wait()
        stop(page)
        header = page.read()
    assert header["number"] == page.number - 1
    own = page.read()
    assert (own["kind"], own["number"], own["error"]) == ("answer", page.number, "")
    return header


def shown_session(page: LivePage) -> Session:
    return channel.VISITS.open(page.visit, page.tab, "x", lambda: False).present("step")


def stops_before(page: LivePage, model: LanguageModel, count: int, monkeypatch) -> list[int]:
    """Cancel during a model's pass number `count`; the list grows by the length of each pass."""
    forward, read = model.forward, []

    def slow(ids, *more, **named):
        read.append(len(ids))
        if len(read) == count:
            stop(page)
            wait_for_stop()
        return forward(ids, *more, **named)

    monkeypatch.setattr(model, "forward", slow)
    return read


EVENTS = [
    ("start", {"prompt": LONG}, busy.cancelled("start", 0)),
    ("start", {"prompt": LONG, "guided": True, "negative_prompt": "A dog"}, "the prompt was not"),
    ("step", {}, "no token was added"),
    ("step", {"count": 5}, "no token was added"),
    ("run", {"playing": True}, "no token was added"),
    ("propose", {}, busy.SCORES),
    ("inspect", {"index": 4}, busy.SCORES),
    ("force", {"token_id": 300}, "the token was not appended"),
]


@pytest.mark.parametrize(
    ("kind", "fields", "said", "is_evicted"),
    [
        *((*event, False) for event in EVENTS),
        (*EVENTS[2], True),
        *(pytest.param(*event, True, marks=pytest.mark.long) for event in EVENTS[3:]),
    ],
)
def test_cancelled_event_leaves_the_text_unchanged(page, kind, fields, said, is_evicted):
    ids, run, shown = page.ids, page.run, page.last["index"]
    if is_evicted:
        shown_session(page).release()
    header = cancelled(page, kind, **fields)
    assert header["cancelled"] and said in header["error"]
    assert (page.ids, page.run, header["index"]) == (ids, run, shown)
    assert header["step"]["is_pending"] is False, "the last token's step is on screen"
    header = page.do("step")
    assert (header["error"], header["cancelled"], len(page.ids)) == ("", False, 5)
    assert page.ids == of_a_twin()


def test_a_cancelled_search_keeps_its_text(page):
    page.do("start", prompt=OWN, strategy={"top_k": 4, "penalty_alpha": 0.6})
    page.do("step")
    header = cancelled(page, "step")
    assert header["cancelled"] and len(page.ids) == 1
    assert page.do("step")["length"] == 2


def test_prefill_is_cancelled_between_two_chunks(page, monkeypatch):
    monkeypatch.setattr(runner, "CHUNK", CHUNK)
    monkeypatch.setattr(websocket, "BUSY_SECONDS", 0.02)
    model = shown_session(page).model
    assert model.can_chunk  # known from here on: the check takes passes
    read = stops_before(page, model, 2, monkeypatch)
    text = page.ids
    page.socket.send_json(page.event("start", prompt=LONG))
    page.read()
    assert page.last["error"] == busy.cancelled("start", 0) and page.ids == text
    assert page.read()["kind"] == "answer"
    assert read == [CHUNK, CHUNK], "it ends with the chunk in which it was cancelled"
    assert page.last["number"] == page.number
    header = page.do("start", prompt=LONG)
    assert header["error"] == "" and page.text["prompt"] == LONG


def test_long_operation_reports_activity_and_queue_position(page, monkeypatch):
    monkeypatch.setattr("engine.runner.scheduler.PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(websocket, "BUSY_SECONDS", 0.02)
    monkeypatch.setattr(runner, "CHUNK", CHUNK)
    with SCHEDULER.turn(Kind.STEP):
        page.socket.send_json(page.event("start", prompt=LONG))
        until_passes_wait()
        time.sleep(0.3)
    page.read()
    assert page.last["error"] == "" and page.text["prompt"] == LONG
    first, *_, over = page.busy
    assert (first["what"], first["behind"], first["can_cancel"]) == (busy.READING, 0, True)
    assert 1 in [each["behind"] for each in page.busy]
    assert (over["what"], over["behind"]) == ("", 0)


def test_cancelled_reopen_keeps_both_texts(page):
    ids = page.ids
    page.do("start", prompt="Another")
    page.do("step")
    page.do("sync")
    (earlier,) = page.last["earlier"]
    other = page.ids
    header = cancelled(page, "reopen", text_number=earlier["number"])
    assert header["cancelled"] and "still in the list" in header["error"]
    assert (page.ids, page.text["prompt"]) == (other, "Another")
    page.do("reopen", text_number=earlier["number"])
    assert page.ids == ids


def test_model_load_for_a_reopened_text_is_cancelled(page, monkeypatch, model):
    ids = page.ids
    shown_session(page).load(model)
    (earlier,) = page.read()["earlier"]
    other = page.text["model"]["name"]

    def never(seconds=0):
        time.sleep(seconds)
        return False

    waited = channel.load.__globals__["Load"](Choice("bundled"))
    monkeypatch.setattr(waited, "wait", never)
    with monkeypatch.context() as loading:
        loading.setattr("ui.models.first_model.Load.join", lambda choice: waited)
        page.socket.send_json(page.event("reopen", text_number=earlier["number"]))
        stop(page)
        header = page.read()
        page.read()
    assert header["cancelled"] and "still in the list" in header["error"]
    assert page.text["model"]["name"] == other
    page.do("reopen", text_number=earlier["number"])
    assert page.ids == ids


@pytest.fixture
def reopened(page, visits, monkeypatch, tmp_path):
    """The page at a server that has just started, before its hello."""
    page.do("step", count=6)
    visits.keep()
    visits._is_over = True
    monkeypatch.setattr(channel, "VISITS", Visits(Keeper(tmp_path)))
    with client().websocket_connect("/live") as socket:
        yield LivePage(socket, page.visit, page.tab)


def test_replay_after_a_restart_can_be_cancelled(page, reopened, monkeypatch):
    bundled = load("bundled", None, lambda *told: None, lambda: False)
    stops_before(reopened, bundled, 3, monkeypatch)
    assert "you cancelled it after 3" in reopened.hello()["said"]
    assert reopened.read()["kind"] == "answer"
    assert reopened.ids == page.ids[:3]
    (earlier,) = reopened.do("sync")["earlier"]
    assert (earlier["prompt"], earlier["tokens"]) == (OWN, len(page.ids))


def test_model_load_after_a_restart_can_be_cancelled(reopened, monkeypatch):
    def loads(source, revision, told, should_stop):
        stop(reopened)
        wait_for_stop()
        assert should_stop()
        raise Abandoned

    monkeypatch.setattr(channel, "load", loads)
    (notice,) = reopened.hello()["notices"]
    assert notice.endswith("Loading its model was cancelled.")
    assert reopened.text["prompt"] == EXAMPLES[0].prompt
    assert reopened.read()["kind"] == "answer"
    (earlier,) = reopened.do("sync")["earlier"]
    assert earlier["prompt"] == OWN


@pytest.mark.parametrize(
    ("kind", "fields"), [("row", {}), ("admit", {"token_id": 300}), ("find", {"query": "a"})]
)
def test_question_and_prefill_on_new_model_are_cancelled(page, model, kind, fields):
    with SCHEDULER.turn(Kind.STEP):
        shown_session(page).load(model)
        until_passes_wait()
        stop(page)
        header = page.read()
    page.read()
    assert header["number"] is None and header["error"] == busy.PROMPT and header["row"] is None
    header = cancelled(page, kind, **fields)
    assert (header["error"], header["cancelled"]) == (busy.QUESTION, True)
    assert header.get("row") is None
    assert page.do(kind, **fields)["error"] == ""
    assert page.do("step")["length"] == 1


def test_manual_step_keeps_token_when_scores_are_cancelled(page):
    page.do("propose", manual=True)
    header = cancelled(page, "step", manual=True)
    assert len(page.ids) == 5 and header["error"] == busy.SCORES and header["cancelled"]
    assert header["index"] == 4 and not header["step"]["is_pending"]


def test_cancelled_run_keeps_its_tokens(page, monkeypatch):
    monkeypatch.setattr("ui.step.actions.RUN_BUDGET_S", 60)
    stops_before(page, shown_session(page).model, 3, monkeypatch)
    page.socket.send_json(page.event("run", playing=True, limits={"max_tokens": 30}))
    header = page.read()
    assert header["error"] == "Cancelled after 3 tokens, which stay." and len(page.ids) == 7
    assert header["index"] == 6


def wait_for_stop() -> None:
    """Wait until the server has received the stop."""
    for _ in range(2_000):
        if any(each["kind"] == "stop" for one in connections for each in one.waiting):
            return
        time.sleep(0.005)
    raise AssertionError("the server should have heard of it")
