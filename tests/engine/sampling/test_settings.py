"""Sampling settings: their forms, their order, and a clear message for every bad value."""

import copy
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import DecodingError, SettingError
from engine.sampling import SamplingSettings
from engine.sampling.samplers import MinP, RepetitionPenalty, Temperature, TopK, TopP


def names(settings: SamplingSettings) -> list[str]:
    return [stage.setting for stage in settings.chain]


# --- Keyword form --------------------------------------------------------------------------------


def test_keywords_in_any_order_build_transformers_order():
    settings = SamplingSettings(
        min_p=0.1, top_p=0.9, top_k=40, temperature=0.7, repetition_penalty=1.2, seed=3
    )
    assert settings.chain == (
        RepetitionPenalty(1.2),
        Temperature(0.7),
        TopK(40),
        TopP(0.9),
        MinP(0.1),
    )
    assert (settings.seed, settings.parity) == (3, False)


@pytest.mark.parametrize("off", [{}, {"top_k": 0}, {"top_p": 1.0}, {"temperature": 1}])
def test_off_values_leave_the_stage_out(off):
    assert SamplingSettings(**off).chain == ()
    assert SamplingSettings(**dict.fromkeys(off)) == SamplingSettings(), "None switches off too"


def test_every_setting_reads_as_an_attribute():
    settings = SamplingSettings(temperature=0.7, top_k=0)
    assert settings.temperature == 0.7
    assert (settings.top_k, settings.top_p, settings.min_p) == (0, 1.0, 0.0)
    assert settings.repetition_penalty == 1.0
    with pytest.raises(AttributeError, match="no attribute 'top_q'"):
        _ = settings.top_q


def test_only_temperature_0_is_greedy():
    assert SamplingSettings(temperature=0).is_greedy
    assert SamplingSettings(temperature=0.0, top_p=0.9).is_greedy
    assert not SamplingSettings(temperature=1e-6).is_greedy
    assert not SamplingSettings().is_greedy
    assert not SamplingSettings(top_k=1).is_greedy


@pytest.mark.parametrize(
    "number", [np.float32(0.5), np.float64(0.5), np.int64(2), 2], ids=lambda n: type(n).__name__
)
def test_numpy_numbers_are_accepted(number):
    assert SamplingSettings(temperature=number).temperature == number
    assert SamplingSettings(top_k=np.int64(3)).top_k == 3
    assert SamplingSettings(seed=np.int64(3)).seed == 3


def test_settings_are_immutable_hashable_values():
    settings = SamplingSettings(temperature=0.7, top_p=0.9)
    same = SamplingSettings(top_p=0.9, temperature=0.7)
    assert settings == same and hash(settings) == hash(same)
    assert settings != settings.replace(seed=1)
    with pytest.raises(AttributeError):
        settings.seed = 4
    for twin in (copy.deepcopy(settings), pickle.loads(pickle.dumps(settings))):
        assert twin == settings and twin.top_p == 0.9


# --- Chain form ----------------------------------------------------------------------------------


def test_a_chain_keeps_the_order_given():
    chain = [TopP(0.9), Temperature(0.7), TopK(5), RepetitionPenalty(1.1)]
    settings = SamplingSettings(chain=chain)
    assert settings.chain == tuple(chain)
    assert settings.top_p == 0.9 and settings.min_p == 0.0
    chain.reverse()
    assert names(settings)[0] == "top_p", "the settings must not change with the caller's list"


def test_chain_may_hold_a_stage_at_off_value():
    assert names(SamplingSettings(chain=[TopP(1), Temperature(1)])) == ["top_p", "temperature"]


