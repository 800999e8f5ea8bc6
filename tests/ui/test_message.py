"""Messages to the browser: whole at first, then only what it lacks."""

import dataclasses
import json
import struct

import numpy as np
import pytest

from engine.errors import SettingError
from engine.model import LanguageModel
from engine.sampling import (
    Banned,
    LogitBias,
    Mirostat,
    SamplingSettings,
    Temperature,
    TopK,
    TopP,
    Xtc,
)
from tests.ui import hostile
from tests.ui.test_session import PROMPT, Visitor
from ui.shared.settings import CARDS, breaker_ids, parse_settings
from ui.step import message as message_module
from ui.step.events import Have
from ui.step.message import STEP_FIELDS, message
from ui.step.session import Session


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
    assert [label for _, label, _ in header["text"]["prompt_tokens"]][1] == "␣upon"
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


def test_the_first_message_has_the_chain_with_its_cards(visitor):
    header, _ = read(visitor.session)
    text = header["text"]
    assert text["settings"]["order"] == list(CARDS)
    assert text["settings"]["top_k"] == 0
    assert text["model"]["eos_ids"] == list(visitor.session.model.eos_ids)
    breakers = breaker_ids(visitor.session.model.vocabulary)
    assert text["stage_defaults"]["dry"]["breakers"] == list(breakers)
    assert all(settings["settings"]["order"] == list(CARDS) for settings in text["examples"])


def test_cards_that_are_off_come_back_in_their_places(visitor):
    order = ("top_p", "dry", "temperature", "xtc")
    visitor.settings = SamplingSettings(chain=[TopP(0.9), Temperature(0.5)], seed=8)
    visitor.do("settings", order=order, have=Have())
    header, _ = read(visitor.session)
    assert header["text"]["settings"] == {
        "order": list(order),
        "top_p": 0.9,
        "dry": None,
        "temperature": 0.5,
        "xtc": None,
        "seed": 8,
    }


def test_the_recorded_chain_is_the_one_that_the_step_was_taken_with(visitor):
    recorded = SamplingSettings(chain=[TopP(0.9), Xtc(0.2, 0.7), Temperature(0.5)], seed=8)
    visitor.settings = recorded
    visitor.steps(2)
    visitor.settings = SamplingSettings(top_k=3)
    visitor.do("inspect", index=1)
    header, _ = read(visitor.session)
    assert parse_settings(header["step"]["recorded_settings"])[0] == recorded


def test_a_step_comes_with_its_second_number_whatever_the_chain(visitor):
    visitor.settings = SamplingSettings(xtc=Xtc(0.05, 0.5), seed=4)
    visitor.steps(3)
    session = visitor.session
    recorded = [step.xtc_uniform for step in session.decoder.steps]
    assert len(set(recorded)) == 3
    visitor.settings = SamplingSettings(seed=4)
    for index in range(3):
        visitor.do("inspect", index=index)
        assert read(session)[0]["step"]["xtc_u"] == recorded[index]
    visitor.do("inspect", index=3)
    upcoming = read(session)[0]["step"]
    assert upcoming["is_pending"]
    visitor.settings = SamplingSettings(xtc=Xtc(0.05, 0.5), seed=4)
    visitor.do("step")
    assert session.decoder.steps[3].xtc_uniform == upcoming["xtc_u"]
    visitor.settings = SamplingSettings(seed=5)
    visitor.do("inspect", index=1)
    assert read(session)[0]["step"]["xtc_u"] == recorded[1], "the step's own seed counts"


def test_mirostats_state_comes_with_every_step(visitor):
    visitor.settings = SamplingSettings(mirostat=Mirostat(tau=3.0), seed=4)
    visitor.do("start", prompt="Once upon a time")
    visitor.steps(4)
    session = visitor.session
    mus = [step.mirostat_mu for step in session.decoder.steps]
    assert mus[0] == 6.0 and len(set(mus)) == 4
    visitor.do("sync", have=Have())
    header, _ = read(session)
    place = STEP_FIELDS.index("mirostat_mu")
    assert [step[place] for step in header["steps"]] == mus
    for index, mu in enumerate(mus):
        visitor.do("inspect", index=index)
        step = read(session)[0]["step"]
        assert step["mirostat"] == ({"tau": 3.0, "mu": mu} if index else None)
    visitor.do("inspect", index=4)
    upcoming = read(session)[0]["step"]
    visitor.do("step")
    assert session.decoder.steps[4].mirostat_mu == upcoming["mirostat"]["mu"]


