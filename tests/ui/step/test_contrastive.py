"""Contrastive search on the step page: begun, taken back and forward, never drawn or forced."""

import json

import pytest

from engine.decoding.contrastive import ContrastiveSearch
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Banned
from tests.ui.step.visitor import PROMPT, Visitor
from ui.step.record import TextRecord
from ui.step.session import Session
from ui.texts.texts import Contrastive

SEARCH = Contrastive(5, 0.6)


@pytest.fixture
def visitor(bundled) -> Visitor:
    visitor = Visitor(Session(bundled, PROMPT, SamplingSettings()))
    visitor.do("start", prompt=PROMPT, strategy=SEARCH)
    assert visitor.session.error == ""
    return visitor


def steps(visitor: Visitor, count: int, alpha: float = 0.6) -> list[int]:
    for _ in range(count):
        visitor.do("step", strategy=Contrastive(5, alpha))
    assert visitor.session.error == ""
    return visitor.session.decoder.token_ids


def test_step_back_and_rewind_follow_the_search(visitor, session, bundled):
    header = visitor.read_all()[0]
    assert "search" not in header and header["row"] is None and header["error"] == ""
    tokens = steps(visitor, 6)
    alone = ContrastiveSearch(bundled, PROMPT, 5, 0.6)
    list(alone.run(6))
    assert tokens == alone.token_ids
    visitor.do("back", strategy=SEARCH)
    assert session.decoder.token_ids == tokens[:5]
    visitor.do("rewind", strategy=SEARCH)
    assert session.decoder.token_ids == []
    assert steps(visitor, 6) == tokens


def test_play_and_run_to_end_obey_stop_rules(visitor, session):
    visitor.do("step", playing=True, max_tokens=3, strategy=SEARCH)
    while not session.has_reached_limit:
        visitor.do("run", playing=True, max_tokens=3, strategy=SEARCH)
    assert len(session.decoder.steps) == 3
    assert "max tokens is 3" in session.stop_sentence
    stop = session.decoder.text[-2:]
    visitor.do("rewind", strategy=SEARCH)
    for _ in range(10):
        visitor.do("run", playing=True, stop_strings=(stop,), strategy=SEARCH)
    assert stop in session.stop_sentence and session.is_over


def test_alpha_changes_at_once_and_k_at_start(visitor, session):
    steps(visitor, 2)
    visitor.do("step", strategy=Contrastive(9, 0.1))
    assert [step.penalty_alpha for step in session.decoder.steps] == [0.6, 0.6, 0.1]
    assert session.strategy == Contrastive(5, 0.1)
    visitor.do("step")  # the page has chosen sampling, but Start is not pressed yet
    assert session.decoder.penalty_alpha == 0.1
    assert len(session.decoder.steps[-1].candidates) == 5


@pytest.mark.parametrize(
    ("kind", "fields"), [("propose", {}), ("reroll", {"index": 1}), ("force", {"token_id": 7})]
)
def test_propose_reroll_and_force_are_refused(visitor, session, kind, fields):
    visitor.do("step", strategy=SEARCH)
    visitor.do("step", manual=True, strategy=SEARCH)
    tokens = list(session.decoder.token_ids)
    assert len(tokens) == 2 and not session.is_pending, "taken at once"
    visitor.do(kind, strategy=SEARCH, **fields)
    assert "choose Sampling and press Start" in session.error
    assert session.decoder.token_ids == tokens
    assert not session.is_pending


def test_editing_samplers_apply_at_once_and_survive_restart(visitor, session):
    first = list(steps(visitor, 2))
    banned = list(steps(visitor, 1))[2:]
    visitor.do("back", strategy=SEARCH)
    settings = SamplingSettings(banned=Banned([banned]), temperature=0.3)
    for _ in range(3):
        visitor.do("step", settings=settings, strategy=SEARCH)
    assert session.error == "" and session.settings == settings
    assert session.search.chain == settings.edits
    assert session.decoder.token_ids[:2] == first and banned[0] not in session.decoder.token_ids
    header = visitor.read_all()[0]
    assert banned[0] in [token_id for token_id, _ in header["labels"]]
    record = TextRecord.parse(json.loads(json.dumps(session.record()["text"])))
    again = Session.restored(record, session.record(), session.model)
    assert again.decoder.token_ids == session.decoder.token_ids and again.settings == settings
    assert again.search.settings_by_step == session.search.settings_by_step
    assert visitor.ask("snippets", settings=settings)["snippets"][0]["code"].count("bad_words") == 1