def test_a_chain_may_come_from_an_iterator():
    assert SamplingSettings(chain=iter([TopK(1)])).top_k == 1


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (
            lambda: SamplingSettings(chain=[TopK(1), TopP(0.9), TopK(2)]),
            ["chain", "twice", "'top_k'", "keep one of them"],
        ),
        (
            lambda: SamplingSettings(chain=[0.9]),
            ["chain must hold stages", "got 0.9", "use for example TopP(0.9)"],
        ),
        (
            lambda: SamplingSettings(chain=[TopP]),
            ["chain must hold stages", "TopP", "use for example"],
        ),
        (
            lambda: SamplingSettings(chain=[TopK(1)], top_p=0.9),
            ["top_p", "together with a chain", "0.9", "put the stage into the chain"],
        ),
        (
            lambda: SamplingSettings(topp=0.9),
            ["topp is not a setting", "0.9", "known are top_p, top_k", "19 more"],
        ),
        (
            lambda: SamplingSettings().replace(topp=0.9),
            ["topp is not a setting", "0.9", "known are"],
        ),
        (
            lambda: SamplingSettings.from_dict({"chain": [["topp", 0.9]]}),
            ["topp is not a setting", "0.9", "known are"],
        ),
        (
            lambda: SamplingSettings(chain=[TopP(0.9), Temperature(0.7)], parity=True),
            ["chain", "transformers' order", "order it as temperature, top_p"],
        ),
    ],
)
def test_a_bad_chain_is_explained(call, parts):
    with pytest.raises(SettingError) as caught:
        call()
    check_sentence(caught.value, parts)


def test_parity_accepts_the_default_order():
    assert SamplingSettings(temperature=0.7, top_p=0.9, parity=True).parity


# --- replace -------------------------------------------------------------------------------------


def test_replace_keeps_the_place_of_a_stage():
    settings = SamplingSettings(chain=[TopP(0.9), TopK(5), Temperature(0.7)], seed=4)
    changed = settings.replace(top_k=9)
    assert changed.chain == (TopP(0.9), TopK(9), Temperature(0.7))
    assert changed.seed == 4 and settings.top_k == 5


@pytest.mark.parametrize("off", [0, None])
def test_replace_with_the_off_value_removes_the_stage(off):
    settings = SamplingSettings(top_k=5, top_p=0.9)
    assert names(settings.replace(top_k=off)) == ["top_p"]


def test_replace_inserts_a_new_stage_in_default_order():
    assert names(SamplingSettings(top_p=0.9).replace(temperature=0.5)) == ["temperature", "top_p"]
    assert names(SamplingSettings(top_k=5, min_p=0.1).replace(top_p=0.9)) == [
        "top_k",
        "top_p",
        "min_p",
    ]
    reordered = SamplingSettings(chain=[TopP(0.9), Temperature(0.7)])
    assert names(reordered.replace(min_p=0.1)) == ["top_p", "temperature", "min_p"]


def test_replace_changes_seed_parity_and_chain():
    settings = SamplingSettings(top_p=0.9, seed=4)
    assert settings.replace(seed=None) == SamplingSettings(top_p=0.9, seed=None)
    assert settings.replace(parity=True).parity
    assert settings.replace(chain=[TopK(1)]) == SamplingSettings(top_k=1, seed=4)
    assert settings.replace() == settings


# --- Plain values and back -----------------------------------------------------------------------

STAGES = {
    RepetitionPenalty: st.floats(0.01, 100),
    Temperature: st.just(0) | st.floats(1e-6, 100),
    TopK: st.integers(1, 10**6),
    TopP: st.floats(0, 1, exclude_min=True),
    MinP: st.floats(0, 1),
}


@st.composite
def any_settings(draw) -> SamplingSettings:
    kinds = draw(st.permutations(list(STAGES)))[: draw(st.integers(0, len(STAGES)))]
    chain = [kind(draw(STAGES[kind])) for kind in kinds]
    return SamplingSettings(chain=chain, seed=draw(st.none() | st.integers(0, 2**63 - 1)))


@given(any_settings())
def test_settings_survive_to_dict_and_back(settings):
    plain = json.loads(json.dumps(settings.to_dict(), allow_nan=False))
    assert SamplingSettings.from_dict(plain) == settings
    assert names(SamplingSettings.from_dict(plain)) == names(settings), "the order must survive"


