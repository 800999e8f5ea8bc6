"""The step page on the live channel: reload, restart, copies, hand-over, nonsense, many visits."""

import base64
import gc
import gzip
import json
import random
import secrets
import time
import weakref
from dataclasses import dataclass

import pytest
import streamlit as st
from starlette.websockets import WebSocketDisconnect

from engine.decoder import Decoder
from engine.model import BUNDLED
from engine.sampling import SamplingSettings
from tests.engine.test_panics import PANICS, backtracking
from tests.ui.step.live_page import SETTINGS, LivePage, client, opened, reconnected
from tests.ui.visits.test_in_hand import Holder
from ui.models.choice import Choice
from ui.models.chooser import shared_model
from ui.step import channel
from ui.step.events import ACTIONS, QUESTIONS
from ui.step.session import Session
from ui.texts.examples import EXAMPLES
from ui.texts.texts import Beginning
from ui.visits import visits as visits_module
from ui.visits.handover import STEP, HandedOver
from ui.visits.store import Keeper
from ui.visits.tab import TAB, this_person, this_visit
from ui.visits.visits import VISITS, Visits

OWN = "My own prompt: the little dog"


@pytest.fixture
def visits(monkeypatch, tmp_path) -> Visits:
    """A server's visits on their own disk, written only when a test calls `keep`."""
    monkeypatch.setattr(visits_module, "LOOK_SECONDS", 3600.0)
    return started_again(monkeypatch, tmp_path)


def started_again(monkeypatch, tmp_path) -> Visits:
    """Return the visits of a server that starts after the previous one was killed."""
    if channel.VISITS is not VISITS:
        channel.VISITS._is_over = True  # it no longer writes
    visits = Visits(Keeper(tmp_path))
    monkeypatch.setattr(channel, "VISITS", visits)
    return visits


def test_first_page_gets_first_example_and_sampler_table(visits):
    with opened() as page:
        header = page.last
        assert page.text["prompt"] == EXAMPLES[0].prompt
        assert header["table"]["samplers"]
        assert header["examples"]["list"][0]["name"] == EXAMPLES[0].name
        assert header["step"]["is_pending"] and header["row"]["light"]
        assert (header["error"], header["said"], header["notices"]) == ("", "", [])
        assert not {"table", "examples"} & set(page.do("step"))


def test_step_page_shares_its_person_with_other_pages(monkeypatch):
    asked, asking = [], channel.asking
    monkeypatch.setattr(channel, "asking", lambda **who: asked.append(who) or asking(**who))
    token, tab, person = (secrets.token_hex(16) for _ in range(3))
    known = {"token": token, "tab": tab, "person": person}
    monkeypatch.setattr(st, "session_state", {TAB: known})
    with opened(visit=token, tab=tab) as page:
        this_visit()
        page.do("start", prompt=OWN)
    assert asked[0]["person"] == token, "no page was drawn yet"
    assert asked[-1]["person"] == this_person().token == person


def test_steps_match_the_engine(visits, bundled):
    with opened() as page:
        page.do("start", prompt=OWN)
        page.do("step")
        page.do("step", count=9)
        settings = SamplingSettings(temperature=0.8, top_p=0.95, seed=3)
        alone = Decoder(bundled, OWN, settings)
        assert page.ids == [step.token_id for step in alone.run(10)]
        assert "".join(step["text"] for step in page.steps) == alone.text


def test_tokenizer_panic_is_reported_and_keeps_the_text(visits, monkeypatch):
    with opened() as page:
        page.do("start", prompt=OWN)
        page.do("step", count=3)
        before = page.ids
        with monkeypatch.context() as patched:
            vocabulary = shared_model(Choice(BUNDLED)).vocabulary
            patched.setattr(vocabulary, "tokenizer", backtracking("split"))
            for event in (
                {"kind": "tokenize", "query": PANICS},
                {"kind": "start", "prompt": PANICS},
            ):
                assert "gave up on what it was given" in page.do(**event)["error"]
        page.do("step")
        assert page.ids[:3] == before and len(page.ids) == 4