def test_sampler_settings_wait_for_the_next_sampled_text(visitor, session):
    settings = SamplingSettings(temperature=0.3, seed=9)
    visitor.do("settings", settings=settings, strategy=SEARCH)
    assert session.settings == settings
    visitor.do("start", prompt=PROMPT, settings=settings)
    assert session.search is None
    assert session.decoder.settings == settings


@pytest.mark.parametrize(
    ("strategy", "more", "said"),
    [
        (Contrastive(0, 0.6), {}, "top_k must be"),
        (Contrastive(10**6, 0.6), {}, "top_k must be at most 64"),
        (Contrastive(4, 1.5), {}, "penalty_alpha must be from 0 to 1, got 1.5"),
        (SEARCH, {"negative_prompt": "no", "guidance_scale": 2.0}, "takes no negative prompt"),
    ],
)
def test_invalid_search_is_refused_and_keeps_the_text(visitor, session, strategy, more, said):
    tokens = list(steps(visitor, 2))
    visitor.do("start", prompt=PROMPT, strategy=strategy, **more)
    assert said in session.error
    assert session.decoder.token_ids == tokens


def test_refused_settings_leave_samplers_and_alpha(visitor, session):
    outside = SamplingSettings(banned=Banned([[10**6]]))
    for strategy, settings, said in (
        (Contrastive(5, 0.1), outside, "banned"),
        (Contrastive(5, 2.0), SamplingSettings(top_k=3), "penalty_alpha"),
    ):
        visitor.do("settings", settings=settings, strategy=strategy)
        assert said in session.error and session.refused
        assert session.search.chain == () and session.search.penalty_alpha == 0.6
        assert session.settings.top_k != 3
    assert visitor.read_all()[0]["in_force"]["strategy"] == {"top_k": 5, "penalty_alpha": 0.6}


def test_search_continues_in_second_tab_and_new_model(visitor, session, model):
    steps(visitor, 2)
    twin = Visitor(session.copy())
    twin.number = visitor.number
    ahead = list(steps(visitor, 2))
    assert steps(twin, 2) == ahead
    session.load(model)
    assert session.strategy == SEARCH and session.model is model


def test_step_on_screen_includes_its_candidates(visitor, session):
    tokens = steps(visitor, 3)
    visitor.do("inspect", index=1, strategy=SEARCH)
    header = visitor.read_all()[0]
    shown, step = header["search"], session.decoder.steps[1]
    assert shown["index"] == 1
    assert [row["token_id"] for row in shown["candidates"]] == [
        candidate.token_id for candidate in step.candidates
    ]
    for row, candidate in zip(shown["candidates"], step.candidates, strict=True):
        assert row["score"] == candidate.score and row["penalty"] == candidate.penalty
        text = [*session.decoder.prompt_ids, *tokens]
        assert row["nearest_label"]
        assert candidate.nearest < len(session.decoder.prompt_ids) + 1 < len(text)
    assert shown["candidates"][shown["chosen"]]["token_id"] == tokens[1]
    assert shown["passes"] == 1
    assert (header["row"], header["row_key"]) == (None, "")
    sent = [dict(zip(header["step_fields"], values, strict=True)) for values in header["steps"]]
    assert [step["id"] for step in sent] == tokens
    assert sent[0]["is_prefill"] and not sent[1]["is_prefill"]
    assert sent[1]["model_probability"] == step.candidates[step.chosen].probability
    assert sent[1]["rank"] == step.chosen + 1
    assert header["text"]["strategy"] == {"top_k": 5, "penalty_alpha": 0.6}


def test_trace_and_exported_code_include_the_search(visitor, session):
    steps(visitor, 2)
    trace = json.loads(visitor.ask("trace", strategy=SEARCH)["trace"])
    assert trace["strategy"] == "contrastive"
    assert trace["settings"] == [[0, {"top_k": 5, "penalty_alpha": 0.6, "chain": []}]]
    assert [step["token_id"] for step in trace["steps"]] == session.decoder.token_ids
    code = {snippet["target"]: snippet for snippet in visitor.ask("snippets")["snippets"]}
    assert "penalty_alpha=0.6" in code["transformers"]["code"]
    assert code["Ollama"]["lacking"][0][0] == "contrastive search"


def test_score_questions_have_no_answer_during_search(visitor, session):
    steps(visitor, 1)
    assert visitor.ask("find", query="the") == {"found": None, "error": ""}
    found = visitor.ask("tokenize", query="the")["tokenized"]
    assert [token["raw_rank"] for token in found] == [None]
