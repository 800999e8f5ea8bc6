"""Messages to the browser: whole at first, then only what it lacks."""

import json
import struct

import numpy as np
import pytest

from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from tests.ui import hostile
from tests.ui.test_session import PROMPT, Visitor
from ui.components.step.message import STEP_FIELDS, message
from ui.events import Have
from ui.session import Session


def read(session: Session) -> tuple[dict, bytes]:
    data = message(session)
    (length,) = struct.unpack_from("<I", data)
    assert length % 4 == 0
    return json.loads(data[4 : 4 + length]), data[4 + length :]


@pytest.fixture
def visitor(bundled) -> Visitor:
    return Visitor(Session(bundled, PROMPT, SamplingSettings()))


def test_the_first_message_is_whole(visitor):
    header, row = read(visitor.session)
    assert header["text"]["prompt"] == PROMPT
    assert header["text"]["model"]["vocab_size"] == visitor.session.model.vocab_size
    assert [label for _, label, _ in header["text"]["prompt_tokens"]][1] == "␣capital"
    assert header["length"] == 0 and header["steps"] == []
    assert header["step"]["is_pending"]
    values = np.frombuffer(row, "<f4", header["row"]["runs"])
    logits = visitor.session.logits()
    assert np.array_equal(values, np.unique(logits)[::-1])


def test_a_later_message_holds_only_what_is_new(visitor):
    read(visitor.session)
    visitor.steps(3)
    header, _ = read(visitor.session)
    assert header["text"] is None
    assert header["first"] == 2
    assert len(header["steps"]) == 1
    step = dict(zip(STEP_FIELDS, header["steps"][0], strict=True))
    recorded = visitor.session.decoder.steps[2]
    assert step["id"] == recorded.token_id
    assert step["u"] == recorded.u
    assert step["probability"] == recorded.probability
    assert step["model_probability"] == pytest.approx(np.exp(recorded.logprob))
    assert step["formula_bytes"] == recorded.cache_bytes


def test_a_row_that_the_browser_has_is_not_sent_again(visitor):
    visitor.steps(1)
    header, row = read(visitor.session)
    assert header["row"] is not None and row
    session = visitor.session
    visitor.do("settings", have=Have(session.run, 1, 1, header["row_key"]))
    again, nothing = read(session)
    assert again["row"] is None and nothing == b""
    assert again["row_key"] == header["row_key"]
    visitor.do("step", have=Have(session.run, 1, 1, header["row_key"]))
    assert read(session)[0]["row"] is not None


def test_the_row_on_screen_is_the_recorded_one(visitor):
    visitor.steps(4)
    visitor.do("inspect", index=1)
    header, _ = read(visitor.session)
    step = visitor.session.decoder.steps[1]
    assert header["index"] == 1
    assert header["step"]["chosen"] == step.token_id
    assert header["step"]["u"] == step.u
    assert header["step"]["recorded_settings"]["temperature"] == 0.8


def test_a_finished_text_has_no_row_to_come(visitor, monkeypatch):
    session = visitor.session
    end = next(iter(session.model.eos_ids))
    visitor.do("force", token_id=end, index=0)
    header, _ = read(session)
    assert header["stop"]["is_over"]
    assert "end-of-text token" in header["stop"]["sentence"]
    visitor.do("inspect", index=1)
    header, _ = read(session)
    assert header["row_key"] == "" and header["row"] is None


def test_a_search_is_answered_once(visitor):
    visitor.do("find", query="paris")
    header, _ = read(visitor.session)
    assert header["found"][0]["label"] == "␣Paris"
    visitor.do("settings")
    assert read(visitor.session)[0]["found"] is None


def test_hostile_labels_travel_as_text():
    model = LanguageModel(hostile.language_model(), hostile.tokenizer(), name="hostile")
    session = Session(model, "w1|<b>bold</b>", SamplingSettings())
    visitor = Visitor(session)
    visitor.settings = SamplingSettings(seed=1)
    visitor.steps(5)
    header, _ = read(session)
    labels = set(header["row"]["labels"])
    assert {"<script>alert(1)</script>", "⟨U+200B⟩", "␍⏎", "◌\u0301", "w" * 300} <= labels


def test_a_failing_forward_pass_is_said_and_loses_nothing(visitor, monkeypatch):
    from engine.errors import OutOfMemoryError

    session = visitor.session
    visitor.steps(2)

    def fail(self, settings=None):
        raise OutOfMemoryError("The device ran out of memory; use a shorter prompt.")

    monkeypatch.setattr("engine.decoder.Decoder.next_distribution", fail)
    visitor.do("inspect", index=2)
    header, _ = read(session)
    assert "out of memory" in header["error"]
    assert header["length"] == 2