def test_from_dict_fills_in_missing_fields():
    assert SamplingSettings.from_dict({"chain": []}).parity is False
    assert SamplingSettings.from_dict({"chain": [["top_k", {"k": 3}]], "parity": True}).top_k == 3


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"chain": None},
        {"chain": [["top_k"]]},
        {"chain": [["top_k", 1, 2]]},
        {"chain": [3]},
        {"chain": [[["top_k"], 3]]},
        {"chain": [["top_k", "3"]]},
        {"chain": [["top_k", None]]},
        {"chain": [["top_p", 1.5]]},
        {"chain": "top_k"},
        {"chain": [], "seed": -1},
        {"chain": [], "parity": "yes"},
        [],
        None,
    ],
    ids=str,
)
def test_from_dict_refuses_malformed_data(data):
    with pytest.raises(SettingError):
        SamplingSettings.from_dict(data)


# --- Bad values ----------------------------------------------------------------------------------


def check_sentence(error: SettingError, parts: list[str]) -> None:
    message = str(error)
    for part in parts:
        assert part in message, f"{message!r} does not say {part!r}"
    assert message.endswith(".") and "\n" not in message and len(message) < 250


NAN, INFINITE = math.nan, math.inf


@pytest.mark.parametrize(
    ("setting", "value", "problem", "remedy"),
    [
        ("temperature", -1, "must not be negative, got -1", "use 0 for greedy"),
        ("temperature", -0.5, "must not be negative, got -0.5", "use 0 for greedy"),
        ("temperature", NAN, "must be a finite number, got nan", "use 0 for greedy"),
        ("temperature", INFINITE, "must be a finite number, got inf", "use 0 for greedy"),
        ("temperature", 1e-9, "is too small to divide by, got 1e-09", "use 0 for greedy"),
        ("temperature", 1e-45, "is too small to divide by, got 1e-45", "use 0 for greedy"),
        ("temperature", "hot", "must be a number, got 'hot'", "use 0 for greedy"),
        ("temperature", True, "must be a number, got True", "use 0 for greedy"),
        ("temperature", False, "must be a number, got False", "use 0 for greedy"),
        ("temperature", 1j, "must be a number, got 1j", "use 0 for greedy"),
        ("temperature", [0.7], "must be a number, got [0.7]", "use 0 for greedy"),
        ("top_p", 0, "must be above 0 and at most 1, got 0", "use 1 to switch it off"),
        ("top_p", 1.5, "must be above 0 and at most 1, got 1.5", "use 1 to switch it off"),
        ("top_p", -0.1, "must be above 0 and at most 1, got -0.1", "use 1 to switch it off"),
        ("top_p", NAN, "must be a finite number, got nan", "use 1 to switch it off"),
        ("top_p", "0.9", "must be a number, got '0.9'", "use 1 to switch it off"),
        ("top_p", True, "must be a number, got True", "use 1 to switch it off"),
        ("top_k", -1, "must be 0 or a positive whole number, got -1", "use 0 to switch it off"),
        ("top_k", 2.5, "must be 0 or a positive whole number, got 2.5", "use 0 to switch it off"),
        ("top_k", NAN, "must be a finite number, got nan", "use 0 to switch it off"),
        ("top_k", True, "must be a number, got True", "use 0 to switch it off"),
        ("top_k", False, "must be a number, got False", "use 0 to switch it off"),
        ("min_p", -0.1, "must be between 0 and 1, got -0.1", "use 0 to switch it off"),
        ("min_p", 1.1, "must be between 0 and 1, got 1.1", "use 0 to switch it off"),
        ("min_p", NAN, "must be a finite number, got nan", "use 0 to switch it off"),
        ("min_p", False, "must be a number, got False", "use 0 to switch it off"),
        ("repetition_penalty", 0, "must be above 0, got 0", "use 1 to switch it off"),
        ("repetition_penalty", -1, "must be above 0, got -1", "use 1 to switch it off"),
        ("repetition_penalty", NAN, "must be a finite number, got nan", "use 1 to switch it off"),
        ("repetition_penalty", True, "must be a number, got True", "use 1 to switch it off"),
        ("seed", -1, "is out of range, got -1", "or None for a fresh one"),
        ("seed", 2**63, "got 9,223,372,036,854,775,808", "0 to 9,223,372,036,854,775,807"),
        ("seed", 1.5, "must be a whole number, got 1.5", "or None for a fresh one"),
        ("seed", True, "must be a whole number, got True", "or None for a fresh one"),
        ("seed", "7", "must be a whole number, got '7'", "or None for a fresh one"),
    ],
)
def test_error_names_setting_value_and_remedy(setting, value, problem, remedy):
    for call in (SamplingSettings, SamplingSettings().replace):
        with pytest.raises(SettingError) as caught:
            call(**{setting: value})
        check_sentence(caught.value, [f"{setting} ", problem, remedy])
        assert caught.value.setting == setting
        assert caught.value.value is value


