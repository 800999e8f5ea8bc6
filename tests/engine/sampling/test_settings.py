"""Sampling settings: their forms, their order, plain values and back, refusals of bad values."""

import copy
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import DecodingError, SettingError
from engine.sampling import DEFAULT_ORDER, STAGES, SamplingSettings
from engine.sampling.samplers import (
    Banned,
    Constraint,
    Context,
    Dry,
    DynamicTemperature,
    LogitBias,
    MinP,
    Mirostat,
    RepetitionPenalty,
    Temperature,
    TopK,
    TopP,
    Xtc,
)
from tests.engine.grammar.tokens import places_over, words_of_abc
from tests.samplers import example

ON = {setting: example(setting).value for setting in STAGES}
ON["constraint"] = Constraint("regex", "[abc]{1,9}")  # one that the tokens below can meet
OF_ABC = Context(np.empty(0, np.int64), places=places_over(words_of_abc(300)))


def names(settings: SamplingSettings) -> list[str]:
    return [stage.setting for stage in settings.chain]


# --- Forms ---------------------------------------------------------------------------------------


def test_keywords_in_any_order_build_the_default_chain():
    assert list(ON) == list(STAGES) == [kind.setting for kind in DEFAULT_ORDER], "one is missing"
    settings = SamplingSettings(**dict(reversed(ON.items())), seed=3)
    assert names(settings) == list(ON)
    assert hash(settings) == hash(SamplingSettings(**ON, seed=3))
    assert (settings.seed, settings.parity) == (3, False)
    assert settings.dry == ON["dry"] and settings.typical_p == 0.6
    assert settings.logit_bias == ((5, 1.5), (7, -2.0))
    assert settings.banned == ((4,), (5, 6))
    with pytest.raises(AttributeError, match="no attribute 'top_q'"):
        _ = settings.top_q


def test_off_values_build_no_stage_and_read_back():
    settings = SamplingSettings(**dict.fromkeys(ON))
    assert settings.chain == ()
    for name, kind in STAGES.items():
        assert getattr(settings, name) == kind.off
        assert settings.stage(name) is None
        assert SamplingSettings(**{name: kind.off}).chain == ()
    assert SamplingSettings(logit_bias={}, banned=[], temperature=1).chain == ()


def test_plain_mappings_lists_and_numpy_numbers_are_accepted():
    settings = SamplingSettings(logit_bias={5: 1.5, np.int64(7): -2}, banned=[4, [5, 6], (4,)])
    assert settings.chain == (example("logit_bias"), example("banned"))
    assert LogitBias([[7, -2], [5, 1.5]]) == LogitBias(ON["logit_bias"]) == example("logit_bias")
    settings = SamplingSettings(temperature=np.float32(0.5), top_k=np.int64(3), seed=np.int64(3))
    assert settings == SamplingSettings(temperature=0.5, top_k=3.0, seed=3)
    assert SamplingSettings(top_p=TopP(0.9)) == SamplingSettings(top_p=0.9)


def test_only_temperature_0_is_greedy():
    assert SamplingSettings(temperature=0.0, top_p=0.9).is_greedy
    assert not SamplingSettings(temperature=1e-6).is_greedy
    assert not SamplingSettings(top_k=1).is_greedy


def test_a_chain_keeps_the_order_given():
    chain = [TopP(0.9), Temperature(1), TopK(5), RepetitionPenalty(1.1)]
    settings = SamplingSettings(chain=chain)
    assert settings.chain == tuple(chain) == SamplingSettings(chain=iter(chain)).chain
    assert settings.top_p == 0.9 and settings.min_p == 0.0
    chain.reverse()
    assert names(settings)[0] == "top_p", "the settings must not change with the caller's list"


def test_settings_without_effect_are_allowed():
    SamplingSettings(xtc=Xtc(0.9, 0.5), dry=Dry(multiplier=0), chain=None)
    SamplingSettings(chain=[Mirostat(), TopK(5), DynamicTemperature(), Temperature(2)])
    assert SamplingSettings(temperature=0.7, top_p=0.9, parity=True).parity
    assert len(SamplingSettings(top_p=5e-324, min_p=1.0, top_k=10**12, seed=2**63 - 1).chain) == 3


# --- replace -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ON)
def test_replace_removes_and_restores_each_stage_in_place(name):
    settings = SamplingSettings(**ON)
    without = settings.replace(**{name: None})
    assert names(without) == [other for other in ON if other != name]
    assert without.replace(**{name: ON[name]}) == settings


def test_replace_keeps_the_place_of_a_stage():
    settings = SamplingSettings(chain=[TopP(0.9), TopK(5), Temperature(0.7)], seed=4)
    changed = settings.replace(top_k=9)
    assert changed.chain == (TopP(0.9), TopK(9), Temperature(0.7))
    assert changed.seed == 4 and settings.top_k == 5
    assert names(settings.replace(top_k=0)) == ["top_p", "temperature"]
    assert names(settings.replace(min_p=0.1)) == ["top_p", "top_k", "temperature", "min_p"]