def test_another_tau_begins_anew_and_the_old_state_still_comes_along(visitor):
    visitor.settings = SamplingSettings(mirostat=Mirostat(tau=3.0), seed=4)
    visitor.steps(2)
    session = visitor.session
    visitor.settings = SamplingSettings(mirostat=Mirostat(tau=2.0), seed=4)
    visitor.do("inspect", index=2)
    step = read(session)[0]["step"]
    assert step["mirostat"]["tau"] == 3.0 and step["mirostat"]["mu"] != 6.0
    visitor.do("step")
    assert session.decoder.steps[2].mirostat_mu == 4.0


def test_a_step_without_mirostat_has_no_state(visitor):
    visitor.steps(2)
    header, _ = read(visitor.session)
    assert header["step"]["mirostat"] is None
    assert "mirostat_mu" not in header["step"]


def test_what_is_in_force_comes_where_settings_were_refused(visitor):
    session = visitor.session
    visitor.settings = SamplingSettings(temperature=0.5, seed=4)
    visitor.do("settings", order=("temperature", "top_k"), max_tokens=9)
    assert read(session)[0]["in_force"] is None
    good = visitor.settings
    visitor.settings = SamplingSettings(top_k=session.model.vocab_size + 1)
    visitor.do("settings", order=("top_k",), max_tokens=20)
    header, _ = read(session)
    assert "top_k" in header["error"]
    assert header["in_force"] == {
        "settings": {"order": ["temperature", "top_k"], "temperature": 0.5, "top_k": 0, "seed": 4},
        "limits": {"max_tokens": 9, "stop_strings": []},
        "guidance_scale": None,
        "strategy": None,
    }
    visitor.settings = good
    visitor.do("force", token_id=session.model.vocab_size)  # another failure: the settings hold
    header, _ = read(session)
    assert header["error"] and header["in_force"] is None
    session.refuse("a page", 7, SettingError("top_p", 4, "is too much", "use 1"))
    assert read(session)[0]["in_force"]["settings"]["temperature"] == 0.5


def test_texts_are_answered_with_their_tokens_once(visitor):
    visitor.do("tokenize", query=" Paris")
    header, _ = read(visitor.session)
    (token,) = header["tokenized"]
    logits = visitor.session.logits()
    assert token["label"] == "␣Paris"
    assert token["logit"] == logits[token["id"]]
    higher = int((logits > token["logit"]).sum())
    assert higher < token["raw_rank"] <= higher + int((logits == token["logit"]).sum())
    visitor.do("settings")
    assert read(visitor.session)[0]["tokenized"] is None


def test_a_token_that_cannot_come_has_a_rank_and_no_logit(model, monkeypatch):
    session = Session(model, "w1|w2", SamplingSettings())
    session.logits()
    row = session.decoder._next
    logits = row.logits.copy()
    logits[session.model.vocabulary.encode("w5")] = -np.inf
    monkeypatch.setattr(session.decoder, "_next", dataclasses.replace(row, logits=logits))
    visitor = Visitor(session)
    visitor.settings = SamplingSettings()
    visitor.do("tokenize", query="w5")
    (token,) = read(session)[0]["tokenized"]
    assert token["logit"] is None and token["raw_rank"] == model.vocab_size