def test_requested_steps_complete_across_several_answers(visits, monkeypatch):
    monkeypatch.setattr("ui.step.actions.STEPS_BUDGET_S", 0.0)
    with opened() as page:
        left, answers = 6, 0
        while left:
            page.socket.send_json(page.event("step", count=left))
            left = page.read()["left"]
            answers += 1
        assert (len(page.steps), answers) == (6, 6)


def test_repeated_event_is_applied_once_and_answered_twice(visits):
    with opened() as page:
        event = page.event("step")
        for _ in range(2):
            page.socket.send_json(event)
            assert page.read()["number"] == event["number"]
        assert len(page.steps) == 1


def test_a_lost_connection_loses_nothing(visits):
    with opened() as page:
        page.do("start", prompt=OWN)
        page.do("step", count=5)
        unanswered = page.event("step")
        page.socket.send_json(unanswered)
        page.read()
        with reconnected(page, 5) as again:
            header = again.last
            assert header["text"] is None and header["first"] == 4 and header["length"] == 6
            assert again.visit == page.visit
            again.socket.send_json(unanswered)
            assert again.read()["length"] == 6
            assert again.ids == page.ids


def test_reload_restores_text_settings_and_position(visits):
    with opened() as page:
        page.settings |= {"order": ["top_p", "xtc"], "xtc": None, "top_p": 0.7}
        page.do("start", prompt=OWN)
        page.do("step", count=4)
        page.do("force", index=2, token_id=300)
        page.do("step", count=2)
        page.do("inspect", index=1)
        ids = page.ids
    with opened(page.visit) as again:
        header = again.last
        assert (again.visit, again.ids) == (page.visit, ids)
        assert (header["branch"], header["index"]) == (2, 1)
        assert again.text["settings"]["order"] == ["top_p", "xtc"]
        assert again.text["settings"]["top_p"] == 0.7
        assert len(header["branches"]) == 2
        assert header["said"] == ""


def test_second_tab_gets_its_own_visit_and_copy(visits):
    with opened() as page:
        page.do("step", count=3)
        with opened(page.visit) as other:
            assert other.visit != page.visit
            assert other.ids == page.ids
            other.do("step")
            page.do("step", count=2)
            assert (len(other.steps), len(page.steps)) == (4, 5)
            with opened(page.visit, other.tab) as same_tab:
                assert same_tab.visit == other.visit, "that tab has its copy already"
        with opened(other.visit) as later:
            assert later.visit == other.visit and later.ids == other.ids


def test_server_restart_restores_texts_branches_and_settings(visits, monkeypatch, tmp_path):
    with opened() as page:
        page.do("start", prompt="A text of before")
        page.do("step", count=3)
        page.do("start", prompt=OWN)
        page.do("step", count=6)
        page.do("force", index=3, token_id=300)
        page.do("step", count=2)
        page.settings["temperature"] = 1.3
        page.do("settings")
        branch = page.ids
        page.do("branch", branch=1)
        ids = page.ids
        visits.keep()
        page.do("step", count=2)  # not kept: the server ends before that
        started_again(monkeypatch, tmp_path)
        with reconnected(page, settings=page.settings) as again:
            assert again.last["text"] is None, "it is the text that the page has"
            assert again.ids == page.ids and len(again.ids) == 8
            assert "8 tokens was generated again; all tokens are the same" in again.last["said"]
    assert ids == page.ids[:6]
    started_again(monkeypatch, tmp_path)
    with opened(page.visit) as later:
        assert later.text["prompt"] == OWN
        assert later.ids == ids
        assert later.text["settings"]["temperature"] == 1.3
        later.do("branch", branch=2)
        assert later.ids == branch
        later.do("sync")
        (earlier,) = later.last["earlier"]
        assert (earlier["prompt"], earlier["tokens"]) == ("A text of before", 3)
        later.do("reopen", text_number=earlier["number"])
        assert later.text["prompt"] == "A text of before" and len(later.steps) == 3


