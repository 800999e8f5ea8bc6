"""Figures and cases of stages on a row, by hand on four tokens and on random chains."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import NoCandidatesError
from engine.sampling import DEFAULT_ORDER, STAGES, SamplingSettings, StageResult, shape
from engine.sampling.samplers import (
    NO_CONTEXT,
    Banned,
    Constraint,
    Context,
    CutStage,
    DynamicTemperature,
    EpsilonCutoff,
    EtaCutoff,
    FrequencyPenalty,
    LogitBias,
    MinNewTokens,
    MinP,
    Mirostat,
    NoRepeatNGram,
    PLess,
    PresencePenalty,
    RepetitionPenalty,
    Stage,
    TailFree,
    Temperature,
    TopH,
    TopK,
    TopNSigma,
    TopP,
    TypicalP,
    Xtc,
)
from tests.engine.sampling.samplers.cases import (
    AB_OR_B,
    BENT,
    ENDLESS,
    EQUAL,
    HALVING,
    LETTERS,
    LN2,
    RISING,
    dry,
    said,
)
from tests.engine.sampling.samplers.test_twins import any_context, any_stage
from tests.engine.sampling.test_samplers import logits_of

ONE = (0, 0, 0, 1)
COMMON = {"before", "after", "removed", "mass_removed", "entropy_before", "entropy_after"}
OF_CUTS = {"above"}
OF_EDITS = {"moved", "rose", "fell", "banned", "share_before", "share_after"}

SIGMA = float(np.std(np.log(RISING)))
H_RISING = -sum(p * math.log2(p) for p in RISING)


def tells(
    stage: Stage, before: tuple, case: str, context: Context = NO_CONTEXT, **own: float
) -> tuple:
    """A row of `TOLD`."""
    return stage, before, context, case, own


# Stage, probabilities before, context, case, and the stage's own figures.
TOLD: list[tuple[Stage, tuple, Context, str, dict[str, float]]] = [
    tells(LogitBias({3: -LN2}), RISING, ""),
    tells(LogitBias({3: 0.0}), RISING, "none"),
    tells(RepetitionPenalty(2.0), RISING, "", said(3)),
    tells(RepetitionPenalty(0.5), RISING, "raises", said(3)),
    tells(RepetitionPenalty(2.0), RISING, "none"),
    tells(PresencePenalty(LN2), RISING, "", said(3, 3, 0, prompt=1), generated=2),
    tells(PresencePenalty(-LN2), RISING, "raises", said(3), generated=1),
    tells(PresencePenalty(LN2), ONE, "none", said(0), generated=1),
    tells(PresencePenalty(LN2), RISING, "start", said(3, prompt=1), generated=0),
    tells(FrequencyPenalty(LN2), RISING, "", said(3, 3, 0, prompt=1), generated=2),
    tells(FrequencyPenalty(-LN2), RISING, "raises", said(3), generated=1),
    tells(FrequencyPenalty(LN2), ONE, "none", said(0), generated=1),
    tells(FrequencyPenalty(LN2), RISING, "start", said(3, prompt=1), generated=0),
    tells(dry(1), RISING, "", said(0, 1, 0)),
    tells(dry(3), RISING, "none", said(0, 1, 0)),
    tells(NoRepeatNGram(1), RISING, "", said(3)),
    tells(NoRepeatNGram(2), RISING, "none", said(3)),
    tells(Banned([[3]]), RISING, ""),
    tells(Banned([[3, 2]]), RISING, "none"),
    tells(MinNewTokens(2), RISING, "", said(0, eos_ids=(3,)), generated=1),
    tells(MinNewTokens(2), RISING, "none", said(0), generated=1),
    tells(MinNewTokens(2), RISING, "enough", said(0, 1, eos_ids=(3,)), generated=2),
    tells(AB_OR_B, RISING, "", said(places=LETTERS), allowed=3, tokens=0),
    tells(AB_OR_B, RISING, "single", said(0, held=AB_OR_B, places=LETTERS), allowed=1, tokens=1),
    tells(AB_OR_B, RISING, "end", said(1, held=AB_OR_B, places=LETTERS), mass_removed=0.6),
    tells(Constraint("regex", "[abc]+"), RISING, "none", said(places=ENDLESS), allowed=4),
    tells(Temperature(0.5), RISING, "sharper"),
    tells(Temperature(2), RISING, "flatter"),
    tells(Temperature(1), RISING, "none"),
    tells(Temperature(2), ONE, "single"),
    tells(Temperature(0), RISING, "greedy"),
    tells(  # 1.75 of at most 2 bits
        DynamicTemperature(0, 4 / 7), HALVING, "sharper", temperature=0.5, entropy_share=7 / 8
    ),
    tells(DynamicTemperature(0, 2), ONE, "single", temperature=1, entropy=0, entropy_share=0),
    tells(TopH(0.6), RISING, "", considered=4, entropy=H_RISING, limit=0.6 * H_RISING),
    tells(TopH(1), EQUAL, "none", considered=4, entropy=2, limit=2),
    tells(TopH(0.2), EQUAL, "short", considered=4, entropy=2, limit=0.4),
    tells(TopK(2), RISING, "", tied=0),
    tells(TopK(1), (0.3, 0.3, 0.3, 0.1), "tied", tied=2),
    tells(TopK(2), EQUAL, "tied", tied=2),  # nothing is removed, and more than k stay
    tells(TopK(4), RISING, "none", tied=0),
    tells(TopP(0.5), RISING, ""),
    tells(TopP(0.95), RISING, "none"),
    tells(MinP(0.3), RISING, "", threshold=0.12),
    tells(MinP(0.2), RISING, "none", threshold=0.08),
    tells(TypicalP(0.85), RISING, "", entropy=H_RISING),
    tells(TypicalP(0.45), RISING, "top", entropy=H_RISING),
    tells(TypicalP(0.1), EQUAL, "none", entropy=2),
    tells(EpsilonCutoff(0.25), RISING, "", threshold=0.25),
    tells(EpsilonCutoff(0.05), RISING, "none", threshold=0.05),
    tells(EpsilonCutoff(0.5), RISING, "short", threshold=0.5),
    tells(EtaCutoff(0.25), HALVING, "", threshold=0.5 * 2**-1.75, entropy=1.75),
    tells(EtaCutoff(0.04), HALVING, "none", threshold=0.04, entropy=1.75),
    tells(PLess(), RISING, "", threshold=0.3),
    tells(PLess(), EQUAL, "none", threshold=0.25),
    tells(
        *(TopNSigma(1), RISING, ""),
        **{"highest": math.log(0.4), "sigma": SIGMA, "least_score": math.log(0.4) - SIGMA},
        threshold=0.4 * math.exp(-SIGMA),
    ),
    tells(TopNSigma(3), RISING, "none", sigma=SIGMA),
    tells(TailFree(0.7), BENT, ""),
    tells(TailFree(0.5), RISING, "none"),
    tells(Xtc(0.25, 0.5), RISING, "rests", said(u=0.5), u=0.5),
    tells(Xtc(0.35, 0.5), RISING, "few", said(u=0.4), u=0.4),
    tells(Xtc(0.25, 0.5), RISING, "acts", said(u=0.4), u=0.4),
    tells(Xtc(0.25, 0.5), RISING, "spares", said(u=0.4, eos_ids=(3,)), u=0.4),
    tells(Xtc(0.35, 0.5), RISING, "few", said(u=0.4, eos_ids=(3,)), u=0.4),
    tells(Mirostat(5, 0.1), HALVING, "", said(mirostat=(5, 2.1)), mu=2.1, threshold=2**-2.1),
    tells(Mirostat(2, 0.1), HALVING, "none", mu=4, surprise_limit=4, threshold=1 / 16),
    tells(
        *(Mirostat(5, 0.1), HALVING, "short", said(mirostat=(5, -3.0))),
        **{"mu": -3, "surprise_limit": 0, "threshold": 1},
    ),
]


def told(stage: Stage, before: tuple, context: Context) -> StageResult:
    """A stage's result on four tokens."""
    return shape(logits_of(before), SamplingSettings(chain=[stage]), context).stages[0]