def test_replace_changes_seed_parity_and_chain():
    settings = SamplingSettings(top_p=0.9, seed=4)
    assert settings.replace(seed=None) == SamplingSettings(top_p=0.9, seed=None) != settings
    assert settings.replace(parity=True).parity
    assert settings.replace(chain=[TopK(1)]) == SamplingSettings(top_k=1, seed=4)
    assert settings.replace() == settings


# --- Plain values and back -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ON)
def test_settings_survive_json_copy_and_pickle(name):
    settings = SamplingSettings(**{name: ON[name]}, seed=5)
    plain = settings.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain, "not plain values"
    again = SamplingSettings.from_dict(json.loads(json.dumps(plain)))
    assert again == settings and hash(again) == hash(settings)
    for twin in (copy.deepcopy(settings), pickle.loads(pickle.dumps(settings))):
        assert twin == settings
        logits = np.linspace(0, 3, 300, dtype=np.float32)
        assert np.array_equal(twin.chain[0](logits, OF_ABC), settings.chain[0](logits, OF_ABC))
    with pytest.raises(AttributeError):
        settings.seed = 4
    with pytest.raises(AttributeError):
        settings.chain[0].name = "x"


RANGES = {
    RepetitionPenalty: st.floats(0.01, 100),
    Temperature: st.just(0) | st.floats(1e-6, 100),
    TopK: st.integers(1, 10**6),
    TopP: st.floats(0, 1, exclude_min=True),
    MinP: st.floats(0, 1),
}


@given(st.permutations(list(RANGES)), st.none() | st.integers(0, 2**63 - 1), st.data())
def test_chain_of_any_order_survives_json(kinds, seed, data):
    chain = [kind(data.draw(RANGES[kind])) for kind in kinds]
    settings = SamplingSettings(chain=chain, seed=seed)
    plain = json.loads(json.dumps(settings.to_dict(), allow_nan=False))
    assert SamplingSettings.from_dict(plain).chain == tuple(chain)
    assert SamplingSettings.from_dict(plain) == settings


def test_from_dict_fills_in_missing_fields():
    assert SamplingSettings.from_dict({"chain": []}).parity is False
    assert SamplingSettings.from_dict({"chain": [["top_k", {"k": 3}]], "parity": True}).top_k == 3


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"chain": "top_k"},
        {"chain": [["top_k"]]},
        {"chain": [["top_k", {"k": 1}, 2]]},
        {"chain": [3]},
        {"chain": [[["top_k"], 3]]},
        {"chain": [["top_k", None]]},
        {"chain": [["topp", {"p": 0.9}]]},
        {"chain": [["top_p", {"p": 1.5}]]},
        {"chain": [["top_p", {"q": 0.9}]]},
        {"chain": [["top_p", {"p": 0.9, "more": 1}]]},
        {"chain": [["dry", {"breakers": None}]]},
        {"chain": [], "seed": -1},
        {"chain": [], "parity": "yes"},
        None,
    ],
    ids=str,
)
def test_from_dict_refuses_malformed_data(data):
    with pytest.raises(SettingError):
        SamplingSettings.from_dict(data)


