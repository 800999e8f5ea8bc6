"""The stages in `SamplingSettings`: forms, bad values, plain values and back."""

import copy
import json
import math
import pickle

import numpy as np
import pytest

from engine.errors import SettingError
from engine.sampling import DEFAULT_ORDER, STAGES, SamplingSettings
from engine.sampling.samplers import (
    Banned,
    Constraint,
    Context,
    Dry,
    DynamicTemperature,
    EpsilonCutoff,
    LogitBias,
    MinNewTokens,
    Mirostat,
    NoRepeatNGram,
    PLess,
    Temperature,
    TopH,
    TopK,
    TypicalP,
    Xtc,
)
from tests.engine.grammar.tokens import places_over, words_of_abc

ON = {
    "logit_bias": LogitBias({7: 1.5, 3: -2}),
    "repetition_penalty": 1.1,
    "presence_penalty": 0.5,
    "frequency_penalty": -0.25,
    "dry": Dry(0.8, 1.75, 2, 512, (198, 25)),
    "no_repeat_ngram": 3,
    "banned": Banned([[5], [6, 7]]),
    "min_new_tokens": 4,
    "constraint": Constraint("regex", "[abc]{1,9}"),
    "temperature": 0.7,
    "dynamic_temperature": DynamicTemperature(0.5, 1.25, 2),
    "top_h": 0.4,
    "top_k": 50,
    "top_p": 0.9,
    "min_p": 0.05,
    "typical_p": 0.95,
    "epsilon_cutoff": 3e-4,
    "eta_cutoff": 4e-3,
    "p_less": PLess(),
    "top_n_sigma": 1.5,
    "tail_free": 0.97,
    "xtc": Xtc(0.1, 0.5),
    "mirostat": Mirostat(4, 0.2),
}
OF_ABC = Context(np.empty(0, np.int64), places=places_over(words_of_abc(300)))
AS_STAGES = ("dry", "constraint", "dynamic_temperature", "p_less", "xtc", "mirostat")


def test_every_stage_is_covered_here():
    assert list(ON) == list(STAGES) == [kind.setting for kind in DEFAULT_ORDER]


def test_keywords_in_any_order_build_the_default_chain():
    settings = SamplingSettings(**dict(reversed(ON.items())))
    assert [stage.setting for stage in settings.chain] == list(ON)
    assert settings.dry == ON["dry"] and settings.typical_p == 0.95
    assert settings.logit_bias == ((3, -2.0), (7, 1.5))
    assert settings.banned == ((5,), (6, 7))
    assert hash(settings) == hash(SamplingSettings(**ON))


def test_off_values_build_no_stage_and_read_back():
    settings = SamplingSettings(**dict.fromkeys(ON))
    assert settings.chain == ()
    for name, kind in STAGES.items():
        assert getattr(settings, name) == kind.off
        assert settings.stage(name) is None
        assert SamplingSettings(**{name: kind.off}).chain == ()
    assert SamplingSettings(logit_bias={}, banned=[]).chain == ()


def test_plain_mappings_and_lists_are_accepted():
    settings = SamplingSettings(logit_bias={7: 1.5, np.int64(3): -2}, banned=[5, [6, 7], (5,)])
    assert settings.chain == (ON["logit_bias"], ON["banned"])
    assert LogitBias([[7, 1.5], [3, -2]]) == LogitBias(ON["logit_bias"].bias) == ON["logit_bias"]


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
        settings.chain[0].name = "x"


@pytest.mark.parametrize("name", ON)
def test_replace_removes_and_restores_each_stage_in_place(name):
    settings = SamplingSettings(**ON)
    without = settings.replace(**{name: None})
    assert [stage.setting for stage in without.chain] == [other for other in ON if other != name]
    assert without.replace(**{name: ON[name]}) == settings


