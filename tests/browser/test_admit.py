"""What would let a removed token in: every answer is true, and nothing smaller would do."""

import math
from dataclasses import replace

import numpy as np
import pytest

from engine.sampling import SamplingSettings
from engine.stages import (
    STAGES,
    Banned,
    Dry,
    DynamicTemperature,
    EpsilonCutoff,
    LogitBias,
    Mirostat,
    Temperature,
    TopK,
    TopP,
    Xtc,
)
from tests.browser.arithmetic import Case, random_row
from tests.browser.modules import modules_page
from tests.browser.views import viewed
from ui.shared.settings import parse_settings, plain_settings


@pytest.fixture(scope="module")
def page(browser):
    with modules_page(browser, "kernel/row.js", "view/view.js") as page:
        yield page


NOTCH = {
    **{"temperature": 0.01, "repetition_penalty": 0.01, "presence_penalty": 0.05},
    **{"frequency_penalty": 0.05, "top_n_sigma": 0.05, "top_k": 1, "no_repeat_ngram": 1},
    **{"min_p": 0.005},
    **dict.fromkeys(("top_p", "typical_p", "tail_free", "top_h"), 0.01),
}
ADMIT_CHAINS = [
    {"top_k": 10},
    {"top_p": 0.5, "temperature": 0.8},
    {"min_p": 0.5},
    {"temperature": 0.0},
    {"repetition_penalty": 1.9, "min_p": 0.3},
    {"top_k": 50, "top_p": 0.8, "min_p": 0.02},
]


@pytest.mark.parametrize("chain", ADMIT_CHAINS, ids=str)
@pytest.mark.parametrize("kind", ["normal", "bfloat16"])
def test_admit_names_the_smallest_change_that_lets_a_token_in(page, chain, kind):
    rng = np.random.default_rng(7)
    logits = random_row(rng, 2000, kind) / np.float32(2)
    order = np.argsort(-logits, kind="stable")
    context = [int(token) for token in order[2:9]]
    case = Case(logits, SamplingSettings(**chain), context)
    tokens = [int(order[place]) for place in (0, 1, 4, 8, 15, 30, 60, 700)]
    admitted = viewed(page, case, tokens=tokens)["admitted"]
    assert any(change and "setting" in change for change in admitted)

    def survives(token, name, value):
        changed = Case(case.logits, case.settings.replace(**{name: value}), case.context)
        return changed.distribution.probability(token) > 0

    for token, change in zip(tokens, admitted, strict=True):
        assert (change is None) == (case.distribution.probability(token) > 0)
        if change is None or "blocked_by" in change:
            continue
        name, value = change["setting"], change["value"]
        assert survives(token, name, value)
        before = getattr(case.settings, name)
        if name == "top_k" and value == 0:
            value = logits.size
        nearer = round(value - math.copysign(NOTCH[name], value - before), 3)
        if abs(nearer - before) >= NOTCH[name] / 2:
            assert not survives(token, name, int(nearer) if name == "top_k" else nearer)


WINDOW_CHAINS = [
    {"typical_p": 0.3},
    {"tail_free": 0.6},
    {"top_h": 0.2},
    {"top_n_sigma": 1.5, "top_k": 400},
    {"epsilon_cutoff": 0.0021, "temperature": 0.9},
    {"eta_cutoff": 0.3, "typical_p": 0.9},
    {"no_repeat_ngram": 1, "top_p": 0.9},
    {"min_new_tokens": 20, "top_k": 20},
    {"xtc": Xtc(threshold=0.01, probability=1.0)},
]


@pytest.mark.parametrize("chain", WINDOW_CHAINS, ids=lambda chain: "-".join(chain))
def test_no_nearer_value_of_the_named_setting_lets_the_token_in(page, chain):
    rng = np.random.default_rng(8)
    logits = random_row(rng, 2000, "normal") / np.float32(2)
    order = np.argsort(-logits, kind="stable")
    text = [int(order[place]) for place in (2, 7, 3, 7, 8, 7)]
    case = Case(
        logits,
        SamplingSettings(**chain),
        text,
        prompt_length=2,
        eos_ids=(int(order[1]),),
        xtc_u=0.3,
    )
    tokens = [int(order[place]) for place in (0, 1, 2, 4, 7, 8, 15, 30, 60, 700)]
    result = viewed(page, case, tokens=tokens)

    def survives(token, name, value):
        changed = replace(case, settings=case.settings.replace(**{name: value}))
        return changed.distribution.probability(token) > 0

    named = set()
    for token, change in zip(tokens, result["admitted"], strict=True):
        assert (change is None) == (case.distribution.probability(token) > 0)
        if change is None or "blocked_by" in change:
            continue
        name, value = change["setting"], change["value"]
        named.add(name)
        assert survives(token, name, Xtc(**value) if name == "xtc" and value else value)
        for nearer in nearer_values(name, chain.get(name), value):
            assert not survives(token, name, nearer), (name, nearer)
    assert next(iter(chain)) in named


