"""Every stage on four tokens, against numbers worked out by hand."""

import math
from collections import Counter

import numpy as np
import pytest

from engine.errors import NoCandidatesError
from engine.sampling import DEFAULT_ORDER, SamplingSettings, shape
from engine.sampling.ranking import RankedRow
from engine.sampling.samplers import (
    Banned,
    Dry,
    EpsilonCutoff,
    Mirostat,
    MirostatState,
    NoRepeatNGram,
    Temperature,
    TopK,
    TopP,
    TypicalP,
    Xtc,
)
from engine.sampling.survivors import Survivors
from tests.engine.sampling.samplers.cases import CASES, HALVING, RISING, said
from tests.engine.sampling.test_samplers import logits_of, softmax

NEARLY_1 = math.nextafter(1, 0)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.stage} {case.before}"[:120])
def test_stage_gives_the_hand_computed_probabilities(case):
    logits = logits_of(case.before)
    given = logits.copy()
    result = case.stage(logits, case.context)
    expected = pytest.approx(list(case.after), abs=3e-7)
    assert softmax(result) == expected
    assert (result > -np.inf).tolist() == [p > 0 for p in case.after]
    assert np.array_equal(logits, given), "the stage modified its input"
    assert result is not logits and not np.shares_memory(result, logits)
    assert result.dtype == np.float32
    # The same through a chain, with all its figures.
    shaped = shape(logits, SamplingSettings(chain=[case.stage]), case.context)
    assert shaped.probs == expected
    assert shaped.survivors == np.count_nonzero(case.after)
    (stage,) = shaped.stages
    kept = np.array(case.after) > 0
    assert stage.mass_removed == pytest.approx(np.array(case.before)[~kept].sum(), abs=1e-6)
    entropy = -sum(p * np.log2(p) for p in case.after if p > 0)
    assert stage.entropy_bits == pytest.approx(entropy, abs=1e-6)
    assert [shaped.probability(i) for i in range(4)] == expected
    removed = [p > 0 and not stays for p, stays in zip(case.before, kept, strict=True)]
    assert [shaped.removed_by(i) is not None for i in range(4)] == removed
    drawn = {shaped.sample(u) for u in [*np.linspace(0, 1, 200, endpoint=False), NEARLY_1]}
    assert drawn == set(np.flatnonzero(kept).tolist())


def test_every_stage_has_three_hand_computed_cases():
    counts = Counter(case.stage.setting for case in CASES)
    assert set(counts) == {kind.setting for kind in DEFAULT_ORDER}
    assert min(counts.values()) >= 3, counts


# --- After an earlier cut that leaves a window of the ranks ---------------------------------------


@pytest.mark.parametrize(
    ("chain", "after"),
    [
        # XTC leaves 2, 1, 0 with 3/6, 2/6, 1/6; entropies and shares then come from these.
        ((Xtc(0.25, 1), TopK(2)), (0, 0.4, 0.6, 0)),
        ((Xtc(0.25, 1), Temperature(0.5)), (1 / 14, 4 / 14, 9 / 14, 0)),
        ((Xtc(0.25, 1), Temperature(0)), (0, 0, 1, 0)),
        ((Xtc(0.25, 1), EpsilonCutoff(0.2)), (0, 0.4, 0.6, 0)),
        # their H is 1.011; .693 1.099 1.792 lie .318 .087 .780 from it, so 1 comes first, then 2
        ((Xtc(0.25, 1), TypicalP(0.6)), (0, 0.4, 0.6, 0)),
        ((Xtc(0.25, 1), Banned([[2]])), (1 / 3, 2 / 3, 0, 0)),
        # typical 0.45 leaves 2 and 1 with 3/5 and 2/5
        ((TypicalP(0.45), Xtc(0.35, 1)), (0, 1, 0, 0)),
        ((TypicalP(0.45), Temperature(0.5)), (0, 4 / 13, 9 / 13, 0)),
        # top-k 2 leaves 4/7 and 3/7, .807 and 1.222 bits: mu = .9 keeps the first
        ((TopK(2), Mirostat(0.45, 0.1)), (0, 0, 0, 1)),
    ],
    ids=str,
)
def test_stages_after_a_cut_see_only_survivors(chain, after):
    result = shape(logits_of(RISING), SamplingSettings(chain=chain))
    assert result.probs == pytest.approx(list(after), abs=3e-7)
    assert [result.probability(i) for i in range(4)] == pytest.approx(list(after), abs=3e-7)
    kept = np.array(after) > 0
    drawn = {result.sample(u) for u in [*np.linspace(0, 1, 200, endpoint=False), NEARLY_1]}
    assert drawn == set(np.flatnonzero(kept).tolist())
    entropy = -sum(p * np.log2(p) for p in after if p > 0)
    assert result.final_entropy_bits == pytest.approx(entropy, abs=1e-6)


