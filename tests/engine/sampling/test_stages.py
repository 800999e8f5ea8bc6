"""The stages on four tokens: every answer can be checked mentally.

Most cases start from the probabilities .1, .2, .3, .4 of the tokens 0, 1, 2, 3.
"""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

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
    TopP,
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


# --- One line per case: stage, probabilities before, probabilities after -------------------------


@pytest.mark.parametrize(
    ("stage", "before", "after"),
    [
        # top-k: the k best, renormalised
        (TopK(1), RISING, (0, 0, 0, 1)),
        (TopK(2), RISING, (0, 0, 3 / 7, 4 / 7)),
        (TopK(3), RISING, (0, 2 / 9, 3 / 9, 4 / 9)),
        (TopK(4), RISING, RISING),
        (TopK(2), (0.4, 0.1, 0.2, 0.3), (4 / 7, 0, 0, 3 / 7)),
        # top-k keeps every token equal to the k-th
        (TopK(1), (0.3, 0.3, 0.3, 0.1), (1 / 3, 1 / 3, 1 / 3, 0)),
        (TopK(2), (0.4, 0.2, 0.2, 0.2), (0.4, 0.2, 0.2, 0.2)),
        (TopK(3), (0.25, 0.25, 0.25, 0.25), (0.25, 0.25, 0.25, 0.25)),
        # top-p: the token that crosses p stays
        (TopP(1e-9), RISING, (0, 0, 0, 1)),
        (TopP(0.39), RISING, (0, 0, 0, 1)),
        (TopP(0.41), RISING, (0, 0, 3 / 7, 4 / 7)),
        (TopP(0.69), RISING, (0, 0, 3 / 7, 4 / 7)),
        (TopP(0.71), RISING, (0, 2 / 9, 3 / 9, 4 / 9)),
        (TopP(0.91), RISING, RISING),
        (TopP(0.999999), RISING, RISING),
        (TopP(1), RISING, RISING),
        (TopP(0.75), (0.4, 0.1, 0.2, 0.3), (4 / 9, 0, 2 / 9, 3 / 9)),
        # top-p reached exactly: a quarter each is exact in floating point
        (TopP(0.5), (0.25, 0.25, 0.25, 0.25), (0.5, 0.5, 0, 0)),
        (TopP(0.75), (0.25, 0.25, 0.25, 0.25), (1 / 3, 1 / 3, 1 / 3, 0)),
        # equal scores across the edge of the nucleus: the lower ids stay
        (TopP(0.3), (0.25, 0.25, 0.25, 0.25), (0.5, 0.5, 0, 0)),
        (TopP(0.5), (0.2, 0.2, 0.2, 0.4), (0.2 / 0.6, 0, 0, 0.4 / 0.6)),
        # min-p: at least this share of the best one's probability
        (MinP(0.0), RISING, RISING),
        (MinP(0.2), RISING, RISING),
        (MinP(0.3), RISING, (0, 2 / 9, 3 / 9, 4 / 9)),
        (MinP(0.7), RISING, (0, 0, 3 / 7, 4 / 7)),
        (MinP(0.8), RISING, (0, 0, 0, 1)),
        (MinP(1), RISING, (0, 0, 0, 1)),
        (MinP(1), (0.1, 0.3, 0.3, 0.3), (0, 1 / 3, 1 / 3, 1 / 3)),
        (MinP(0.5), (0.25, 0.25, 0.25, 0.25), (0.25, 0.25, 0.25, 0.25)),
        # temperature: p ** (1 / T), renormalised
        (Temperature(1), RISING, RISING),
        (Temperature(0.5), RISING, (1 / 30, 4 / 30, 9 / 30, 16 / 30)),
        (Temperature(2), (0.04, 0.16, 0.16, 0.64), (1 / 9, 2 / 9, 2 / 9, 4 / 9)),
        (Temperature(1e-6), RISING, (0, 0, 0, 1)),
        (Temperature(1e-6), (0.1, 0.1, 0.4, 0.4), (0, 0, 0.5, 0.5)),
        # temperature 0 is greedy: one token, the lower id of equals
        (Temperature(0), RISING, (0, 0, 0, 1)),
        (Temperature(0), (0.1, 0.4, 0.4, 0.1), (0, 1, 0, 0)),
        (Temperature(0), (0.25, 0.25, 0.25, 0.25), (1, 0, 0, 0)),
        # tokens already at -inf stay out, and do not count
        (TopK(1), (0, 0.5, 0.5, 0), (0, 0.5, 0.5, 0)),
        (TopK(3), (0, 0.5, 0.5, 0), (0, 0.5, 0.5, 0)),
        (TopP(0.9), (0, 0, 0.2, 0.8), (0, 0, 0.2, 0.8)),
        (TopP(0.7), (0, 0, 0.2, 0.8), (0, 0, 0, 1)),
        (MinP(0.4), (0, 0.2, 0.4, 0.4), (0, 0.2, 0.4, 0.4)),
        (Temperature(0.5), (0, 0.2, 0.4, 0.4), (0, 1 / 9, 4 / 9, 4 / 9)),
        (Temperature(100), (0, 0, 0, 1), (0, 0, 0, 1)),
        (Temperature(0), (0, 0.5, 0.5, 0), (0, 1, 0, 0)),
    ],
    ids=str,
)
def test_stage_gives_the_hand_computed_probabilities(stage, before, after):
    logits = logits_of(before)
    given_logits = logits.copy()
    result = stage(logits)
    assert softmax(result) == close(after)
    assert (result > -np.inf).tolist() == [p > 0 for p in after] or isinstance(stage, Temperature)
    assert np.array_equal(logits, given_logits), "the stage modified its input"
    assert result is not logits and not np.shares_memory(result, logits)
    assert result.dtype == np.float32
    # The same through a chain, where neighbours share one sorted row.
    assert shaped(before, stage).probs == close(after)


