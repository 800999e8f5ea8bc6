"""Chains of samplers on a few tokens, rows with nothing to draw from, the limits of float32."""

import math

import numpy as np
import pytest
import torch

from engine.errors import LogitsError, NoCandidatesError
from engine.sampling import Distribution, SamplingSettings, draw, shape
from engine.sampling.samplers import (
    NO_CONTEXT,
    Context,
    MinNewTokens,
    MinP,
    RepetitionPenalty,
    Stage,
    Temperature,
    TopK,
    TopNSigma,
    TopP,
    TypicalP,
)

RISING = (0.1, 0.2, 0.3, 0.4)


def logits_of(probs) -> np.ndarray:
    """Logits whose softmax is `probs`; probability 0 is a token at -inf."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(probs, np.float64)).astype(np.float32)


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits.astype(np.float64) - logits.max())
    return weights / weights.sum()


def seen(*token_ids: int) -> Context:
    return Context(np.array(token_ids, np.int64))


def shaped(probs, *chain: Stage, context: Context = NO_CONTEXT) -> Distribution:
    return shape(logits_of(probs), SamplingSettings(chain=chain), context)


def close(values) -> object:
    return pytest.approx(list(values), abs=2e-7)


def test_extreme_temperature_sharpens_or_flattens_without_removing():
    flat = softmax(Temperature(100)(logits_of(RISING)))
    assert np.all(np.diff(flat) > 0), "temperature must not change the order"
    assert flat == pytest.approx([0.25] * 4, abs=0.003)
    sharp = shaped((0.1, 0.1, 0.4, 0.4), Temperature(1e-6))
    assert sharp.probs == close((0, 0, 0.5, 0.5)) and sharp.survivors == 4


@pytest.mark.parametrize(
    ("penalty", "token_ids", "after"),
    [
        (2.0, (0, 0, 0), (2.0, -4.0, 0.0, 1.0)),  # once, however often
        (2.0, (0, 1, 2, 3, 4, 900), (2.0, -8.0, 0.0, 0.5)),  # negative scores are multiplied
        (0.5, (0, 1), (8.0, -2.0, 0.0, 1.0)),  # below 1: a reward
    ],
)
def test_repetition_penalty_rescales_only_seen_tokens(penalty, token_ids, after):
    logits = np.array([4.0, -4.0, 0.0, 1.0], np.float32)
    assert RepetitionPenalty(penalty)(logits, seen(*token_ids)).tolist() == list(after)


def test_typical_p_of_one_keeps_tokens_below_rounding():
    row = np.array([0.5, 0, -40, -41], np.float32)  # in float64, the first two sum to the mass
    assert shape(row, SamplingSettings(chain=[TypicalP(1)]), NO_CONTEXT).survivors == 4


# --- The order of the chain matters --------------------------------------------------------------


@pytest.mark.parametrize(
    ("chain", "after"),
    [
        # T = 0.5 makes 1/30, 4/30, 9/30, 16/30; a nucleus of 0.8 then needs two tokens, not three.
        ((Temperature(0.5), TopP(0.8)), (0, 0, 9 / 25, 16 / 25)),
        ((TopP(0.8), Temperature(0.5)), (0, 4 / 29, 9 / 29, 16 / 29)),
        ((MinP(0.3), Temperature(0.5)), (0, 4 / 29, 9 / 29, 16 / 29)),
        # each cut renormalises: after top-k 2, a share of 0.6 needs a second token
        ((TopK(2), TopP(0.6)), (0, 0, 3 / 7, 4 / 7)),
        ((TopK(2), TopP(0.55)), (0, 0, 0, 1)),
        ((TopP(0.55), TopK(2)), (0, 0, 3 / 7, 4 / 7)),
        # greedy first leaves one token whatever follows; greedy last decides among the survivors
        ((Temperature(0), TopK(3), TopP(0.9)), (0, 0, 0, 1)),
        ((TopK(3), TopP(0.9), Temperature(0)), (0, 0, 0, 1)),
        ((), RISING),
    ],
    ids=str,
)
def test_a_chain_runs_in_the_order_given(chain, after):
    distribution = shaped(RISING, *chain)
    assert [result.name for result in distribution.stages] == [stage.name for stage in chain]
    assert distribution.probs == close(after)


# --- Each stage's report -------------------------------------------------------------------------


def test_chain_reports_the_result_of_each_stage():
    result = shaped(RISING, Temperature(0.5), TopK(3), TopP(0.8), MinP(0.9))
    # top-k 3 removes 1/30 and leaves 4/29, 9/29, 16/29, where 25/29 = .862 reach .8
    expected = [
        (0, (1 / 30, 4 / 30, 9 / 30, 16 / 30)),
        (1 / 30, (0, 4 / 29, 9 / 29, 16 / 29)),
        (4 / 29, (0, 0, 9 / 25, 16 / 25)),
        (9 / 25, (0, 0, 0, 1)),
    ]
    for stage, (mass_removed, probs) in zip(result.stages, expected, strict=True):
        assert stage.mass_removed == pytest.approx(mass_removed, abs=1e-7)
        assert stage.probs == close(probs)
        assert stage.kept.tolist() == [p > 0 for p in probs]
        assert stage.survivors == np.count_nonzero(probs)
    assert result.survivors == 1
    assert result.final_scores.tolist()[:3] == [-math.inf] * 3
    assert "min_p" in repr(result.stages[-1]) and "survivors=1" in repr(result.stages[-1])


@pytest.mark.parametrize(
    ("chain", "bits"),
    [
        ((), 2.0),
        ((TopP(0.5),), 2.0),  # after temperature and before the cuts, so the cut does not count
        ((Temperature(0),), 0.0),
        ((Temperature(0.7), TopP(0.5)), 2.0),
        ((TopP(0.5), Temperature(0.7)), 1.0),  # temperature last: the row it was applied to
    ],
    ids=str,
)
def test_entropy_is_measured_after_the_temperature(chain, bits):
    assert shaped((0.25,) * 4, *chain).entropy_bits == pytest.approx(bits, abs=1e-6)


def test_tempered_is_the_row_before_the_cuts():
    logits = np.array([0, 1, 2, 4], np.float32)
    penalised = SamplingSettings(chain=[RepetitionPenalty(4.0), TopK(1)])
    assert shape(logits, penalised, seen(3)).tempered.scores.tolist() == [0, 1, 2, 1]


def test_candidates_keep_rank_and_name_their_cut():
    result = shaped(RISING, Temperature(0.5), TopK(3), TopP(0.8))
    rows = result.candidates(4)
    assert [row.rank for row in rows] == [1, 2, 3, 4]
    assert [row.token_id for row in rows] == [3, 2, 1, 0]
    assert [row.removed_by for row in rows] == [None, None, "top_p", "top_k"]
    assert [row.logit for row in rows] == close(np.log([0.4, 0.3, 0.2, 0.1]))
    assert [row.prob for row in rows] == close((16 / 30, 9 / 30, 4 / 30, 1 / 30))
    assert [row.cumulative for row in rows] == close((16 / 30, 25 / 30, 29 / 30, 1))
    assert [row.final_prob for row in rows] == close((16 / 25, 9 / 25, 0, 0))
    assert result.candidates(2) == rows[:2], "asking for fewer must not change the rows"
    assert result.candidates(99) == rows, "asking for more than there are gives all"
    assert result.candidates(0) == []


def test_greedy_candidates_show_the_untempered_probabilities():
    rows = shaped(RISING, Temperature(0)).candidates(4)
    assert [row.prob for row in rows] == close((0.4, 0.3, 0.2, 0.1))
    assert [row.removed_by for row in rows] == [None] + ["temperature"] * 3
    assert [row.final_prob for row in rows] == close((1, 0, 0, 0))


def test_reordered_chain_keeps_candidates_in_rank_order():
    rows = shaped(RISING, TopP(0.8), Temperature(0.5), TopK(2)).candidates(4)
    assert [row.token_id for row in rows] == [3, 2, 1, 0]
    assert [row.removed_by for row in rows] == [None, None, "top_k", "top_p"]
    assert [row.final_prob for row in rows] == close((16 / 25, 9 / 25, 0, 0))
    tied = shaped((0.25,) * 4, TopP(0.3)).candidates(4)
    assert [row.token_id for row in tied] == [0, 1, 2, 3]


def test_each_token_has_removed_by_and_probability():
    result = shaped(RISING, TopK(3), MinP(0.7))
    assert [result.removed_by(token_id) for token_id in range(4)] == ["top_k", "min_p", None, None]
    assert [result.probability(token_id) for token_id in range(4)] == close((0, 0, 3 / 7, 4 / 7))
    # The model itself rules out token 0.
    result = shaped((0, 0.2, 0.3, 0.5), Temperature(0.5), TopK(2))
    assert (result.removed_by(0), result.removed_by(1)) == (None, "top_k")
    assert result.probability(0) == result.probs[0] == 0
    assert [row.token_id for row in result.candidates(4)] == [3, 2, 1]


# --- The draw ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("u", "token_id"),
    [
        *[(0.0, 3), (0.39, 3), (0.41, 2), (0.69, 2), (0.71, 1), (0.91, 0)],
        (math.nextafter(1, 0), 0),
    ],
)
def test_draw_maps_u_from_most_likely_token_down(u, token_id):
    drawn = shaped(RISING).draw(u)
    assert drawn.token_id == token_id
    assert drawn.probability == pytest.approx(RISING[token_id], abs=1e-7)
    assert shaped(RISING).sample(u) == token_id
    assert draw(np.array(RISING), u) == token_id


@pytest.mark.parametrize("stage", [Temperature(0.5), MinNewTokens(3)], ids=lambda one: one.setting)
def test_parity_runs_transformers_processors_on_the_models_device(stage, monkeypatch):
    # The meta device represents a GPU: it is not the CPU, and it always exists.
    seen, processor = [], type(stage).processor

    def spied(self, context):
        own = processor(self, context)

        def run(token_ids, scores):
            held = [value for value in vars(own).values() if isinstance(value, torch.Tensor)]
            seen.extend(tensor.device.type for tensor in (token_ids, scores, *held))
            return torch.zeros(scores.shape)

        return run

    monkeypatch.setattr(type(stage), "processor", spied)
    settings = SamplingSettings(chain=(stage,), seed=0, parity=True)
    context = Context(np.array([1, 2]), 1, eos_ids=(3,), device=torch.device("meta"))
    shape(logits_of(RISING), settings, context)
    assert set(seen) == {"meta"}


# --- Nothing to draw from ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("logits", "error", "said"),
    [
        ([-math.inf] * 4, NoCandidatesError, "before the draw; loosen"),
        ([0, math.inf, math.nan, math.inf], LogitsError, "1 NaN and 2 infinite logits among 4"),
        ([0, 0, math.inf, -math.inf], LogitsError, "0 NaN and 1 infinite logits among 4"),
    ],
)
def test_row_without_scores_to_draw_from_is_refused(logits, error, said):
    logits = np.array(logits, np.float32)
    with pytest.raises(error, match=said):
        shape(logits, SamplingSettings(temperature=0))
    with pytest.raises(error, match=said):
        TopK(1)(logits)


@pytest.mark.parametrize("parity", [False, True])
@pytest.mark.parametrize(
    "chain",
    [
        (Temperature(1e-6), TopK(1), TopP(1e-9), MinP(1)),
        (Temperature(100), TopK(4), TopP(0.999999), MinP(0)),
        (RepetitionPenalty(100.0), Temperature(1e-6), TopP(0.999999)),
        (Temperature(0), TopK(1), TopP(1e-9), MinP(1)),
    ],
    ids=str,
)
@pytest.mark.parametrize("probs", [(1e-30, 1e-20, 0, 1), (0.25,) * 4])
def test_extreme_settings_always_leave_a_proper_distribution(chain, probs, parity):
    settings = SamplingSettings(chain=chain, parity=parity)
    result = shape(logits_of(probs), settings, seen(0, 1, 2, 3))
    assert result.probs.sum() == pytest.approx(1)
    assert np.all(np.isfinite(result.probs)) and result.survivors >= 1
    assert result.probs[result.sample(0.999)] > 0
    assert all(0 <= stage.mass_removed <= 1 for stage in result.stages)
    assert math.isfinite(result.entropy_bits)


# --- Scores at the limits of float32 --------------------------------------------------------------


@pytest.mark.parametrize("stage", [Temperature(0.5), RepetitionPenalty(1.2)])
def test_lowest_float_mask_counts_as_removed_on_overflow(stage):
    # Some models mask tokens with the lowest float instead of -inf.
    logits = np.array([5.0, 4.0, 3.0, np.finfo(np.float32).min], np.float32)
    settings = SamplingSettings(chain=[stage, MinP(0.01)])
    result = shape(logits, settings, Context(np.array([3])))
    kept = np.array([5.0, 4.0, 3.0]) / (0.5 if isinstance(stage, Temperature) else 1.0)
    probs = np.exp(kept - kept.max())
    probs /= probs.sum()
    assert result.survivors == 3
    assert result.entropy_bits == pytest.approx(-(probs * np.log2(probs)).sum(), abs=1e-6)


def test_float64_logits_and_numpy_settings_are_accepted():
    settings = SamplingSettings(temperature=np.float32(0.5), top_k=np.int64(2))
    assert (type(settings.temperature), type(settings.top_k)) == (float, int)
    wide = np.log(np.linspace(1, 2, 20_000))
    assert shape(wide, settings).survivors == 2


def test_top_n_sigma_measures_the_remaining_tokens():
    logits = np.array([5, 4, 3, 2, -50, -60], np.float32)
    assert shape(logits, SamplingSettings(chain=[TopK(4), TopNSigma(1.5)])).survivors == 2
    assert shape(logits, SamplingSettings(chain=[TopNSigma(1.5)])).survivors == 4
