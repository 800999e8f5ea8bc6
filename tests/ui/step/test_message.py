"""Messages to the browser: complete at first, then only the missing parts."""

import numpy as np
import pytest

from engine.errors import SettingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Mirostat, Temperature, TopP, Xtc
from tests.ui import hostile
from tests.ui.step.visitor import PROMPT, Visitor
from ui.step.message import STEP_FIELDS
from ui.step.session import Session
from ui.texts.settings import FIRST, breaker_ids, parse_settings


@pytest.fixture
def visitor(bundled) -> Visitor:
    return Visitor(Session(bundled, PROMPT, SamplingSettings()))


def test_first_message_is_complete(visitor):
    header, row = visitor.read(whole=True)
    assert header["kind"] == "state"
    assert header["text"]["prompt"] == PROMPT
    assert header["text"]["model"]["vocab_size"] == visitor.session.model.vocab_size
    assert [label for _, label, _ in header["text"]["prompt_tokens"]][1] == "␣upon"
    assert header["length"] == 0 and header["steps"] == []
    assert header["step"]["is_pending"]
    values = np.frombuffer(row, "<f4", header["row"]["runs"])
    logits = visitor.session.logits()
    assert np.array_equal(values, np.unique(logits)[::-1])


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


def test_inspected_step_shows_its_recorded_values(visitor):
    visitor.steps(4)
    visitor.do("inspect", index=1)
    header, _ = visitor.read()
    step = visitor.session.decoder.steps[1]
    assert header["index"] == 1
    assert header["step"]["chosen"] == step.token_id
    assert header["step"]["u"] == step.u
    assert header["step"]["recorded_settings"]["temperature"] == 0.8
    assert header["shaped"]["settings"]["temperature"] == 0.8


def test_finished_text_has_no_next_row(visitor, monkeypatch):
    session = visitor.session
    end = next(iter(session.model.eos_ids))
    visitor.do("force", token_id=end, index=0)
    header, _ = visitor.read()
    assert header["stop"]["is_over"]
    assert "end-of-text token" in header["stop"]["sentence"]
    visitor.do("inspect", index=1)
    header, _ = visitor.read()
    assert header["row_key"] == "" and header["row"] is None


def test_first_message_has_sampler_order_and_defaults(visitor):
    header, _ = visitor.read()
    text = header["text"]
    assert text["settings"]["order"] == list(FIRST)
    assert text["settings"]["top_k"] == 0
    breakers = breaker_ids(visitor.session.model.vocabulary)
    assert text["stage_defaults"]["dry"]["breakers"] == list(breakers)


def test_inactive_samplers_keep_their_places(visitor):
    order = ("top_p", "dry", "temperature", "xtc")
    visitor.settings = SamplingSettings(chain=[TopP(0.9), Temperature(0.5)], seed=8)
    visitor.do("settings", order=order)
    header, _ = visitor.read_all()
    assert header["text"]["settings"] == {
        "order": list(order),
        "top_p": 0.9,
        "dry": None,
        "temperature": 0.5,
        "xtc": None,
        "seed": 8,
    }


def test_past_step_reports_its_own_chain(visitor):
    recorded = SamplingSettings(chain=[TopP(0.9), Xtc(0.2, 0.7), Temperature(0.5)], seed=8)
    visitor.settings = recorded
    visitor.steps(2)
    visitor.settings = SamplingSettings(top_k=3)
    visitor.do("inspect", index=1)
    header, _ = visitor.read()
    assert parse_settings(header["step"]["recorded_settings"])[0] == recorded


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


def test_every_step_reports_its_mirostat_state(visitor):
    visitor.settings = SamplingSettings(mirostat=Mirostat(tau=3.0), seed=4)
    visitor.do("start", prompt="Once upon a time")
    visitor.steps(4)
    session = visitor.session
    mus = [step.mirostat_mu for step in session.decoder.steps]
    assert mus[0] == 6.0 and len(set(mus)) == 4
    header, _ = visitor.read_all()
    place = STEP_FIELDS.index("stage_states")
    assert [step[place] for step in header["steps"]] == [[["mirostat", "mu", mu]] for mu in mus]
    for index, mu in enumerate(mus):
        visitor.do("inspect", index=index)
        assert told_mu(visitor) == mu
    visitor.do("inspect", index=4)
    upcoming = told_mu(visitor)
    visitor.do("step")
    assert session.decoder.steps[4].mirostat_mu == upcoming


def told_mu(visitor) -> float:
    return visitor.read_all()[0]["shaped"]["outcomes"][0]["figures"]["mu"]


def test_changed_tau_resets_mirostat(visitor):
    visitor.settings = SamplingSettings(mirostat=Mirostat(tau=3.0), seed=4)
    visitor.steps(2)
    visitor.settings = SamplingSettings(mirostat=Mirostat(tau=2.0), seed=4)
    visitor.do("settings")
    visitor.do("inspect", index=2)
    assert told_mu(visitor) == 4.0
    visitor.do("step")
    assert visitor.session.decoder.steps[2].mirostat_mu == 4.0


def test_a_step_without_mirostat_has_no_state(visitor):
    visitor.steps(2)
    place = STEP_FIELDS.index("stage_states")
    assert [step[place] for step in visitor.read_all()[0]["steps"]] == [[], []]


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
        "limits": {"max_tokens": 9, "stop_strings": []},
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


def test_hostile_labels_are_sent_as_text():
    model = LanguageModel(hostile.language_model(), hostile.tokenizer(), name="hostile")
    session = Session(model, "w1|<b>bold</b>", SamplingSettings())
    visitor = Visitor(session)
    visitor.settings = SamplingSettings(seed=1)
    visitor.steps(5)
    header, _ = visitor.read()
    labels = {label for _, label in header["row"]["labels"]}
    assert {"<script>alert(1)</script>", "⟨U+200B⟩", "␍⏎", "◌\u0301", "w" * 300} <= labels


def test_failed_forward_pass_is_reported_and_keeps_text(visitor, monkeypatch):
    from engine.errors import OutOfMemoryError

    visitor.steps(2)

    def fail(self, settings=None):
        raise OutOfMemoryError("The device ran out of memory; use a shorter prompt.")

    monkeypatch.setattr("engine.decoder.Decoder.next_distribution", fail)
    visitor.do("inspect", index=2)
    header, _ = visitor.read()
    assert "out of memory" in header["error"]
    assert header["length"] == 2
