"""Questions from a page: typed values, tokens, code, admission; asking changes nothing."""

import pytest

from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.admission import admitting_change
from engine.sampling.samplers import Dry, Temperature, TopK, TopP
from tests.ui import hostile
from tests.ui.step.visitor import PROMPT, Visitor
from ui.step.events import QUESTIONS
from ui.step.questions import answer
from ui.step.session import Session
from ui.texts.settings import plain_settings


@pytest.mark.parametrize(
    "kind", [kind for kind in QUESTIONS if kind not in ("row", "failed", "stop")]
)
def test_question_changes_nothing(visitor, session, kind):
    def state() -> tuple:
        record = session.record()
        record["text"].pop("when")
        return record, session.version, session.index, session.error

    visitor.steps(3)
    before = state()
    settings = SamplingSettings(top_k=7, seed=99)
    visitor.ask(kind, settings=settings, query="a", ids=(5,), token_id=9, setting="top_p", value=7)
    assert state() == before


@pytest.mark.parametrize(
    ("setting", "typed", "taken"),
    [
        ("temperature", "0,7", 0.7),
        ("temperature", 0.7, 0.7),
        ("temperature", " 1 ", 1),
        ("top_k", "1 000", 1000),
        ("seed", "12", 12),
        ("max_tokens", 40.0, 40),
        ("guidance_scale", "1.5", 1.5),
        ("penalty_alpha", "0.3", 0.3),
        ("candidates", "8", 8),
    ],
)
def test_typed_value_is_converted_to_a_setting(visitor, setting, typed, taken):
    found = visitor.ask("check", setting=setting, value=typed)
    assert found == {"value": taken, "setting_value": taken, "error": ""}


def test_sampler_field_is_checked_with_the_others(visitor):
    field = {"setting": "dry", "setting_field": "base"}
    settings = SamplingSettings(dry=Dry(multiplier=0.8))
    found = visitor.ask("check", settings=settings, value="2,5", **field)
    assert found["value"] == 2.5
    assert found["setting_value"] == Dry(multiplier=0.8, base=2.5).to_dict()
    found = visitor.ask("check", settings=settings, value=0, **field)
    assert found["error"].startswith("dry.base must be")


@pytest.mark.parametrize(
    ("setting", "typed", "said"),
    [
        ("top_p", "7", "top_p must be above 0 and at most 1, got 7"),
        ("top_p", "hot", "top_p is not a number, got 'hot'; type digits"),
        ("top_p", "1e999", "top_p is not a number"),
        ("top_k", "1.5", "top_k must be"),
        ("top_k", 10**9, "top_k exceeds the vocabulary"),
        ("seed", "-1", "Seed is out of range, got -1"),
        ("seed", 0.5, "Seed must be a whole number, got 0.5"),
        ("max_tokens", "0", "Max tokens is out of range, got 0"),
        ("guidance_scale", 0.5, "Guidance scale must be from 1 to 100, got 0.5"),
        ("penalty_alpha", 2, "penalty_alpha must be from 0 to 1, got 2"),
        ("candidates", 0, "Candidates is out of range, got 0"),
        ("heat", 1, "setting is not known, got 'heat'"),
        ("temperature", None, "The page sent temperature"),
    ],
)
def test_refused_value_is_reported_with_a_remedy(visitor, setting, typed, said):
    found = visitor.ask("check", setting=setting, value=typed)
    assert found["error"].startswith(said)
    assert found["error"].endswith(".")