@pytest.mark.parametrize("steps", [2, pytest.param(40, marks=pytest.mark.long)])
def test_page_rebuilds_its_text_when_server_kept_nothing(visits, monkeypatch, tmp_path, steps):
    with opened() as page:
        page.do("start", prompt=OWN)
        page.do("step", count=1)
        page.do("force", index=1, token_id=300)
        page.do("step", count=steps)
    started_again(monkeypatch, tmp_path / "where nothing was kept")
    have = page.have | {"prompt": OWN, "chat": False}
    with reconnected(page, have=have, settings=page.settings) as again:
        header = again.last
        assert (header["run"], header["text"], header["error"]) == (page.run, None, "")
        assert again.ids == page.ids and len(again.ids) == 2 + steps
        again.do("sync", whole=True)
        assert again.text["prompt"] == OWN and again.steps[1]["forced"]


def trace_of(record: dict) -> dict:
    return record["text"]["branches"][0]["trace"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda record: record.pop("text"),
        lambda record: record["text"].update(branches=[]),
        lambda record: record["text"]["settings"].update(chain=[["top_p", {"p": 7}]]),
        lambda record: record["text"]["beginning"].update(prompt=3),
        lambda record: record["text"].update(current=9),
        lambda record: trace_of(record).update(settings=[]),
        lambda record: trace_of(record)["model"].update(source="/no/such/folder"),
        lambda record: trace_of(record)["model"].update(tokenizer_hash="0" * 64),
        lambda record: trace_of(record)["steps"].update(forced=[0], tokens=[10**9]),
    ],
)
def test_broken_record_gives_a_notice_and_new_text(visits, monkeypatch, tmp_path, damage):
    with opened() as page:
        page.do("start", prompt=OWN)
        page.do("step", count=2)
        visits.keep()
    store = Keeper(tmp_path)
    record = store.records(page.visit)[0][STEP]
    damage(record)
    store.put(page.visit, STEP, record)
    store.close()
    started_again(monkeypatch, tmp_path)
    with opened(page.visit) as again:
        (sentence,) = again.last["notices"]
        assert sentence.startswith("Your last text") and sentence.endswith(".")
        assert again.text["prompt"] == EXAMPLES[0].prompt
        assert len(again.do("step")["steps"]) == 1


def test_hand_over_starts_and_keeps_the_previous_text(visits, model):
    with opened() as page:
        page.do("step", count=3)
    visit = visits.open(page.visit, secrets.token_hex(16), "page", lambda: False)
    settings = SamplingSettings(top_k=5, seed=9)
    visit.handed[STEP] = HandedOver(model, Beginning("w1|w2"), settings, 20, ("w4",))
    with opened(page.visit) as again:
        assert again.text["prompt"] == "w1|w2"
        assert again.text["model"]["name"] == model.name
        limits = {"max_tokens": 20, "stop_strings": ["w4"], "thinking_budget": None}
        assert again.text["limits"] == limits
        assert again.text["settings"]["top_k"] == 5
        (before,) = again.last["earlier"]
        again.do("reopen", text_number=before["number"])
        assert again.ids == page.ids


def test_read_only_text_survives_restart_and_becomes_editable(
    visits, model, bundled, monkeypatch, tmp_path
):
    text = Decoder(bundled, OWN, SamplingSettings(seed=4))
    list(text.run(4))
    data = text.trace().to_dict()
    data["model"]["source"] = "/home/alice/model"
    other = json.loads(json.dumps(data))
    other["model"]["weights_hash"] = "0" * 64
    with opened() as page:
        session = visits.open(page.visit, page.tab, "x", lambda: False).present(STEP)
        page.do("open", trace=packed(other))
        visits.keep()
    visits = started_again(monkeypatch, tmp_path)
    with opened(page.visit) as again:
        assert again.text["read_only"] == page.text["read_only"] != ""
        assert again.ids == page.ids == text.token_ids
        assert again.last["recorded"]["chosen"] == text.token_ids[-1]
        session = visits.open(again.visit, again.tab, "x", lambda: False).present(STEP)
        session.load(model)
        assert "so the text stays read-only" in again.read()["said"]
        again.do("open", trace=packed(data))
        assert again.text["read_only"] and again.ids == text.token_ids
        session.load(bundled)
        header = again.read()
        assert again.text["read_only"] == "" and again.ids == text.token_ids
        assert header["row"] and "identical in all 4 steps" in header["said"]
        again.do("step", settings=SETTINGS | {"temperature": 1, "top_p": 1, "seed": 4})
        assert again.ids == [*text.token_ids, text.step().token_id]
        session.load(model)
        again.read()
        again.do("open", trace=packed(data))
        visits.keep()
    started_again(monkeypatch, tmp_path)
    with opened(page.visit) as at_last:
        assert "identical in all 4 steps" in at_last.last["said"], "by what a visit begins with"


