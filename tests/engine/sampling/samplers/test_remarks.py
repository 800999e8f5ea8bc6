"""Remarks about stages without effect are true: without these stages the draw is the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import NoCandidatesError
from engine.sampling import SamplingSettings, shape
from engine.sampling.samplers import (
    Banned,
    Constraint,
    Dry,
    DynamicTemperature,
    Mirostat,
    RepetitionPenalty,
    StageRemark,
    Temperature,
    TopK,
    TopP,
    TypicalP,
    Xtc,
    remarks,
)
from tests.engine.sampling.samplers.test_figures import any_row


def off(chain) -> list[StageRemark]:
    return [remark for remark in remarks(chain) if not remark.has_effect]


def names_off(*chain) -> list[str]:
    return [remark.stage.setting for remark in off(chain)]


def test_temperature_0_makes_some_samplers_idle():
    greedy = Temperature(0)
    assert names_off(RepetitionPenalty(1.1), greedy, TopK(5), TopP(0.9)) == ["top_k", "top_p"]
    assert names_off(TopK(5), DynamicTemperature(), greedy) == ["top_k", "dynamic_temperature"]
    assert names_off(Temperature(0.5), TopK(5)) == []
    # Typical and XTC may drop the most likely token, so they and the stages before them matter.
    assert names_off(TypicalP(0.5), greedy) == []
    assert names_off(TopK(5), RepetitionPenalty(2), greedy) == [], "a penalty changes the order"
    assert names_off(TopK(5), Xtc(), TopP(0.9), greedy) == ["top_p"]
    (remark,) = remarks([greedy, Banned([[1]])])
    assert remark.has_effect and "only refuse" in remark.reason


def test_neutral_values_are_reported_as_idle():
    chain = [Dry(multiplier=0), Temperature(1), TopP(1), Xtc(threshold=0.7), Mirostat()]
    assert names_off(*chain) == ["dry", "temperature", "top_p", "xtc"]
    reasons = {remark.stage.setting: remark.reason for remark in off(chain)}
    assert "threshold above one half" in reasons["xtc"] and "1.0" in reasons["top_p"]
    assert names_off(Xtc(probability=0)) == ["xtc"]


def test_odd_combinations_with_effect_are_explained():
    told = {
        r.stage.setting: r
        for r in remarks([Temperature(2), DynamicTemperature(), TopK(9), Mirostat(), TopP(0.9)])
    }
    assert all(remark.has_effect for remark in told.values())
    assert list(told) == ["dynamic_temperature", "top_k", "top_p"]
    assert "another temperature" in told["dynamic_temperature"].reason
    assert "may not reach its tau" in told["top_k"].reason
    assert "falls short of tau" in told["top_p"].reason
    assert remarks([Temperature(2), TopK(9)]) == []


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=60, deadline=None)
def test_idle_stage_does_not_change_the_draw(seed, greedy):
    logits, chain, context = any_row(seed)
    if greedy:
        chain = [stage for stage in chain if not isinstance(stage, Temperature)]
        chain.insert(seed % (len(chain) + 1), Temperature(0))
    try:
        full = shape(logits, SamplingSettings(chain=chain), context)
    except NoCandidatesError:
        return
    idle = [remark.stage for remark in off(chain)]
    rest = [stage for stage in chain if stage not in idle]
    left = shape(logits, SamplingSettings(chain=rest), context)
    assert full.probs == pytest.approx(left.probs, abs=1e-6), f"{idle} of {chain} had an effect"


def test_unenforced_schema_keywords_are_reported():
    typed = Constraint("json_schema", {"type": "object", "reqired": ["a"]})
    (remark,) = remarks([Temperature(0), typed])
    assert remark.has_effect and 'not enforced: "reqired" (1:20, required?)' in remark.reason
    assert remarks([Constraint("json_schema", {"type": "object", "required": ["a"]})]) == []