@pytest.mark.parametrize("chain", [[TopK(5)], [Temperature(0.8), TopK(5), TopP(0.9)]])
def test_admitting_change_matches_the_engine(visitor, session, chain):
    visitor.steps(2)
    settings, raw = SamplingSettings(chain=chain), session.raw()
    raw.sort_to_depth(40)
    token_id = int(raw.ids[20])
    order = ("temperature", "top_k", "top_p", "min_p")
    asked = {"settings": settings, "order": order, "token_id": token_id}
    found = visitor.ask("admit", **asked)["admission"]
    context = session.decoder.context(session.index)
    expected = admitting_change(raw.scores, settings, context, token_id, order=order)
    assert found["setting"] == expected.setting and found["value"] == expected.value
    assert found["blocked_by"] == list(expected.blocked_by)
    assert found["settings"] == (expected.settings and plain_settings(expected.settings, order))
    for missing in (None, -1, 10**9):
        found = visitor.ask("admit", **asked | {"token_id": missing})
        assert found == {"admission": None, "is_complete": True, "error": ""}
    found = answer(session, visitor.event("admit", **asked), lambda: True)
    assert found == {"admission": None, "is_complete": False, "error": ""}, "superseded"


def test_tokens_are_returned_with_rank_and_logit(visitor, session):
    visitor.steps(2)
    visitor.do("inspect", index=1)
    raw = session.decoder.distribution(1).raw
    tokens = visitor.ask("tokenize", query=" Paris xylophonist")["tokenized"]
    vocabulary = session.model.vocabulary
    assert "".join(vocabulary.label(token["id"]) for token in tokens) == " Paris xylophonist"
    assert len(tokens) > 2
    found = visitor.ask("find", query="paris")["found"]
    assert "␣Paris" in [token["label"] for token in found[:2]]
    for token in (*tokens, *found):
        assert token["raw_rank"] == raw.rank(token["id"])
        assert token["logit"] == raw.scores[token["id"]]
    labels = visitor.ask("labels", ids=(300, session.model.vocab_size, -1, 5000))["labels"]
    assert [token_id for token_id, _ in labels] == [300, 5000]


def test_tokens_have_no_rank_after_the_end(visitor, session):
    visitor.do("force", token_id=next(iter(session.model.eos_ids)), index=0)
    visitor.do("inspect", index=1)
    (token,) = visitor.ask("tokenize", query=" Paris")["tokenized"]
    assert (token["raw_rank"], token["logit"]) == (None, None)


def test_tokenize_adds_no_special_tokens(bundled, monkeypatch):
    session = Session(bundled, PROMPT, SamplingSettings())
    plain = bundled.vocabulary.tokenizer

    def framed(text, add_special_tokens=True, **kwargs):
        ids = plain(text, add_special_tokens=False, **kwargs)["input_ids"]
        return {"input_ids": [0, *ids, 0] if add_special_tokens else ids}

    monkeypatch.setattr(bundled.vocabulary, "tokenizer", framed)
    tokens = Visitor(session).ask("tokenize", query=" Paris")["tokenized"]
    assert [token["label"] for token in tokens] == ["␣Paris"]


def test_tokenize_finds_nothing_without_text_or_tokenizer(visitor):
    bare = Session(LanguageModel(hostile.language_model(), None), [1, 2], SamplingSettings())
    for asked, query in ((visitor, ""), (Visitor(bare), "w1")):
        assert asked.ask("tokenize", query=query) == {"tokenized": [], "error": ""}
    assert "at most 200 characters" in visitor.ask("tokenize", query="x" * 201)["error"]


def test_exported_code_has_prompt_model_and_limits(visitor, session):
    settings = SamplingSettings(chain=[TopP(0.75), Temperature(0.5)], seed=11)
    found = visitor.ask("snippets", settings=settings, max_tokens=37, stop_strings=("END OF IT",))
    by_target = {snippet["target"]: snippet for snippet in found["snippets"]}
    code = by_target["transformers"]["code"]
    for part in (PROMPT, "models/target", "top_p=0.75", "max_new_tokens=37", "END OF IT"):
        assert part in code
    compile(code, "snippet", "exec")
    assert any(setting == "top_p" for setting, _ in by_target["transformers"]["differs"])
    assert "max_tokens must be at least 1" in visitor.ask("snippets", max_tokens=0)["error"]
    assert session.error == ""
