"""Questions from a page: typed values, the settings that admit a token; asking changes nothing."""

import pytest

from engine.sampling import SamplingSettings
from engine.sampling.admission import admitting_change
from engine.sampling.samplers import Dry, Temperature, TopK, TopP
from tests.ui.step.visitor import PROMPT, Visitor
from ui.step.events import QUESTIONS
from ui.step.session import Session
from ui.texts.settings import parse_settings


@pytest.fixture
def visitor(bundled) -> Visitor:
    return Visitor(Session(bundled, PROMPT, SamplingSettings()))


@pytest.mark.parametrize(
    "kind", [kind for kind in QUESTIONS if kind not in ("row", "failed", "stop")]
)
def test_question_changes_nothing(visitor, kind):
    visitor.steps(3)
    session = visitor.session
    before = session.record()
    state = (session.version, session.settings, session.order, session.index, session.error)
    settings = SamplingSettings(top_k=7, seed=99)
    visitor.ask(kind, settings=settings, query="a", ids=(5,), token_id=9, setting="top_p", value=7)
    assert (
        session.version,
        session.settings,
        session.order,
        session.index,
        session.error,
    ) == state
    after = session.record()
    before["text"].pop("when"), after["text"].pop("when")
    assert after == before


@pytest.mark.parametrize(
    ("setting", "field", "typed", "taken"),
    [
        ("temperature", "", "0,7", 0.7),
        ("temperature", "", 0.7, 0.7),
        ("temperature", "", " 1 ", 1),
        ("top_k", "", "1 000", 1000),
        ("top_k", "", "50", 50),
        ("top_p", "", "1", 1),
        ("seed", "", "12", 12),
        ("max_tokens", "", 40.0, 40),
        ("guidance_scale", "", "1.5", 1.5),
        ("penalty_alpha", "", "0.3", 0.3),
        ("candidates", "", "8", 8),
    ],
)
def test_typed_value_is_converted_to_a_setting(visitor, setting, field, typed, taken):
    found = visitor.ask("check", setting=setting, setting_field=field, value=typed)
    assert found == {"value": taken, "setting_value": taken, "error": ""}


def test_sampler_field_is_checked_with_the_others(visitor):
    settings = SamplingSettings(dry=Dry(multiplier=0.8))
    found = visitor.ask(
        "check", settings=settings, setting="dry", setting_field="base", value="2,5"
    )
    assert found["value"] == 2.5
    assert found["setting_value"] == Dry(multiplier=0.8, base=2.5).to_dict()
    found = visitor.ask("check", settings=settings, setting="dry", setting_field="base", value=0)
    assert found["error"].startswith("dry.base must be")


@pytest.mark.parametrize(
    ("setting", "typed", "sentence"),
    [
        ("top_p", "7", "top_p must be above 0 and at most 1, got 7"),
        ("top_p", "hot", "top_p is not a number, got 'hot'; type digits"),
        ("top_p", "1e999", "top_p is not a number"),
        ("top_k", "1.5", "top_k must be"),
        ("top_k", 10**9, "top_k is above the vocabulary"),
        ("seed", "-1", "Seed is out of range, got -1"),
        ("seed", 0.5, "Seed must be a whole number, got 0.5"),
        ("max_tokens", "0", "Max tokens is out of range, got 0; use a whole number from 1 to"),
        ("guidance_scale", 0.5, "Guidance scale must be from 1 to 100, got 0.5"),
        ("penalty_alpha", 2, "penalty_alpha must be from 0 to 1, got 2"),
        ("candidates", 0, "Candidates is out of range, got 0"),
        ("heat", 1, "setting is not known, got 'heat'"),
        ("temperature", None, "The page sent temperature"),
        ("temperature", [1], "The page sent temperature"),
    ],
)
def test_refused_value_is_reported_with_a_remedy(visitor, setting, typed, sentence):
    found = visitor.ask("check", setting=setting, value=typed)
    assert found["error"].startswith(sentence)
    assert found["error"].endswith(".")


def test_admitting_change_matches_the_engine(visitor):
    visitor.steps(2)
    session = visitor.session
    settings = SamplingSettings(chain=[Temperature(0.8), TopK(5), TopP(0.9)])
    raw = session.raw()
    raw.sort_to_depth(40)
    token_id = int(raw.ids[20])
    order = ("temperature", "top_k", "top_p", "min_p")
    found = visitor.ask("admit", settings=settings, order=order, token_id=token_id)["admission"]
    context = session.decoder.context(session.index)
    expected = admitting_change(raw.scores, settings, context, token_id, order=order)
    assert found["setting"] == expected.setting and found["value"] == expected.value
    assert found["blocked_by"] == list(expected.blocked_by)
    if expected.settings is not None:
        assert parse_settings(found["settings"])[0] == expected.settings


@pytest.mark.parametrize("token_id", [None, -1, 10**9])
def test_invalid_token_has_no_admitting_change(visitor, token_id):
    found = visitor.ask("admit", token_id=token_id)
    assert found == {"admission": None, "is_complete": True, "error": ""}


def test_superseded_question_gets_no_answer(visitor):
    from ui.step.questions import answer

    visitor.steps(1)
    settings = SamplingSettings(chain=[TopK(1)])
    event = visitor.event("admit", settings=settings, order=("top_k",), token_id=9)
    found = answer(visitor.session, event, lambda: True)
    assert found == {"admission": None, "is_complete": False, "error": ""}