def nearer_values(name: str, before, value) -> list:
    """What a slider passes between the two, both left out."""
    if name == "xtc":
        if value is None or value["probability"] != before.probability:
            return []
        passed = np.round(np.arange(before.threshold + 0.01, value["threshold"] - 0.005, 0.01), 2)
        return [Xtc(threshold=float(each), probability=before.probability) for each in passed]
    if name in ("epsilon_cutoff", "eta_cutoff"):
        digits = [float(f"{digit}e{power}") for power in range(-8, 0) for digit in range(1, 10)]
        return [each for each in digits if value < each < before]
    if name == "min_new_tokens":
        return [before - 1] if value != before - 1 else []
    off = SamplingSettings().__getattr__(name)
    if before is None or value == off:  # beyond the slider's end
        return []
    step = NOTCH[name]
    number = round(abs(value - before) / step - 1e-6)
    passed = [before + math.copysign(step * count, value - before) for count in range(1, number)]
    return [int(each) if isinstance(before, int) else round(each, 3) for each in passed]


FOUR = np.array([4, 3, 2, 1], np.float32)


def test_stages_that_only_together_keep_a_token_out_are_named(page):
    chain = [Temperature(0), Banned([[1]]), TopK(2), TopP(0.95)]
    case = Case(FOUR, SamplingSettings(chain=chain), [])
    blocked, out, survivor = viewed(page, case, tokens=[1, 3, 0])["admitted"]
    assert blocked == {"blocked_by": ["temperature", "banned"]}
    assert out == {"blocked_by": ["temperature", "top_k", "top_p"]}
    assert survivor is None


# By what keeps a token out: the chain, the token, and what is said.
SINGLE_CHANGES = {
    "a ban": ([Banned([[1], [2], [0, 1]])], 1, {"is_lifted": True, "value": [[2]]}),
    "the end of a phrase": ([Banned([[0, 1], [1, 1]])], 1, {"is_lifted": True, "value": [[1, 1]]}),
    "the only ban": ([Banned([[1]])], 1, {"is_lifted": True, "value": None}),
    "its bias": ([LogitBias({1: -4.0}), TopK(2)], 1, {"bias": -1}),
    "the bias of others": ([LogitBias({3: 9.0, 2: 9.0}), TopK(1)], 0, {"bias": 7}),
    "DRY": ([Dry(3.0, 1.75, 1, -1), TopK(1)], 0, {"field": "allowed_length", "value": 2}),
    "dynamic temperature": (
        [DynamicTemperature(0.0, 0.1, 1.0), EpsilonCutoff(0.05)],
        1,
        {"field": "high", "value": 0.5},
    ),
    "mirostat": ([Mirostat(0.2, 0.1)], 1, {"field": "tau", "value": 1.1}),
}


@pytest.mark.parametrize("name", SINGLE_CHANGES)
def test_every_stage_has_a_change_that_admits(page, name):
    chain, token, expected = SINGLE_CHANGES[name]
    settings = SamplingSettings(chain=chain)
    text = [1, 0, 1] if name == "DRY" else [0, 1, 0]
    case = Case(FOUR, settings, text, prompt_length=1)
    (change,) = viewed(page, case, tokens=[token])["admitted"]
    setting = chain[0].setting
    assert change["setting"] == setting
    value = change["value"]
    told = {**change, "value": value}
    if "field" in change:
        told["value"] = value[change["field"]]
    elif setting == "banned" and value:
        told["value"] = value["sequences"]
    assert expected.items() <= told.items()
    changed, _ = parse_settings({**plain_settings(settings), setting: value})
    assert case.distribution.probability(token) == 0
    assert Case(FOUR, changed, case.context, prompt_length=1).distribution.probability(token) > 0


def test_a_smaller_change_is_not_missed_where_more_is_not_always_better(page):
    """Typical-p keeps a window that a temperature moves; a share falls as top-k lets others in."""
    logits = np.array([3.0, 2.2, 1.9, 1.4, 0.3, -0.5, -1.0, -2.0], np.float32)
    found = []
    for order in (("temperature", "typical_p"), ("top_k", "epsilon_cutoff")):
        values = {"temperature": 0.3, "typical_p": 0.3, "top_k": 2, "epsilon_cutoff": 0.09}
        settings = SamplingSettings(chain=[STAGES[name](values[name]) for name in order])
        case = Case(logits, settings, [])
        for token, change in enumerate(viewed(page, case, tokens=range(8))["admitted"]):
            if change is None or change.get("setting") != order[0]:
                continue
            before, value = values[order[0]], change["value"]
            step = 0.01 if order[0] == "temperature" else 1
            number = round(abs((value or 8) - before) / step)
            for count in range(1, number):
                nearer = round(before + step * count, 2) if step < 1 else before + count
                changed = settings.replace(**{order[0]: nearer})
                assert Case(logits, changed, []).distribution.probability(token) == 0
            found.append(order[0])
    assert set(found) == {"temperature", "top_k"}


@pytest.mark.parametrize(
    ("chain", "place", "setting"),
    [
        ({"top_k": 10}, 15, "top_k"),
        ({"top_p": 0.5}, 300, "top_p"),
        ({"min_p": 0.5}, 300, "min_p"),
        ({"temperature": 0.0}, 1, "temperature"),
        ({"repetition_penalty": 2.0, "top_k": 1}, 0, "repetition_penalty"),
        ({"presence_penalty": 0.05, "top_k": 1}, 0, "presence_penalty"),
        ({"frequency_penalty": 0.05, "top_k": 1}, 0, "frequency_penalty"),
    ],
)
def test_admit_can_name_each_setting(page, chain, place, setting):
    logits = np.linspace(4, -4, 2000, dtype=np.float32)
    case = Case(logits, SamplingSettings(**chain), [0])
    (change,) = viewed(page, case, tokens=[place])["admitted"]
    assert change["setting"] == setting