@pytest.mark.parametrize(("stage", "before", "context", "case", "own"), TOLD)
def test_case_and_figures_match_hand_computed_values(stage, before, context, case, own):
    result = told(stage, before, context)
    assert result.case == case
    assert {name: result.figures[name] for name in own} == pytest.approx(own, abs=2e-6)


def test_every_case_has_an_example_and_a_sentence():
    cases = {(stage.setting, case) for stage, _, _, case, _ in TOLD}
    for kind in DEFAULT_ORDER:
        says, name = kind.info.says, kind.setting
        own = {case for other, case in cases if other == name}
        assert own <= says.keys() or "" in says, name
        assert says.keys() - {""} <= own, f"{name} has a sentence for a case that no row here is"


def test_each_sampler_always_reports_the_same_figures():
    names: dict[str, set] = {}
    for stage, before, context, _, _ in TOLD:
        found = set(told(stage, before, context).figures)
        assert found == names.setdefault(stage.setting, found), stage
    for name, found in names.items():
        kind = STAGES[name]
        generic = {"edit": OF_EDITS, "cut": OF_CUTS, "scale": set()}[kind.kind]
        assert COMMON | generic <= found
        if name != "logit_bias":
            assert {number.name for number in kind.info.numbers} <= found


def test_edit_reports_moved_tokens_and_their_shares():
    # 3 is removed. The others have 1, 2 and 3 sixths; ln 2 halves those of tokens 0 and 2.
    chain = [Banned([[3]]), PresencePenalty(LN2)]
    ban, penalty = shape(logits_of(RISING), SamplingSettings(chain=chain), said(2, 3, 0)).stages
    assert ban.moved_ids == [3] and penalty.moved_ids == [2, 0]
    names = ("moved", "rose", "fell", "banned", "share_before", "share_after")
    expected = ((ban, (1, 0, 0, 1, 0.4, 0)), (penalty, (2, 0, 2, 0, 4 / 6, 2 / 4)))
    for result, figures in expected:
        assert [result.figures[name] for name in names] == pytest.approx(figures, abs=1e-6)
    assert (penalty.figures["before"], penalty.figures["removed"]) == (3, 0)