# --- Bad values ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: [TopK(1), TopP(0.9), TopK(2)], "chain contains .*twice, got 'top_k'"),
        (lambda: [0.9], "chain must contain stages, got 0.9"),
        (lambda: [TopP], "chain must contain stages"),
        (lambda: TopP(0.9), "chain must be a list of stages"),
        (lambda: SamplingSettings(chain=[TopK(1)], top_p=0.9), "top_p .*combined with a chain"),
        (
            lambda: SamplingSettings(topp=0.9),
            r"topp is not a setting, got 0.9; .*top_p, top_k(, \w+){2} and \d+ more",
        ),
        (lambda: SamplingSettings().replace(topp=0.9), "topp is not a setting"),
        (
            lambda: SamplingSettings(chain=[TopP(0.9), Temperature(0.7)], parity=True),
            "chain is not in transformers' order.*order it as temperature, top_p",
        ),
    ],
)
def test_a_bad_chain_is_explained(make, said):
    with pytest.raises(SettingError, match=f"^{said}"):
        SamplingSettings(chain=make())


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("temperature", -0.5, "must not be negative"),
        ("temperature", 1e-9, "is too small to divide by"),
        ("temperature", 1e-45, "is too small to divide by"),
        ("temperature", 1e39, "must be"),  # infinite as float32
        ("repetition_penalty", 1e39, "must be"),
        ("repetition_penalty", 1e-46, "must be"),  # 0 as float32: NaN logits would be the model's
        ("temperature", math.nan, "must be a finite number"),
        pytest.param(  # more digits than Python will print
            *("temperature", 10**5_000, "must be a finite number"), id="1e5000"
        ),
        ("temperature", "hot" * 1_000, "must be a number, got 'hothot.*[.][.][.]"),
        ("temperature", 1j, "must be a number"),
        ("temperature", False, "must be a number"),
        ("top_p", 1.5, "must be above 0 and at most 1"),
        ("top_k", -1, "must be 0 or a positive whole number"),
        ("top_k", 2.5, "must be 0 or a positive whole number"),
        ("top_k", False, "must be a number"),  # False == 0, its off value
        ("min_p", 1.1, "must be between 0 and 1"),
        ("epsilon_cutoff", 1, "must be above 0 and below 1"),
        ("repetition_penalty", 0, "must be above 0"),
        ("no_repeat_ngram", 2.5, "must be 0 or a positive whole number"),
        ("presence_penalty", 1e3, "must be between"),
        ("seed", -1, "is out of range"),
        ("seed", 2**63, "is out of range"),
        ("seed", 1.5, "must be a whole number"),
        ("seed", True, "must be a whole number"),
        ("seed", "7", "must be a whole number"),
        ("dry", 0, "must be given as a stage"),
        ("xtc", True, "must be given as a stage"),
        ("mirostat", {"tau": 3}, "must be given as a stage"),
        ("p_less", True, "must be given as a stage"),
    ],
)
def test_refusal_names_setting_value_and_remedy(setting, value, said):
    for call in (SamplingSettings, SamplingSettings().replace):
        with pytest.raises(SettingError, match=f"^{setting} {said}.*; ") as caught:
            call(**{setting: value})
        assert (caught.value.setting, caught.value.value) == (setting, value)
        assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: LogitBias({3: 1e30}), "logit_bias must be between -1000 and 1000"),
        (lambda: LogitBias({3: math.nan}), "logit_bias must be a finite number"),
        (lambda: LogitBias({"3": 1}), "logit_bias must contain token ids, which are whole numbers"),
        (lambda: LogitBias({-3: 1}), "logit_bias must not contain negative token ids"),
        (
            lambda: LogitBias({True: 1}),
            "logit_bias must contain token ids, which are whole numbers",
        ),
        (lambda: LogitBias([(3, 1), (3, 2)]), "logit_bias names a token twice"),
        (lambda: LogitBias([3]), "logit_bias must contain pairs"),
        (lambda: LogitBias({}), "logit_bias contains no token"),
        (lambda: LogitBias(3), "logit_bias must be a mapping"),
        (lambda: Dry(allowed_length=1.5), "dry.allowed_length must be a whole number"),
        (lambda: Dry(last_n=0), "dry.last_n must be -1 or at least 1"),
        (lambda: Dry(breakers="\n"), "dry.breakers must be a list of token ids"),
        (lambda: Dry(breakers=["a"]), "dry.breakers must contain token ids"),
        (lambda: Banned([[-1]]), "banned must not contain negative token ids"),
        (lambda: Banned([[]]), "banned contains an empty sequence"),
        (lambda: Banned([]), "banned contains no sequence"),
        (lambda: Banned(["a"]), "banned must be a list of token ids"),
        (lambda: Banned([True]), "banned must be a list of token ids"),
        (lambda: Banned(5), "banned must be a list of token sequences"),
        (lambda: Banned({5: 1}), "banned must be a list of token sequences"),
        (lambda: DynamicTemperature(2, 1), "dynamic_temperature.high must not be below low, 2"),
        (lambda: DynamicTemperature(0, 0), "dynamic_temperature.high .*temperature 0 for greedy"),
        (lambda: Xtc(threshold=1.1), "xtc.threshold must be above 0 and at most 1"),
    ],
)
def test_stage_refuses_a_bad_value(make, said):
    with pytest.raises(SettingError, match=f"^{said}"):
        make()


@pytest.mark.parametrize(
    "name",
    [
        *("presence_penalty", "frequency_penalty", "dry", "constraint", "dynamic_temperature"),
        *("p_less", "top_n_sigma", "tail_free", "xtc", "mirostat"),
    ],
)
def test_parity_refuses_stages_that_transformers_lacks(name):
    with pytest.raises(SettingError, match=f"^{name} has no counterpart in transformers"):
        SamplingSettings(**{name: ON[name]}, parity=True)


@pytest.mark.parametrize(
    "stage", [LogitBias({300: 1}), Banned([[1, 300]]), Dry(breakers=(2, 300)), TopK(301)], ids=repr
)
def test_tokens_outside_the_vocabulary_are_refused(stage):
    settings = SamplingSettings(top_p=0.9, **{stage.setting: stage})
    settings.check_vocabulary(301)
    with pytest.raises(SettingError, match=f"^{stage.setting}.* vocabulary of 300.*got 30[01]"):
        settings.check_vocabulary(300)


def test_setting_error_is_a_picklable_value_error():
    # Tests and benchmarks pass results between processes.
    with pytest.raises(ValueError, match="top_p must be above 0") as caught:
        SamplingSettings(top_p=1.4)
    error = caught.value
    assert isinstance(error, DecodingError)
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is SettingError
        assert str(twin) == str(error)
        assert (twin.setting, twin.value, twin.remedy) == ("top_p", 1.4, error.remedy)