def test_a_high_temperature_flattens_without_removing_anything():
    flat = softmax(Temperature(100)(logits_of(RISING)))
    assert np.all(np.diff(flat) > 0), "temperature must not change the order"
    assert flat == pytest.approx([0.25] * 4, abs=0.003)


@pytest.mark.parametrize(
    ("penalty", "token_ids", "before", "after"),
    [
        (2.0, (), (4.0, -4.0, 0.0, 1.0), (4.0, -4.0, 0.0, 1.0)),  # nothing seen
        (2.0, (0,), (4.0, -4.0, 0.0, 1.0), (2.0, -4.0, 0.0, 1.0)),  # positive: divided
        (2.0, (1,), (4.0, -4.0, 0.0, 1.0), (4.0, -8.0, 0.0, 1.0)),  # negative: multiplied
        (2.0, (2,), (4.0, -4.0, 0.0, 1.0), (4.0, -4.0, 0.0, 1.0)),  # zero stays zero
        (2.0, (0, 0, 0), (4.0, -4.0, 0.0, 1.0), (2.0, -4.0, 0.0, 1.0)),  # once, however often
        (2.0, (0, 1, 2, 3), (4.0, -4.0, 0.0, 1.0), (2.0, -8.0, 0.0, 0.5)),
        (0.5, (0, 1), (4.0, -4.0, 0.0, 1.0), (8.0, -2.0, 0.0, 1.0)),  # below 1: a reward
        (1.0, (0, 1), (4.0, -4.0, 0.0, 1.0), (4.0, -4.0, 0.0, 1.0)),
        (2.0, (1,), (4.0, -math.inf, 0.0, 1.0), (4.0, -math.inf, 0.0, 1.0)),
        (2.0, (0, 4, 900), (4.0, -4.0, 0.0, 1.0), (2.0, -4.0, 0.0, 1.0)),  # ids without an output
    ],
)
def test_repetition_penalty_rescales_only_seen_tokens(penalty, token_ids, before, after):
    logits = np.array(before, np.float32)
    given_logits = logits.copy()
    assert RepetitionPenalty(penalty)(logits, seen(*token_ids)).tolist() == list(after)
    assert np.array_equal(logits, given_logits), "the stage modified its input"


# --- The order of the chain matters --------------------------------------------------------------


