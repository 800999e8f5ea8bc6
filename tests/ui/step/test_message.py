"""Messages to the browser: complete at first, then only the missing parts."""

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.errors import OutOfMemoryError, SettingError
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Mirostat, Temperature, TopP, Xtc
from tests.ui import hostile
from tests.ui.components.test_rows import unpack
from tests.ui.step.visitor import PROMPT, Visitor
from ui.step.message import STEP_FIELDS
from ui.step.session import Session
from ui.texts.settings import FIRST, breaker_ids, parse_settings


def test_first_message_is_complete(visitor, session):
    header, row = visitor.read(whole=True)
    assert header["kind"] == "state"
    text = header["text"]
    assert text["prompt"] == PROMPT
    assert text["model"]["vocab_size"] == session.model.vocab_size
    assert [label for _, label, _ in text["prompt_tokens"]][1] == "␣upon"
    assert (text["settings"]["order"], text["settings"]["top_k"]) == (list(FIRST), 0)
    breakers = breaker_ids(session.model.vocabulary)
    assert text["stage_defaults"]["dry"]["breakers"] == list(breakers)
    assert header["length"] == 0 and header["steps"] == []
    assert header["step"]["is_pending"]
    assert np.array_equal(unpack(header["row"], row).values, np.unique(session.logits())[::-1])


def test_later_message_contains_only_new_parts(visitor):
    visitor.read()
    visitor.steps(2)
    visitor.read()
    visitor.steps(1)
    header, _ = visitor.read()
    assert header["text"] is None
    assert header["first"] == 2
    assert len(header["steps"]) == 1
    assert not {"branches", "earlier", "remarks", "step_fields"} & set(header)
    step = dict(zip(STEP_FIELDS, header["steps"][0], strict=True))
    recorded = visitor.session.decoder.steps[2]
    assert step["text"] == recorded.text
    assert step["id"] == recorded.token_id
    assert step["u"] == recorded.u
    assert step["probability"] == recorded.probability
    assert step["model_probability"] == pytest.approx(np.exp(recorded.logprob))
    assert step["formula_bytes"] == recorded.cache_bytes


def test_row_is_not_resent_to_the_same_page(visitor):
    visitor.steps(1)
    header, row = visitor.read()
    assert header["row"]["light"] and row
    visitor.do("settings")
    again, nothing = visitor.read()
    assert again["row"] is None and "shaped" not in again and nothing == b""
    assert again["row_key"] == header["row_key"]
    whole, data = visitor.whole_row()
    assert whole["row"]["exact"] and len(data) > len(row)
    assert visitor.whole_row()[0]["row"]["exact"]  # a page that asks again does not have it
    visitor.do("settings")
    assert visitor.read(whole=True)[0]["row"] is None
    visitor.do("step")
    assert visitor.read()[0]["row"]["light"]


def test_changed_settings_send_results_but_no_row(visitor):
    visitor.do("propose")
    visitor.read()
    for settings in (SamplingSettings(top_p=0.5), SamplingSettings(top_k=5)):
        visitor.settings = settings
        visitor.do("settings", order=("top_p", "top_k"))
        header, data = visitor.read()
        assert (header["row"], data) == (None, b"")
        assert parse_settings(header["shaped"]["settings"])[0] == settings


def test_sync_sends_the_complete_state(visitor):
    visitor.steps(2)
    visitor.read()
    visitor.do("sync")
    header, data = visitor.read()
    assert header["text"] is not None and len(header["steps"]) == 2
    assert header["row"] is not None and data
    assert header["step_fields"] == list(STEP_FIELDS)


def test_labels_are_sent_once_per_vocabulary(visitor):
    seen = set()
    for _ in range(4):
        visitor.steps(1)
        labels = visitor.read()[0]["row"]["labels"]
        ids = [token_id for token_id, _ in labels]
        assert not seen & set(ids)
        seen |= set(ids)
    leading = visitor.session.raw().ids[:64].tolist()
    assert set(leading) <= seen


def test_past_step_shows_its_recorded_values(visitor, session):
    recorded = SamplingSettings(chain=[TopP(0.9), Xtc(0.2, 0.7), Temperature(0.5)], seed=8)
    visitor.settings = recorded
    visitor.steps(3)
    visitor.settings = SamplingSettings(top_k=3)
    visitor.do("inspect", index=1)
    header, _ = visitor.read()
    step = session.decoder.steps[1]
    assert header["index"] == 1
    assert (header["step"]["chosen"], header["step"]["u"]) == (step.token_id, step.u)
    for shown in (header["step"]["recorded_settings"], header["shaped"]["settings"]):
        assert parse_settings(shown)[0] == recorded
    visitor.do("inspect", index=1, what_if=True)
    shown = visitor.read()[0]["shaped"]["settings"]
    assert parse_settings(shown)[0] == visitor.settings


def test_finished_text_has_no_next_row(visitor, session):
    visitor.do("force", token_id=next(iter(session.model.eos_ids)), index=0)
    header, _ = visitor.read()
    assert header["stop"]["is_over"]
    assert "end-of-text token" in header["stop"]["sentence"]
    visitor.do("inspect", index=1)
    header, _ = visitor.read()
    assert header["row_key"] == "" and header["row"] is None