NAN, INFINITE = math.nan, math.inf


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: LogitBias({3: 1e30}), ["logit_bias must be between -1000 and 1000", "1e+30"]),
        (lambda: LogitBias({3: NAN}), ["logit_bias must be a finite number, got nan"]),
        (lambda: LogitBias({3: -INFINITE}), ["logit_bias must be a finite number, got -inf"]),
        (lambda: LogitBias({3: "1"}), ["logit_bias must be a number, got '1'"]),
        (lambda: LogitBias({"3": 1}), ["logit_bias must hold token ids, whole numbers"]),
        (lambda: LogitBias({-3: 1}), ["logit_bias must hold token ids from 0 on, got -3"]),
        (lambda: LogitBias({True: 1}), ["token ids, whole numbers, got True"]),
        (lambda: LogitBias({1.5: 1}), ["token ids, whole numbers, got 1.5"]),
        (lambda: LogitBias([(3, 1), (3, 2)]), ["names a token twice, got 3"]),
        (lambda: LogitBias([3]), ["must hold pairs of id and bias, got 3"]),
        (lambda: LogitBias({}), ["logit_bias holds no token"]),
        (lambda: LogitBias(3), ["logit_bias must be a mapping, got 3"]),
        (lambda: LogitBias("ab"), ["logit_bias must be a mapping, got 'ab'"]),
        (lambda: SamplingSettings(presence_penalty=1e3), ["presence_penalty must be between"]),
        (lambda: SamplingSettings(presence_penalty=NAN), ["must be a finite number, got nan"]),
        (lambda: SamplingSettings(frequency_penalty="1"), ["frequency_penalty must be a number"]),
        (lambda: SamplingSettings(frequency_penalty=False), ["must be a number, got False"]),
        (lambda: Dry(multiplier=-1), ["dry.multiplier must be between 0 and 1000, got -1"]),
        (lambda: Dry(base=0.5), ["dry.base must be between 1 and 1000, got 0.5"]),
        (lambda: Dry(base=NAN), ["dry.base must be a finite number"]),
        (lambda: Dry(allowed_length=0), ["dry.allowed_length must be at least 1, got 0"]),
        (lambda: Dry(allowed_length=1.5), ["dry.allowed_length must be a whole number"]),
        (lambda: Dry(last_n=0), ["dry.last_n must be -1 or at least 1, got 0", "use -1"]),
        (lambda: Dry(last_n=-2), ["dry.last_n must be -1 or at least 1, got -2"]),
        (lambda: Dry(breakers="\n"), ["dry.breakers must be a list of token ids"]),
        (lambda: Dry(breakers=3), ["dry.breakers must be a list of token ids, got 3"]),
        (lambda: Dry(breakers=["a"]), ["dry.breakers must hold token ids"]),
        (lambda: NoRepeatNGram(0), ["no_repeat_ngram must be 0 or a positive whole", "got 0"]),
        (lambda: NoRepeatNGram(-1), ["no_repeat_ngram must be 0 or a positive", "got -1"]),
        (lambda: SamplingSettings(no_repeat_ngram=2.5), ["no_repeat_ngram", "got 2.5"]),
        (lambda: SamplingSettings(no_repeat_ngram=False), ["must be a number, got False"]),
        (lambda: Banned([[-1]]), ["banned must hold token ids from 0 on, got -1"]),
        (lambda: Banned([[]]), ["banned holds an empty sequence"]),
        (lambda: Banned([]), ["banned holds no sequence"]),
        (lambda: Banned(["a"]), ["banned must be a list of token ids, got 'a'"]),
        (lambda: Banned([1.5]), ["banned must be a list of token ids, got 1.5"]),
        (lambda: Banned(5), ["banned must be a list of token sequences, got 5"]),
        (lambda: Banned({5: 1}), ["banned must be a list of token sequences"]),
        (lambda: MinNewTokens(-3), ["min_new_tokens must be 0 or a positive whole", "got -3"]),
        (lambda: DynamicTemperature(2, 1), ["dynamic_temperature.high must not be below low, 2"]),
        (lambda: DynamicTemperature(-1, 1), ["dynamic_temperature.low must be between 0 and"]),
        (
            lambda: DynamicTemperature(0, 0),
            ["dynamic_temperature.high", "temperature 0 for greedy"],
        ),
        (lambda: DynamicTemperature(0, 1, 0), ["dynamic_temperature.exponent must be between"]),
        (lambda: DynamicTemperature(0, INFINITE), ["dynamic_temperature.high must be a finite"]),
        (lambda: SamplingSettings(top_h=0), ["top_h must be above 0 and at most 1", "None"]),
        (lambda: TopH(1.5), ["top_h must be above 0 and at most 1, got 1.5"]),
        (lambda: TypicalP(0), ["typical_p must be above 0 and at most 1, got 0"]),
        (lambda: TypicalP(NAN), ["typical_p must be a finite number"]),
        (lambda: EpsilonCutoff(1), ["epsilon_cutoff must be above 0 and below 1, got 1"]),
        (lambda: SamplingSettings(eta_cutoff=-1e-3), ["eta_cutoff must be above 0 and below 1"]),
        (lambda: SamplingSettings(top_n_sigma=-1), ["top_n_sigma must be above 0 and at most 100"]),
        (lambda: SamplingSettings(tail_free=1.1), ["tail_free must be above 0 and at most 1"]),
        (lambda: Xtc(threshold=0), ["xtc.threshold must be above 0 and at most 1, got 0"]),
        (lambda: Xtc(threshold=1.1), ["xtc.threshold", "got 1.1"]),
        (lambda: Xtc(probability=-0.1), ["xtc.probability must be between 0 and 1, got -0.1"]),
        (lambda: Xtc(probability=NAN), ["xtc.probability must be a finite number"]),
        (lambda: Mirostat(tau=0), ["mirostat.tau must be above 0 and at most 100, got 0"]),
        (lambda: Mirostat(tau=-1), ["mirostat.tau must be above 0", "got -1"]),
        (lambda: Mirostat(eta=0), ["mirostat.eta must be above 0 and at most 1, got 0"]),
        (lambda: Mirostat(eta="x"), ["mirostat.eta must be a number, got 'x'"]),
        (
            lambda: SamplingSettings.from_dict({"chain": [["dry", {"breakers": None}]]}),
            ["dry.breakers must be a list of token ids, got None"],
        ),
        (
            lambda: SamplingSettings.from_dict({"chain": [["xtc", {"thresh": 1}]]}),
            ["xtc has other fields"],
        ),
    ],
)
def test_a_bad_value_is_explained(make, parts):
    with pytest.raises(SettingError) as caught:
        make()
    message = str(caught.value)
    for part in parts:
        assert part in message, f"{message!r} does not say {part!r}"
    assert message.endswith(".") and "\n" not in message and len(message) < 250


@pytest.mark.parametrize("name", AS_STAGES)
@pytest.mark.parametrize("value", [0.5, 0, True, False, {"tau": 3}], ids=str)
def test_stage_with_several_fields_must_be_given_whole(name, value):
    with pytest.raises(SettingError, match=f"{name} must be given as a stage.*use for example"):
        SamplingSettings(**{name: value})


@pytest.mark.parametrize(
    "stage",
    [LogitBias({300: 1}), Banned([[1, 300]]), Dry(breakers=(2, 300))],
    ids=lambda stage: stage.name,
)
def test_tokens_outside_the_vocabulary_are_refused(stage):
    SamplingSettings(chain=[stage]).check_vocabulary(301)
    with pytest.raises(SettingError, match="names a token outside the vocabulary of 300, got 300"):
        SamplingSettings(chain=[stage]).check_vocabulary(300)


def test_settings_without_effect_are_allowed():
    SamplingSettings(xtc=Xtc(0.9, 0.5), dry=Dry(multiplier=0), chain=None)
    SamplingSettings(chain=[Mirostat(), TopK(5), DynamicTemperature(), Temperature(2)])