@pytest.mark.parametrize(("p", "after"), [(0.5, (0, 0, 1, 0)), (0.7, (0, 0, 0.6, 0.4))])
def test_top_p_is_exact_after_nearly_all_mass_has_gone(p, after):
    chain = [Xtc(5e-5, 1), TopP(p)]  # XTC leaves the last two tokens
    result = shape(logits_of((0.9998, 1e-4, 6e-5, 4e-5)), SamplingSettings(chain=chain))
    assert result.probs == pytest.approx(list(after), abs=3e-7)


# --- Mirostat's bound -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("token_id", "mu"),
    [(0, 6.2), (1, 6.1), (2, 6.0)],  # 1, 2 and 3 bits against tau = 3: 6 - .1 * (bits - 3)
)
def test_mirostat_moves_its_bound_by_eta_times_error(token_id, mu):
    before = Survivors(RankedRow(logits_of(HALVING)))
    stage = Mirostat(3, 0.1)
    state = stage.after(MirostatState(3, 6.0), token_id, before)
    assert state.mu == pytest.approx(mu, abs=1e-6) and state.tau == 3
    assert stage.initial_state() == MirostatState(3, 6.0), "it begins at 2 tau"


def test_mirostat_measures_surprise_before_its_own_cut():
    chain = [TopK(2), Mirostat(2, 0.5)]  # from 1/2, 1/4, 1/8, 1/8 it sees 2/3 and 1/3
    result = shape(logits_of(HALVING), SamplingSettings(chain=chain), said(mirostat=(2, 0.7)))
    assert result.survivors == 1
    state = result.states_after(1)["mirostat"]  # log2 3 = 1.585 bits, although mirostat removed it
    assert state.mu == pytest.approx(0.7 - 0.5 * (np.log2(3) - 2), abs=1e-6)
    untouched = result.states_after(3)["mirostat"]
    assert untouched.mu == 0.7, "a token that was out before has no surprise"
    assert shape(logits_of(HALVING), SamplingSettings(top_k=2)).states_after(0) == {}


# --- Nothing left ---------------------------------------------------------------------------------


@pytest.mark.parametrize("parity", [False, True])
@pytest.mark.parametrize(
    "stage", [Banned([0, 1, 2, 3]), NoRepeatNGram(1)], ids=lambda stage: stage.name
)
def test_stage_removing_the_last_token_is_named(stage, parity):
    settings = SamplingSettings(chain=[stage, TopK(2)], parity=parity)
    with pytest.raises(
        NoCandidatesError, match=f"{stage.name} removed the last of them; loosen it"
    ):
        shape(logits_of(RISING), settings, said(0, 1, 2, 3))
    with pytest.raises(NoCandidatesError, match=stage.name):
        stage(logits_of(RISING), said(0, 1, 2, 3))


def test_a_huge_dry_penalty_removes_nothing():
    dry = Dry(1000, 1000, 1)
    context = said(*[0] * 400)
    assert dry.repetitions(context.token_ids)[0] <= 399
    result = shape(np.zeros(4, np.float32), SamplingSettings(chain=[dry]), context)
    assert result.survivors == 4 and result.final_scores[0] == np.float32(-1e30)
    assert result.probs == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3])


def test_edit_without_a_match_keeps_the_ranking():
    before = Survivors(RankedRow(logits_of(RISING)))
    assert NoRepeatNGram(3).apply(before, said(0, 1)) is before
    assert Banned([[1, 2]]).apply(before, said(3)) is before
