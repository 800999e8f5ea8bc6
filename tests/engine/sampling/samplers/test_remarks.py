"""Remarks about stages without effect are true: without these stages the draw is the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import NoCandidatesError
from engine.sampling import DEFAULT_ORDER, SamplingSettings, shape
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
from tests.engine.sampling.samplers.test_twins import any_context, any_stage


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
    assert reasons["xtc"] == "no two tokens can both reach a threshold above one half"
    assert reasons["top_p"] == "at 1.0 it changes nothing"
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
    rng = np.random.default_rng(seed)
    vocab = int(rng.choice([4, 20]))
    context = any_context(rng, vocab)
    kinds = rng.permutation(len(DEFAULT_ORDER))[: rng.integers(1, 8)]
    chain = [any_stage(DEFAULT_ORDER[kind], rng, vocab, context.token_ids) for kind in kinds]
    if greedy:
        chain = [stage for stage in chain if not isinstance(stage, Temperature)]
        chain.insert(rng.integers(0, len(chain) + 1), Temperature(0))
    logits = rng.standard_normal(vocab).astype(np.float32) * 3
    try:
        full = shape(logits, SamplingSettings(chain=chain), context)
    except NoCandidatesError:
        return
    idle = [remark.stage for remark in off(chain)]
    rest = [stage for stage in chain if stage not in idle]
    left = shape(logits, SamplingSettings(chain=rest), context)
    assert full.probs == pytest.approx(left.probs, abs=1e-6), f"{idle} of {chain} had an effect"


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_any_chain_leaves_a_proper_distribution(seed):
    rng = np.random.default_rng(seed)
    vocab = int(rng.choice([4, 20, 700]))
    context = any_context(rng, vocab)
    kinds = rng.permutation(len(DEFAULT_ORDER))[: rng.integers(1, len(DEFAULT_ORDER) + 1)]
    chain = [any_stage(DEFAULT_ORDER[kind], rng, vocab, context.token_ids) for kind in kinds]
    logits = rng.standard_normal(vocab).astype(np.float32) * 3
    if rng.random() < 0.5:
        logits = np.round(logits)  # ties
    given_logits = logits.copy()
    try:
        result = shape(logits, SamplingSettings(chain=chain), context)
    except NoCandidatesError as error:
        assert any(f"{stage.setting} took" in str(error) for stage in chain)
        return
    assert np.array_equal(logits, given_logits), "shape modified the logits it was given"
    probs = result.probs
    assert probs.sum() == pytest.approx(1) and np.all(probs >= 0)
    assert np.count_nonzero(result.final_scores > -np.inf) == result.survivors >= 1
    left = [vocab, *(stage.survivors for stage in result.stages)]
    assert left == sorted(left, reverse=True), "no stage brings a token back"
    for stage in result.stages:
        assert 0 <= stage.mass_removed <= 1 + 1e-12
        held = stage.probs[stage.probs > 0]
        assert stage.entropy_bits == pytest.approx(-(held * np.log2(held)).sum(), abs=1e-6)
    for u in (0.0, 0.3, 0.99999):
        drawn = result.draw(u)
        assert drawn.probability == pytest.approx(probs[drawn.token_id], abs=1e-9)
        assert result.probability(drawn.token_id) == pytest.approx(drawn.probability, abs=1e-9)
    for row in result.candidates(vocab):
        assert row.removed_by == result.removed_by(row.token_id)
        assert row.final_prob == pytest.approx(probs[row.token_id])


def test_unenforced_schema_keywords_are_reported():
    typed = Constraint("json_schema", {"type": "object", "reqired": ["a"]})
    (remark,) = remarks([Temperature(0), typed])
    assert remark.has_effect and 'not enforced: "reqired" (1:20, required?)' in remark.reason
    assert remarks([Constraint("json_schema", {"type": "object", "required": ["a"]})]) == []
