"""Settings on a real llama.cpp server: honoured, dropped, changed, refused."""

import pytest

from engine.errors import ServerError
from engine.sampling.samplers import LogitBias, PLess, Temperature, TopK
from engine.server_check import draws, honoured
from engine.server_check.finding import AS_EXPECTED, DIFFERS, OPEN
from engine.server_check.honoured import (
    CHANGED,
    DROPPED,
    HONOURED,
    REFUSED,
    check_honoured,
    is_same,
)
from engine.server_check.text import said_twice

PROMPT = "He said: my favourite animal is the"
# The draws of a server are seeded. If they are what the verdict says, a false one has a
# probability of at most 1 % for all settings of a test together.
DRAWS, SEED = 60, 5


@pytest.fixture
def text(remote):
    return said_twice(remote, PROMPT)


def outcomes(found):
    return {each.name.split()[0]: each.outcome for each in found.settings}


def test_known_settings_are_honoured_and_unknown_dropped(remote, text):
    found = check_honoured(remote, text, DRAWS, SEED)
    by_name = outcomes(found)
    lacking = ("p_less", "min_k", "top_h", "not_a_sampler", "tail_free")
    assert {by_name[name] for name in lacking} == {DROPPED}
    known = [each for each in found.settings if each.is_known]
    assert len(known) == 14 and {each.outcome for each in known} == {HONOURED}
    assert found.outcome == AS_EXPECTED and found.draws == 0
    assert found.defaults == ("temperature 0.8", "top_k 40", "top_p 0.95", "min_p 0.05")
    said = " ".join(found.sentences)
    assert "It honours 14 of 14 settings." in said and "p_less" in said


def test_dropped_and_refused_settings_are_found(changed, text):
    changed.dialect.drops, changed.dialect.refuses = ("min_p",), ("xtc_threshold", "min_k")
    found = check_honoured(changed, text, DRAWS, SEED)
    by_name = outcomes(found)
    assert (by_name["min_p"], by_name["xtc"], by_name["min_k"]) == (DROPPED, REFUSED, REFUSED)
    assert by_name["top_k"] == HONOURED
    assert found.outcome == DIFFERS
    assert any("It ignores without an error: min_p 0.11" in each for each in found.sentences)


def test_draws_find_settings_that_are_not_read_back(changed, text, monkeypatch):
    def few(model, row, text):
        best = int(row.argmax())
        return [Temperature(0.4), TopK(2), LogitBias({best: 4.0})]

    monkeypatch.setattr(honoured, "tested", few)
    monkeypatch.setattr(draws, "lacking", lambda model: [PLess()])
    changed.dialect.is_silent = True
    changed.dialect.drops, changed.dialect.refuses = ("top_k",), ("logit_bias",)
    found = check_honoured(changed, text, DRAWS, SEED)
    assert outcomes(found) == {
        "temperature": HONOURED,
        "top_k": DROPPED,
        "logit_bias": REFUSED,
        "p_less": DROPPED,
    }
    kept = next(each.drawn for each in found.settings if each.name == "temperature 0.4")
    assert kept.level == pytest.approx(0.01 / 8)
    assert (kept.rejects_dropped, kept.rejects_honoured) == (True, False)
    cut = next(each.drawn for each in found.settings if each.name == "top_k 2")
    assert cut.impossible > 0 and cut.honoured == 0 and 0 < cut.distance < 1
    assert any("at most 1 %" in each for each in found.sentences)


def test_few_draws_decide_nothing(changed, text, monkeypatch):
    monkeypatch.setattr(honoured, "tested", lambda *_: [Temperature(0.9)])
    monkeypatch.setattr(draws, "lacking", lambda model: [])
    changed.dialect.is_silent = True
    found = check_honoured(changed, text, 2, SEED)
    assert found.outcome == OPEN
    assert any("do not decide: temperature 0.9" in each for each in found.sentences)


def test_lost_server_ends_the_check(changed, text):
    changed.dialect.fails = True
    with pytest.raises(ServerError, match="cannot be reached"):
        check_honoured(changed, text, DRAWS, SEED)


@pytest.mark.parametrize(
    ("sent", "told", "same"),
    [
        (0.7, 0.699999988079071, True),
        (0.7, 0.71, False),
        (2, 2.0, True),
        ([[3, 1.5]], [[3, 1.5]], True),
        (["top_k"], [], False),
        (True, 1, False),
        ("a", "a", True),
    ],
)
def test_value_is_same_up_to_rounding(sent, told, same):
    assert is_same(sent, told) is same


def test_clamped_value_is_changed():
    outcome = honoured._outcome({"top_k": 7}, {"top_k": 5}, {"top_k": 40})
    assert outcome == CHANGED
    assert honoured._outcome({"top_k": 7}, {"top_k": 40}, {"top_k": 40}) == DROPPED