@pytest.mark.parametrize(
    ("chain", "after"),
    [
        # T = 0.5 makes 1/30, 4/30, 9/30, 16/30; a nucleus of 0.8 then needs two tokens, not three.
        ((Temperature(0.5), TopP(0.8)), (0, 0, 9 / 25, 16 / 25)),
        ((TopP(0.8), Temperature(0.5)), (0, 4 / 29, 9 / 29, 16 / 29)),
        # min-p before and after sharpening
        ((Temperature(0.5), MinP(0.3)), (0, 0, 9 / 25, 16 / 25)),
        ((MinP(0.3), Temperature(0.5)), (0, 4 / 29, 9 / 29, 16 / 29)),
        # each cut renormalises: after top-k 2, a share of 0.6 needs a second token
        ((TopK(2), TopP(0.6)), (0, 0, 3 / 7, 4 / 7)),
        ((TopK(2), TopP(0.55)), (0, 0, 0, 1)),
        ((TopP(0.55), TopK(2)), (0, 0, 3 / 7, 4 / 7)),
        ((TopP(0.75), TopK(1)), (0, 0, 0, 1)),
        # greedy first leaves one token whatever follows; greedy last decides among the survivors
        ((Temperature(0), TopK(3), TopP(0.9)), (0, 0, 0, 1)),
        ((TopK(3), TopP(0.9), Temperature(0)), (0, 0, 0, 1)),
        # top-k is independent of temperature
        ((Temperature(0.5), TopK(2)), (0, 0, 9 / 25, 16 / 25)),
        ((TopK(2), Temperature(0.5)), (0, 0, 9 / 25, 16 / 25)),
        ((), RISING),
    ],
    ids=str,
)
def test_a_chain_runs_in_the_order_given(chain, after):
    distribution = shaped(RISING, *chain)
    assert [result.name for result in distribution.stages] == [stage.name for stage in chain]
    assert distribution.probs == close(after)


def test_penalty_acts_differently_before_and_after_a_cut():
    # Token 3 was seen. Logits 0, 1, 2, 4; penalty 4 turns 4 into 1.
    logits = np.array([0, 1, 2, 4], np.float32)
    first = SamplingSettings(chain=[RepetitionPenalty(4.0), TopK(1)])
    last = SamplingSettings(chain=[TopK(1), RepetitionPenalty(4.0)])
    assert shape(logits, first, seen(3)).probs == close((0, 0, 1, 0))
    assert shape(logits, last, seen(3)).probs == close((0, 0, 0, 1))


# --- Each stage's report -------------------------------------------------------------------------


def test_chain_reports_the_result_of_each_stage():
    result = shaped(RISING, Temperature(0.5), TopK(3), TopP(0.8), MinP(0.9))
    temperature, top_k, top_p, min_p = result.stages
    # 1/30, 4/30, 9/30, 16/30 -> top-k 3 removes 1/30 -> 4/29, 9/29, 16/29: 25/29 = .862 reach .8
    assert [stage.survivors for stage in result.stages] == [4, 3, 2, 1]
    assert temperature.mass_removed == 0.0
    assert top_k.mass_removed == pytest.approx(1 / 30, abs=1e-7)
    assert top_p.mass_removed == pytest.approx(4 / 29, abs=1e-7)
    assert min_p.mass_removed == pytest.approx(9 / 25, abs=1e-7)
    assert [stage.kept.tolist() for stage in result.stages] == [
        [True, True, True, True],
        [False, True, True, True],
        [False, False, True, True],
        [False, False, False, True],
    ]
    assert temperature.probs == close((1 / 30, 4 / 30, 9 / 30, 16 / 30))
    assert top_k.probs == close((0, 4 / 29, 9 / 29, 16 / 29))
    assert top_p.probs == close((0, 0, 9 / 25, 16 / 25))
    assert min_p.probs == close((0, 0, 0, 1))
    assert [stage.entropy_bits for stage in result.stages] == [
        pytest.approx(entropy(stage.probs), abs=1e-6) for stage in result.stages
    ]
    assert result.survivors == 1
    assert result.final_scores.tolist()[:3] == [-math.inf] * 3
    assert "min_p" in repr(min_p) and "survivors=1" in repr(min_p)