def test_leading_moved_tokens_are_in_rank_order():
    logits = np.zeros(40, np.float32)
    logits[[7, 30]] = 2, 1  # ties by id
    chain = [LogitBias(dict.fromkeys(range(40), 1.0))]
    (result,) = shape(logits, SamplingSettings(chain=chain)).stages
    assert result.moved_ids == [7, 30, *range(7), 8, 9, 10]
    assert result.figures["moved"] == result.figures["rose"] == 40
    for vocab in (16, 2_000):
        shuffled = np.random.default_rng(3).permutation(vocab).astype(np.float32)
        chain = [LogitBias(dict.fromkeys(range(vocab), 1.0))]
        (result,) = shape(shuffled, SamplingSettings(chain=chain)).stages
        assert result.moved_ids == np.argsort(-shuffled)[:12].tolist()


def test_parity_reports_the_same_figures():
    sampling = SamplingSettings(logit_bias={0: 0.1}, temperature=1.01, typical_p=0.2, min_p=0.1)
    own = shape(logits_of(RISING), sampling)
    theirs = shape(logits_of(RISING), sampling.replace(parity=True))
    for ours, other in zip(own.stages, theirs.stages, strict=True):
        assert ours.case == other.case and ours.moved_ids == other.moved_ids
        assert ours.figures == pytest.approx(other.figures, abs=1e-6)
    assert own.stages[-1].figures["above"] == 1 and own.stages[-1].case == "top"


def any_row(seed: int) -> tuple[np.ndarray, list[Stage], Context]:
    """Random logits, a chain of random stages, and what they look at."""
    rng = np.random.default_rng(seed)
    vocab = int(rng.choice([4, 20, 300]))
    context = any_context(rng, vocab)
    kinds = rng.permutation(len(DEFAULT_ORDER))[: rng.integers(1, 8)]
    chain = [any_stage(DEFAULT_ORDER[kind], rng, vocab, context.token_ids) for kind in kinds]
    logits = rng.standard_normal(vocab).astype(np.float32) * 3
    if rng.random() < 0.4:
        logits = np.round(logits)  # ties
    return logits, chain, context