@pytest.mark.parametrize("setting", ["temperature", "top_k", "top_p", "min_p"])
@pytest.mark.parametrize(
    "value", [10**400, -(10**400), 10**5_000], ids=["1e400", "-1e400", "1e5000"]
)
def test_whole_number_beyond_float_range_is_refused(setting, value):
    # The last has more digits than Python will print.
    with pytest.raises(SettingError) as caught:
        SamplingSettings(**{setting: value})
    check_sentence(caught.value, [f"{setting} "])


@pytest.mark.parametrize(
    ("setting", "value"),
    [("repetition_penalty", v) for v in (1e-300, 1e-46, 1e39, 1e300)] + [("temperature", 1e39)],
)
def test_value_outside_the_float32_range_is_refused(setting, value):
    # As float32 these are 0 or infinite, and NaN logits would be blamed on the model.
    with pytest.raises(SettingError) as caught:
        SamplingSettings(**{setting: value})
    check_sentence(caught.value, [f"{setting} "])


def test_extreme_values_within_range_are_accepted():
    settings = SamplingSettings(
        temperature=1e-6, top_p=5e-324, min_p=1.0, top_k=10**12, seed=2**63 - 1
    )
    assert len(settings.chain) == 4
    assert SamplingSettings(top_k=3.0).top_k == 3, "a whole number may be written as a float"


def test_top_k_above_the_vocabulary_is_refused():
    SamplingSettings(top_k=16_384, top_p=0.9).check_vocabulary(16_384)
    with pytest.raises(SettingError) as caught:
        SamplingSettings(top_k=16_385).check_vocabulary(16_384)
    check_sentence(
        caught.value,
        ["top_k is above the vocabulary of 16,384 tokens", "got 16,385", "use at most 16,384"],
    )


def test_long_value_is_shortened_in_the_message():
    with pytest.raises(SettingError) as caught:
        SamplingSettings(temperature="hot" * 1_000)
    check_sentence(caught.value, ["temperature must be a number", "...", "use 0 for greedy"])


def test_setting_error_is_a_picklable_value_error():
    # Tests and benchmarks pass results between processes.
    with pytest.raises(ValueError, match=r"top_p must be above 0") as caught:
        SamplingSettings(top_p=1.4)
    error = caught.value
    assert isinstance(error, DecodingError)
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is SettingError
        assert str(twin) == str(error)
        assert (twin.setting, twin.value, twin.remedy) == ("top_p", 1.4, error.remedy)


def test_chain_of_a_bare_stage_is_refused():
    with pytest.raises(SettingError, match="must be a list of stages"):
        SamplingSettings(chain=TopP(0.9))


def test_setting_accepts_a_stage_object():
    assert SamplingSettings(top_p=TopP(0.9)) == SamplingSettings(top_p=0.9)


@pytest.mark.parametrize("values", [0.9, [0.9], {"q": 0.9}, {"p": 0.9, "more": 1}])
def test_saved_stage_must_have_its_own_fields(values):
    with pytest.raises(SettingError, match="top_p"):
        SamplingSettings.from_dict({"chain": [["top_p", values]]})