def packed(trace: dict) -> str:
    return base64.b64encode(gzip.compress(json.dumps(trace).encode())).decode()


def test_new_start_interrupts_a_replay_and_keeps_texts(visits, monkeypatch, tmp_path):
    with opened() as page:
        page.do("start", prompt=OWN)
        page.do("step", count=40)
        page.do("start", prompt="Another")
        page.do("step")
        page.do("sync")
        number = page.last["earlier"][0]["number"]
        slow = Session.__init__.__globals__["replay"]
        events = []

        def interrupted(record, model, told, should_stop):
            page.socket.send_json(page.event("start", prompt="A third"))
            return slow(record, model, told, lambda: len(events) > 3 or events.append(0))

        monkeypatch.setattr("ui.step.session.replay", interrupted)
        page.socket.send_json(page.event("reopen", text_number=number))
        assert page.read()["cancelled"] and page.text["prompt"] == "Another"
        monkeypatch.undo()
        page.read()
        assert page.text["prompt"] == "A third"
        page.do("sync")
        kept = [(text["prompt"], text["tokens"]) for text in page.last["earlier"]]
        assert kept == [(OWN, 40), ("Another", 1)]


# --- nonsense -------------------------------------------------------------------------------------


def test_forged_events_are_answered_and_keep_the_text(visits):
    generator = random.Random(7)
    values = [None, True, -1, 0, 3, 10**30, 1e308, "", "x" * 50, [], [[]], {}, {"a": 1}, [1, "b"]]
    names = [
        *("at", "settings", "limits", "count", "index", "token_id", "branch", "text_number"),
        *("prompt", "guided", "negative_prompt", "guidance_scale", "strategy", "query", "ids"),
        *("setting", "field", "value", "whole", "what_if", "playing", "manual", "chat", "part"),
    ]
    quiet = [k for k in (*ACTIONS, *QUESTIONS) if k not in ("start", "rewind", "back", "reopen")]
    with opened() as page:
        page.do("start", prompt=OWN)
        page.do("step", count=2)
        ids = page.ids
        for _ in range(250):
            forged = {generator.choice(names): generator.choice(values) for _ in range(3)}
            page.number += 1
            event = {"client": page.client, "number": page.number, **forged}
            event["kind"] = generator.choice(quiet)
            page.socket.send_json(event)
            header = page.read()
            assert header["kind"] in ("state", "answer")
            assert "unexpected error" not in header["error"], event
        page.do("sync")
        assert page.ids[:2] == ids
        page.do("step")
        assert page.last["error"] == ""


@pytest.mark.parametrize("kind", [None, "hello", ["step"]])
def test_event_of_unknown_kind_is_refused(visits, kind):
    with opened() as page:
        page.socket.send_json({"client": page.client, "number": 1, "kind": kind})
        assert page.read()["error"].endswith(".")
        page.number = 1
        assert page.do("step")["length"] == 1


@pytest.mark.parametrize("first", [{"visit": "x"}, {"visit": None}, {"tab": "A" * 32}, {"have": 3}])
def test_malformed_hello_is_refused_with_a_sentence(visits, first):
    with client().websocket_connect("/live") as socket:
        page = LivePage(socket)
        header = page.hello(**first)
        assert header["kind"] == "failed" and header["error"].endswith(".")
        with pytest.raises(WebSocketDisconnect):
            socket.receive_bytes()