def test_step_reports_its_xtc_number_for_any_chain(visitor):
    visitor.settings = SamplingSettings(xtc=Xtc(0.05, 0.5), seed=4)
    visitor.steps(3)
    session = visitor.session
    recorded = [step.xtc_uniform for step in session.decoder.steps]
    assert len(set(recorded)) == 3
    visitor.settings = SamplingSettings(seed=4)
    for index in range(3):
        visitor.do("inspect", index=index)
        assert visitor.read()[0]["step"]["xtc_u"] == recorded[index]
    visitor.do("inspect", index=3)
    upcoming = visitor.read()[0]["step"]
    assert upcoming["is_pending"]
    visitor.settings = SamplingSettings(xtc=Xtc(0.05, 0.5), seed=4)
    visitor.do("step")
    assert session.decoder.steps[3].xtc_uniform == upcoming["xtc_u"]
    visitor.settings = SamplingSettings(seed=5)
    visitor.do("inspect", index=1)
    assert visitor.read()[0]["step"]["xtc_u"] == recorded[1], "the step's own seed counts"


def test_every_step_reports_its_mirostat_state(visitor, session):
    def states() -> list:
        place = STEP_FIELDS.index("stage_states")
        return [step[place] for step in visitor.read_all()[0]["steps"]]

    def mu_of(index: int) -> float:
        visitor.do("inspect", index=index)
        return visitor.read_all()[0]["shaped"]["outcomes"][0]["figures"]["mu"]

    visitor.steps(1)
    assert states() == [[]], "without mirostat"
    visitor.settings = SamplingSettings(mirostat=Mirostat(tau=3.0), seed=4)
    visitor.do("start", prompt="Once upon a time")
    visitor.steps(4)
    mus = [step.mirostat_mu for step in session.decoder.steps]
    assert mus[0] == 6.0 and len(set(mus)) == 4
    assert states() == [[["mirostat", "mu", mu]] for mu in mus]
    assert [mu_of(index) for index in range(4)] == mus
    upcoming = mu_of(4)
    visitor.do("step")
    assert session.decoder.steps[4].mirostat_mu == upcoming
    visitor.settings = SamplingSettings(mirostat=Mirostat(tau=2.0), seed=4)
    assert mu_of(5) == 4.0, "a new tau starts over"
    visitor.do("step")
    assert session.decoder.steps[5].mirostat_mu == 4.0


def test_refused_settings_send_those_in_force(visitor):
    session = visitor.session
    visitor.settings = SamplingSettings(temperature=0.5, seed=4)
    visitor.do("settings", order=("temperature", "top_k"), max_tokens=9)
    assert "in_force" not in visitor.read()[0]
    good = visitor.settings
    visitor.settings = SamplingSettings(top_k=session.model.vocab_size + 1)
    visitor.do("settings", order=("top_k",), max_tokens=20)
    header, _ = visitor.read()
    assert "top_k" in header["error"]
    assert header["in_force"] == {
        "settings": {"order": ["temperature", "top_k"], "temperature": 0.5, "top_k": 0, "seed": 4},
        "limits": {"max_tokens": 9, "stop_strings": [], "thinking_budget": None},
        "guidance_scale": None,
        "strategy": None,
    }
    visitor.settings = good
    visitor.do("force", token_id=session.model.vocab_size)  # a different failure: the settings hold
    header, _ = visitor.read()
    assert header["error"] and "in_force" not in header
    session.refuse("a page", 7, SettingError("top_p", 4, "is too much", "use 1"))
    assert visitor.read()[0]["in_force"]["settings"]["temperature"] == 0.5


def test_edited_tokens_are_sent_with_labels(visitor):
    token_id = int(np.argmin(visitor.session.logits()))
    visitor.settings = SamplingSettings(logit_bias={token_id: 5.0}, banned=[[token_id, 300]])
    visitor.do("propose")
    header, _ = visitor.read()
    label = visitor.session.model.vocabulary.label(300).replace(" ", "␣")
    labels = dict(map(tuple, header["labels"]))
    assert labels[300] == label
    assert token_id in labels


def test_small_hostile_vocabulary_is_sent_whole_as_text(model):
    visitor = Visitor(Session(model, "w1|<b>bold</b>", SamplingSettings(top_p=0.9)))
    header, _ = visitor.read()
    assert header["row"]["exact"] and "shaped" not in header
    labels = {label for _, label in header["row"]["labels"]}
    assert len(header["row"]["labels"]) == len(hostile.VOCAB)
    assert {"<script>alert(1)</script>", "⟨U+200B⟩", "␍⏎", "◌\u0301", "w" * 300} <= labels


def test_failed_forward_pass_is_reported_and_keeps_text(visitor, monkeypatch):
    visitor.steps(2)

    def fail(self, settings=None):
        raise OutOfMemoryError("The device ran out of memory; use a shorter prompt.")

    monkeypatch.setattr(Decoder, "next_distribution", fail)
    visitor.do("inspect", index=2)
    header, _ = visitor.read()
    assert "out of memory" in header["error"]
    assert header["length"] == 2
