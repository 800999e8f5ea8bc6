"""Every sampler's description next to its rule: complete, within bounds, stated once."""

import math
from dataclasses import fields

import pytest

from engine.errors import SettingError
from engine.sampling import DEFAULT_ORDER, STAGES, SamplingSettings
from engine.sampling.samplers import GROUPS, CutStage, Number, ScaleStage, Stage, TokenEdit
from engine.sampling.samplers.info import EITHER

PICTURES = {"rank", "mass", "threshold", "window", "edit", "scale"}
NUMBERS = [(kind, number) for kind in DEFAULT_ORDER for number in kind.info.numbers]
BY_NAME = pytest.mark.parametrize("kind", DEFAULT_ORDER, ids=lambda kind: kind.setting)
BY_NUMBER = pytest.mark.parametrize(
    ("kind", "number"), NUMBERS, ids=[f"{kind.setting}.{number.name}" for kind, number in NUMBERS]
)


def with_number(kind: type[Stage], number: Number, value: float) -> SamplingSettings:
    """Settings with one of a sampler's numbers at this value, as a slider would set it."""
    if kind.is_one_number():
        return SamplingSettings(**{kind.setting: value})
    if kind.setting == "logit_bias":
        return SamplingSettings(logit_bias={3: value})
    values = {each.name: each.usual for each in kind.info.numbers} | {number.name: value}
    pair = kind.info.pair
    if pair and values[pair[0]] > values[pair[1]]:  # the page moves the other number too
        values |= dict.fromkeys(pair, value)
    return SamplingSettings(**{kind.setting: kind(**values)})


@BY_NAME
def test_every_sampler_is_described(kind):
    info = kind.info
    assert info.label and info.formula and info.idle
    assert info.about.endswith(".") and ". " not in info.about and len(info.about.split()) <= 20
    assert not info.idle.endswith("."), "half a sentence"
    assert info.group in GROUPS and info.picture in PICTURES
    assert info.paper is None or (info.paper.text and info.paper.url.startswith("https://"))
    assert info.in_text.lower() == info.label.lower()
    known = {"edit": TokenEdit, "scale": ScaleStage, "cut": CutStage}
    assert issubclass(kind, known[kind.kind])
    if kind.setting not in ("banned", "constraint"):
        names = [item.name for item in fields(kind) if item.name != "breakers"]
        assert [number.name for number in info.numbers] == names
        assert set(info.pair or ()) <= set(names)


def test_labels_tell_samplers_apart():
    labels = [kind.info.label for kind in DEFAULT_ORDER]
    assert len(set(labels)) == len(STAGES)
    assert {kind.info.group for kind in DEFAULT_ORDER} == GROUPS.keys()
    assert [STAGES[name].info.in_text for name in ("top_k", "dry")] == ["top-k", "DRY"]


@BY_NUMBER
def test_every_slider_position_is_accepted(kind, number):
    if number.looser == EITHER:
        assert issubclass(kind, TokenEdit), "only what acts on single tokens may depend on them"
    positions = number.positions()
    assert positions[0] == number.low and positions[-1] == pytest.approx(number.high)
    assert number.low <= number.usual <= number.high
    assert all(type(value) is int for value in positions) or not number.whole
    for value in [*positions, number.usual, *number.words]:
        chain = with_number(kind, number, value).chain
        assert len(chain) == 1 or (kind.is_one_number() and kind.is_off(value))


BOUNDS = {
    "(0, 1]": "top_h.h top_p.p typical_p.p tail_free.z xtc.threshold mirostat.eta",
    "(0, 1)": "epsilon_cutoff.epsilon eta_cutoff.epsilon",
    "(0, 100]": "top_n_sigma.n mirostat.tau",
    "[0, 1]": "min_p.ratio xtc.probability",
    "[-100, 100]": "presence_penalty.penalty frequency_penalty.penalty",
    "[-1000, 1000]": "logit_bias.bias",
    "[0, 1000]": "dry.multiplier",
    "[1, 1000]": "dry.base",
    "[1, None]": "dry.allowed_length dry.last_n no_repeat_ngram.n min_new_tokens.n top_k.k",
    "[0.001, 1000]": "repetition_penalty.penalty",
    "[1e-06, 1000000.0]": "temperature.temperature dynamic_temperature.high",
    "[0, 1000000.0]": "dynamic_temperature.low",
    "[0.01, 100]": "dynamic_temperature.exponent",
}


@BY_NUMBER
def test_accepted_range_is_the_one_documented(kind, number):
    bounds = f"{'[('[number.open_below]}{number.least}, {number.most}{'])'[number.open_above]}"
    assert f"{kind.setting}.{number.name}" in BOUNDS[bounds].split()


@BY_NUMBER
def test_checks_follow_the_stated_bounds(kind, number):
    def accepts(value: float) -> bool:
        try:
            number.checked("setting", value)
        except SettingError as error:
            assert str(error).startswith("setting ") and str(error).endswith(f"; {number.remedy}.")
            return False
        return True

    for bound, is_open, beyond in (
        (number.least, number.open_below, -1),
        (number.most, number.open_above, 1),
    ):
        if bound is None:
            assert accepts(beyond * 10.0**15)
            continue
        assert accepts(bound) is not is_open or bound in number.words
        inside = bound - beyond * (1 if number.whole else 1e-6 * max(1.0, abs(bound)))
        assert accepts(inside)
        outside = bound + beyond * (2 if number.whole else 1e-9 + 1e-6 * abs(bound))
        assert not accepts(outside) or outside in number.words
    for nonsense in (math.nan, math.inf, 10**400, "1", None, True, [1]):
        assert not accepts(nonsense)
    if number.whole:
        assert not accepts(number.usual + 0.5)


def test_numbers_are_stored_as_plain_python_types():
    assert type(STAGES["top_k"](3.0).k) is int and type(STAGES["top_p"](1).p) is float
    assert type(STAGES["dry"](last_n=-1.0).last_n) is int