def test_code_for_other_programs_travels_as_plain_values(visitor):
    visitor.settings = SamplingSettings(xtc=Xtc())
    visitor.do("snippets")
    snippets = read(visitor.session)[0]["snippets"]
    assert all(
        snippet.keys() == {"target", "language", "code", "lacking", "differs"}
        for snippet in snippets
    )
    transformers = next(s for s in snippets if s["target"] == "transformers")
    assert [setting for setting, _ in transformers["lacking"]] == ["xtc"]
    visitor.do("settings")
    assert read(visitor.session)[0]["snippets"] is None


def test_tokens_that_a_stage_edits_come_with_their_labels(visitor):
    token_id = int(np.argmin(visitor.session.logits()))
    visitor.settings = SamplingSettings(logit_bias={token_id: 5.0}, banned=[[token_id, 300]])
    visitor.do("inspect", index=0)
    header, _ = read(visitor.session)
    label = visitor.session.model.vocabulary.label(300).replace(" ", "␣")
    assert [300, label] in header["row"]["edited_labels"]
    assert token_id in dict(header["row"]["edited_labels"])


class TestLargeVocabulary:
    """A row of which the browser knows only the leading ids; here from 64 tokens on."""

    @pytest.fixture
    def visitor(self, model, monkeypatch):
        monkeypatch.setattr("ui.components.rows.SMALL_VOCABULARY", 8)
        monkeypatch.setattr("ui.components.rows.HEAD", 4)
        monkeypatch.setattr(message_module, "SMALL_VOCABULARY", 8)
        visitor = Visitor(Session(model, "w1|w2", SamplingSettings()))
        visitor.settings = SamplingSettings()
        return visitor

    @staticmethod
    def seen(row: dict, data: bytes) -> set[int]:
        place = 8 * row["runs"] + 4 * row["known"]
        return set(np.frombuffer(data, "<u4", row["seen"], place).tolist())

    def test_the_ranks_of_tokens_that_a_stage_edits_come_along(self, visitor):
        session = visitor.session
        before, data = read(session)
        eos_ids = session.model.eos_ids
        assert eos_ids and set(eos_ids) <= self.seen(before["row"], data)

        chain = [LogitBias({40: 1.0}), Banned([[41], [42, 43]])]
        visitor.settings = SamplingSettings(chain=chain)
        have = Have(session.run, 1, 0, before["row_key"])
        visitor.do("settings", have=have)
        after, data = read(session)
        assert after["row"] is not None, "the ranks are new, so the row is sent again"
        assert {40, 41, 42, 43} <= self.seen(after["row"], data)

        visitor.settings = SamplingSettings(chain=[TopK(5), *chain])
        visitor.do("settings", have=Have(session.run, 1, 0, after["row_key"]))
        assert read(session)[0]["row"] is None, "the same tokens, so nothing is lacking"

    def test_bins_come_with_what_the_engine_made_of_them(self, visitor, monkeypatch):
        monkeypatch.setattr("ui.components.rows.MOST_RUNS", 8)
        session = visitor.session
        chain = [TopP(0.95), Xtc(0.01, 1.0)]
        visitor.settings = SamplingSettings(chain=chain)
        visitor.do("step", playing=True)
        row = read(session)[0]["row"]
        assert not row["exact"]
        assert parse_settings(row["engine_settings"])[0] == visitor.settings
        stages = session.decoder.distribution(0).stages
        assert [stage["survivors"] for stage in row["engine_stages"]] == [
            stage.survivors for stage in stages
        ]
        assert [stage["first_rank"] for stage in row["engine_stages"]] == [
            1,
            stages[1].after.start + 1,
        ]
        assert row["engine_stages"][1]["first_rank"] > 1

    def test_bins_of_which_nothing_is_left_come_without(self, visitor, monkeypatch):
        monkeypatch.setattr("ui.components.rows.MOST_RUNS", 8)
        session = visitor.session
        visitor.do("step")
        every = [[token_id] for token_id in range(session.model.vocab_size)]
        visitor.settings = SamplingSettings(banned=every, min_new_tokens=3)
        visitor.do("inspect", index=0, playing=True)
        header, _ = read(session)
        assert not header["row"]["exact"]
        assert header["row"]["engine_stages"] is None
        assert "took the last of them" in header["error"]


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