def test_unexpected_error_gets_a_number_and_page_continues(visits, monkeypatch):
    with opened() as page:
        page.do("step")

        def broken(*_):
            raise ZeroDivisionError("a secret")

        monkeypatch.setattr(channel.Session, "apply", broken)
        header = page.do("step")
        assert (
            "this number to the person who runs this app: " in header["error"]
            and "secret" not in header["error"]
        )
        monkeypatch.undo()
        monkeypatch.setattr(channel, "VISITS", visits)
        assert page.do("step")["length"] == 2


def test_page_failure_is_logged_with_a_number(visits, caplog):
    with opened() as page:
        header = page.do("failed", part="charts", message="toFixed of undefined", stack="at x.js:3")
        number = header["report"].rstrip(".").split()[-1]
        assert number in caplog.text and "toFixed of undefined" in caplog.text
        for _ in range(30):
            header = page.do("failed", part="charts", message="again", stack="")
        assert header["report"] == ""


def test_session_text_never_reaches_another_visitor(visits):
    canary = "canary-" + secrets.token_hex(4)
    with opened() as page, opened() as other:
        page.do("start", prompt=canary)
        page.do("step")
        for kind in ("sync", "trace", "snippets", "row"):
            assert canary not in json.dumps(other.do(kind))


# --- many visits ----------------------------------------------------------------------------------


def test_closed_visits_release_their_memory(visits, monkeypatch):
    monkeypatch.setattr("ui.visits.visits.LEAVE_SECONDS", 0.0)
    sessions, texts = weakref.WeakSet(), weakref.WeakSet()
    for _ in range(6):
        with opened() as page:
            page.do("step", count=2)
            session = visits.open(page.visit, page.tab, "x", lambda: False).present(STEP)
            if session is not None:
                sessions.add(session)
                texts.add(session.decoder)
            del session
    assert sessions
    for _ in range(100):  # on a busy machine the last threads take time to end
        visits.look()
        gc.collect()
        if not texts:
            break
        time.sleep(0.05)
    assert (len(visits), len(sessions), len(texts)) == (0, 0, 0)
    with opened(page.visit) as again:
        assert again.ids == page.ids and "generated again" in again.last["said"]


def test_visit_is_refused_while_its_address_is_full(visits, monkeypatch):
    monkeypatch.setattr("ui.visits.visits.MOST_IN_MEMORY", 4)  # one address gets half
    with opened() as one, opened() as two:
        with client().websocket_connect("/live") as socket:
            assert "try again in a minute" in LivePage(socket).hello()["error"]
        one.do("step")
        two.do("step")
    with opened() as three:
        three.do("step")
        assert len(visits) == 3


def test_prompt_from_another_page_starts_or_is_offered(visits):
    with opened() as page:
        visit, tab = page.visit, page.tab
    elsewhere = Elsewhere("tokens", "Once")
    held = visits.open(visit, tab, "test")
    held.put("tokens", elsewhere)
    held.note_prompts()
    elsewhere.prompt = "The cat"
    with opened(visit, tab) as page:
        assert page.text["prompt"] == "The cat" and "draft" not in page.last
        page.do("step")
    elsewhere.prompt = "The dog"
    for _ in range(2):  # until something else has begun
        with opened(visit, tab) as page:
            assert page.last["draft"] == {"prompt": "The dog", "chat": False, "before": []}
            assert page.text["prompt"] == "The cat" and len(page.steps) == 1
    with opened(visit, tab) as page:
        page.do("start", prompt="A bird")
    with opened(visit, tab) as page:
        assert page.text["prompt"] == "A bird" and "draft" not in page.last


@dataclass
class Elsewhere(Holder):
    """A page of another kind."""

    version: int = 0

    def record(self) -> None:
        return None

    def release(self) -> None:
        pass