@given(st.integers(0, 10**6))
@settings(max_examples=80, deadline=None)
def test_any_chain_gives_a_distribution_and_true_figures(seed):
    logits, chain, context = any_row(seed)
    as_given = logits.copy()
    try:
        result = shape(logits, SamplingSettings(chain=chain), context)
    except NoCandidatesError as error:
        assert any(f"{stage.setting} removed" in str(error) for stage in chain)
        return
    assert np.array_equal(logits, as_given), "shape modified the logits it was given"
    for stage in result.stages:
        assert_figures_hold(stage)
    probs = result.probs
    assert probs.sum() == pytest.approx(1) and np.all(probs >= 0)
    assert np.count_nonzero(result.final_scores > -np.inf) == result.survivors >= 1
    left = [logits.size, *(stage.survivors for stage in result.stages)]
    assert left == sorted(left, reverse=True), "no stage brings a token back"
    for u in (0.0, 0.3, 0.99999):
        drawn = result.draw(u)
        assert drawn.probability == pytest.approx(probs[drawn.token_id], abs=1e-9)
        assert result.probability(drawn.token_id) == pytest.approx(drawn.probability, abs=1e-9)
    for row in result.candidates(logits.size):
        assert row.removed_by == result.removed_by(row.token_id)
        assert row.final_prob == pytest.approx(probs[row.token_id])


def assert_figures_hold(result: StageResult) -> None:
    """Check figures against scores and probabilities just before and just after the stage."""
    figures, stage = result.figures, result.stage
    old, new = result.before.scores, result.after.scores
    before, after = result.before.probs, result.after.probs
    assert all(math.isfinite(figure) for figure in figures.values()), figures
    assert figures["before"] == np.count_nonzero(old > -np.inf)
    assert figures["after"] == np.count_nonzero(new > -np.inf)
    gone = (old > -np.inf) & (new == -np.inf)
    assert figures["removed"] == np.count_nonzero(gone)
    assert 0 <= figures["mass_removed"] <= 1 + 1e-12
    assert figures["mass_removed"] == pytest.approx(before[gone].sum(), abs=1e-9)
    for name, probs in (("entropy_before", before), ("entropy_after", after)):
        held = probs[probs > 0]
        assert figures[name] == pytest.approx(-(held * np.log2(held)).sum(), abs=1e-6)
    assert (result.case == "none") <= np.array_equal(old, new)
    if stage.kind == "edit":
        moved = old != new
        assert figures["moved"] == moved.sum()
        assert figures["rose"] == (new > old).sum() and figures["banned"] == gone.sum()
        assert figures["fell"] + figures["rose"] + figures["banned"] == figures["moved"]
        assert figures["share_before"] == pytest.approx(before[moved].sum(), abs=1e-9)
        assert figures["share_after"] == pytest.approx(after[moved].sum(), abs=1e-9)
        ranked = np.lexsort((np.arange(old.size), -old))
        assert result.moved_ids == [i for i in ranked.tolist() if moved[i]][:12]
        return
    if isinstance(stage, CutStage):
        kept = np.flatnonzero(new > -np.inf)
        ranked = np.lexsort((np.arange(old.size), -old)).tolist()
        assert figures["above"] == min(ranked.index(i) for i in kept)
        is_top_removed = figures["above"] > 0
        assert is_top_removed <= (not stage.keeps_the_best)
        if "threshold" in figures and stage.setting != "xtc" and result.case != "short":
            below = before[kept].min() - figures["threshold"]
            assert below >= -1e-9 * figures["threshold"], "a token below the threshold stayed"
            if gone.any():
                assert before[gone].max() <= figures["threshold"] * (1 + 1e-6)


def test_mirostat_restarts_when_tau_changes():
    context = said(mirostat=(4, 3.0))
    assert Mirostat(4, 0.3).state(context).mu == 3.0, "another eta goes on from where mu is"
    assert Mirostat(5, 0.1).state(context).mu == 10.0
    assert Mirostat(4, 0.1).state(said()).mu == 8.0