def entropy(probs: np.ndarray) -> float:
    probs = probs[probs > 0]
    return float(-(probs * np.log2(probs)).sum())


@pytest.mark.parametrize(
    ("chain", "bits"),
    [
        ((), 2.0),
        ((Temperature(0.5),), 2.0),
        ((TopK(1),), 2.0),  # all four are equal, so all survive
        ((TopP(0.5),), 2.0),  # after temperature and before the cuts, so the cut does not count
        ((Temperature(0),), 0.0),
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
    assert shaped(RISING, Temperature(0.5), TopK(1)).tempered.count == 4
    assert shaped(RISING, TopK(2), Temperature(0.5)).tempered.count == 2
    assert shaped(RISING, TopK(2)).tempered.count == 4
    assert shaped(RISING).tempered.count == 4


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
    assert sum(row.final_prob for row in rows) == pytest.approx(1)
    assert [row.final_prob for row in rows] == close((16 / 25, 9 / 25, 0, 0))


def test_candidates_with_equal_scores_follow_id_order():
    rows = shaped((0.25,) * 4, TopP(0.3)).candidates(4)
    assert [row.token_id for row in rows] == [0, 1, 2, 3]
    assert [row.removed_by for row in rows] == [None, None, "top_p", "top_p"]


def test_each_token_has_removed_by_and_probability():
    result = shaped(RISING, TopK(3), MinP(0.7))
    assert [result.removed_by(token_id) for token_id in range(4)] == ["top_k", "min_p", None, None]
    assert [result.probability(token_id) for token_id in range(4)] == close((0, 0, 3 / 7, 4 / 7))
    whole = shaped(RISING)
    assert [whole.removed_by(token_id) for token_id in range(4)] == [None] * 4
    assert [whole.probability(token_id) for token_id in range(4)] == close(RISING)


def test_token_ruled_out_by_model_has_probability_0():
    result = shaped((0, 0.2, 0.3, 0.5), Temperature(0.5), TopK(2))
    assert result.probability(0) == 0.0
    assert result.probs[0] == 0.0
    assert 0 not in [row.token_id for row in result.candidates(4)]


def test_no_stage_is_blamed_for_already_excluded_tokens():
    result = shaped((0, 0.2, 0.3, 0.5), Temperature(0.5), TopK(2))
    assert result.removed_by(0) is None
    assert result.removed_by(1) == "top_k"


# --- The draw ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("u", "token_id"),
    [
        *[(0.0, 3), (0.39, 3), (0.41, 2), (0.69, 2), (0.71, 1), (0.89, 1)],
        *[(0.91, 0), (0.999999, 0), (math.nextafter(1, 0), 0)],
    ],
)
def test_draw_maps_u_from_most_likely_token_down(u, token_id):
    drawn = shaped(RISING).draw(u)
    assert drawn.token_id == token_id
    assert drawn.probability == pytest.approx(RISING[token_id], abs=1e-7)
    assert shaped(RISING).sample(u) == token_id
    assert draw(np.array(RISING), u) == token_id


def test_a_removed_token_is_never_drawn():
    result = shaped(RISING, TopP(0.6))
    drawn = {result.sample(u) for u in np.linspace(0, 1, 1001, endpoint=False)}
    assert drawn == {2, 3}
    assert result.sample(math.nextafter(1, 0)) == 2


@given(
    st.lists(st.integers(-8, 8), min_size=1, max_size=300),
    st.floats(0, 1, exclude_max=True),
    st.sampled_from([(), (TopK(3),), (TopP(0.8),), (Temperature(0.3), MinP(0.1)), (TopK(2),)]),
)
def test_the_draw_equals_its_definition(scores, u, chain):
    distribution = shape(np.array(scores, np.float32), SamplingSettings(chain=chain))
    probs = distribution.probs
    ordered = np.sort(probs)[::-1].cumsum()
    if np.min(np.abs(ordered - u)) < 1e-6 and u < 1 - 1e-6:
        return  # u exactly on the edge between two tokens: rounding may decide either way
    assert distribution.sample(u) == draw(probs, u)


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
