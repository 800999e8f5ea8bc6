"""Light rows and the engine's results: exact wherever the page claims so, for all samplers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.sampling import SamplingSettings, shape
from engine.sampling.ranking import RankedRow
from engine.sampling.samplers import (
    Banned,
    DynamicTemperature,
    LogitBias,
    MinP,
    RepetitionPenalty,
    Temperature,
    TopK,
    TopP,
    Xtc,
)
from tests.ui.components.test_rows import large_row, unpack
from ui.components.outcomes import drawn
from ui.components.rows import (
    LIGHT_BINS,
    LIGHT_HEAD,
    leading_ids,
    pack_light,
    pack_row,
    ranks_of,
)
from ui.texts.settings import parse_settings

CHAINS = [
    [],
    [Temperature(0.7), TopP(0.9)],
    [RepetitionPenalty(1.3), Temperature(1.4), MinP(0.05)],
    [LogitBias({300: 4.0, 16_000: 9.0}), TopK(20)],
    [Banned([[1088], [1109]]), DynamicTemperature(0.5, 1.5), Xtc(0.05, 1.0)],
    [TopP(0.8), Temperature(2.0)],
    [TopK(3), RepetitionPenalty(2.0), TopP(0.7)],
]


def ranked_ids(logits: np.ndarray) -> np.ndarray:
    order = np.lexsort((np.arange(logits.size), -logits))
    return order[logits[order] > -np.inf]


def made(seed: int, size: int, digits: int, gone: float) -> np.ndarray:
    generator = np.random.default_rng(seed)
    logits = generator.normal(0, 4, size).round(digits).astype(np.float32)
    logits[generator.random(size) < gone] = -np.inf
    logits[generator.integers(size)] = 3.0
    return logits


rows = st.builds(
    made,
    st.integers(0, 999),
    st.sampled_from([1, 5, 500, 700, 5000, 40_000]),
    st.sampled_from([0, 1, 6]),
    st.floats(0, 0.9),
)


@settings(max_examples=60)
@given(rows)
def test_light_row_has_exact_head_and_binned_tail(logits):
    raw = RankedRow(logits)
    header, data = pack_light(raw)
    row = unpack(header, data)
    order = ranked_ids(logits)
    head = order[:LIGHT_HEAD]
    assert row.ids.tolist() == head.tolist() == header["leading_ids"]
    assert np.repeat(row.values, row.counts)[: head.size].tolist() == logits[head].tolist()
    assert row.counts.sum() == header["possible"] == order.size
    assert row.values.size <= LIGHT_HEAD + LIGHT_BINS
    assert (np.diff(row.values) < 0).all()
    assert header["exact"] is False
    weights = np.exp(logits[order].astype(np.float64) - raw.highest)
    assert header["told"]["total"] == pytest.approx(weights.sum(), rel=1e-12)
    binned = (row.counts * np.exp(row.values.astype(np.float64) - raw.highest)).sum()
    assert binned == pytest.approx(weights.sum(), rel=1e-5)


@pytest.mark.parametrize("depth", [100, 4000])
def test_earlier_sorting_does_not_change_a_light_row(depth):
    logits = large_row()
    raw = RankedRow(logits)
    raw.sort_to_depth(depth)
    assert leading_ids(raw, 700).tolist() == ranked_ids(logits)[:700].tolist()
    assert pack_light(RankedRow(logits)) == pack_light(raw)


def test_ranks_are_equal_for_few_and_many_tokens():
    logits = (large_row().view(np.uint32) & 0xFFFF_0000).view(np.float32)  # with many ties
    tokens = np.random.default_rng(3).integers(0, logits.size, 300)
    rank_of = np.empty(logits.size, int)
    rank_of[ranked_ids(logits)] = np.arange(1, logits.size + 1)
    for part in (tokens[:9], tokens):
        raw = RankedRow(logits)
        ids, ranks = ranks_of(raw, part, leading_ids(raw, 512))
        assert ranks.tolist() == rank_of[ids].tolist()


def test_a_light_row_is_small():
    for vocab, most in ((16_384, 12_000), (151_936, 20_000)):
        header, data = pack_light(RankedRow(large_row()[:vocab]))
        assert len(data) + len(str(header)) < most
        assert len(data) < len(pack_row(RankedRow(large_row()[:vocab]))[1]) / 8


def test_scores_far_below_the_highest_share_a_bin():
    logits = large_row()
    logits[:50_000] = np.linspace(-1000, -3e38, 50_000, dtype=np.float32)
    header, data = pack_light(RankedRow(logits))
    row = unpack(header, data)
    assert np.isfinite(row.values).all()
    assert row.counts.sum() == logits.size


# --- the engine's results -------------------------------------------------------------------------


@pytest.mark.parametrize("chain", CHAINS)
def test_probabilities_can_be_computed_from_a_step_message(visitor, session, chain):
    """Compute them as the page does: scores of the head, over the sums in the engine's message."""
    visitor.settings = SamplingSettings(chain=chain, seed=7)
    visitor.steps(3)
    header, _ = visitor.read()
    shaped, row = header["shaped"], header["row"]
    assert parse_settings(shaped["settings"])[0] == visitor.settings
    distribution = session.decoder.distribution(2)
    assert len(shaped["outcomes"]) == len(distribution.stages) == len(chain)
    raw = distribution.raw
    ids = leading_ids(raw, 200)
    own = np.exp(raw.scores[ids].astype(float) - row["told"]["highest"]) / row["told"]["total"]
    assert own == pytest.approx([math.exp(raw.logprob(i)) for i in ids], rel=1e-12)
    for outcome, result in zip(shaped["outcomes"], distribution.stages, strict=True):
        for name in ("name", "survivors", "mass_removed", "entropy_bits", "case"):
            assert outcome[name] == getattr(result, name)
        scores = result.after.scores
        left = np.flatnonzero(scores > -np.inf)
        weights = np.exp(scores[left].astype(float) - outcome["highest"])
        assert outcome["mass"] == pytest.approx(weights.sum(), rel=1e-9)
        assert weights / outcome["mass"] == pytest.approx(result.probs[left], rel=1e-9)
    step, draw = session.decoder.steps[2], shaped["draw"]
    assert (draw["id"], draw["u"]) == (step.token_id, step.u)
    assert draw["probability"] == pytest.approx(step.probability, rel=1e-12)
    assert draw["from"] <= step.u < draw["to"]
    assert draw["to"] - draw["from"] == pytest.approx(step.probability, rel=1e-6)
    visitor.do("propose")
    pending = visitor.read()[0]["shaped"]["draw"]
    visitor.steps(1)
    assert session.decoder.steps[3].token_id == pending["id"]


def test_greedy_and_forced_steps_draw_nothing(visitor):
    visitor.settings = SamplingSettings(temperature=0)
    visitor.steps(1)
    assert visitor.read()[0]["shaped"]["draw"] is None
    visitor.settings = SamplingSettings(seed=3)
    visitor.do("force", token_id=300)
    assert visitor.read()[0]["shaped"]["draw"] is None


def test_sampler_that_removes_the_last_token_is_reported(visitor):
    visitor.do("propose")
    raw = visitor.session.raw()
    leading = leading_ids(raw, 50).tolist()
    kept = int((raw.scores >= raw.scores[leading[19]]).sum())  # in bfloat16 there may be ties
    visitor.settings = SamplingSettings(chain=[TopK(20), Banned([[i] for i in leading])])
    visitor.do("settings", order=("top_k", "banned"))
    header, _ = visitor.read()
    assert header["error"] == ""  # the page names the sampler
    top_k, banned = header["shaped"]["outcomes"]
    assert (top_k["survivors"], banned["survivors"], banned["mass_removed"]) == (kept, 0, 1)
    assert {token_id for token_id, *_ in banned["moved"]} == set(leading[:kept])
    assert header["shaped"]["draw"] is None


def test_a_chain_is_compared_with_the_default_order(visitor):
    visitor.settings = SamplingSettings(chain=[TopP(0.8), Temperature(2.0)], seed=7)
    visitor.do("propose")
    told = visitor.read()[0]["shaped"]["default_order"]
    logits = visitor.session.raw().scores
    now = shape(logits, visitor.settings)
    then = shape(logits, SamplingSettings(chain=[Temperature(2.0), TopP(0.8)]))
    u = visitor.session.decoder.uniform(0)
    assert told == {
        "order": ["temperature", "top_p"],
        "now": now.survivors,
        "kept": then.survivors,
        "same_tokens": False,
        "same_odds": False,
        "same_draw": now.sample(u) == then.sample(u),
        "taken_by": "u",
    }
    visitor.settings = SamplingSettings(chain=[Temperature(2.0), TopP(0.8)])
    visitor.do("settings")
    assert visitor.read()[0]["shaped"]["default_order"] is None


def test_results_are_omitted_if_page_previews_whole_row(visitor):
    visitor.settings = SamplingSettings(top_k=9, temperature=0.5)
    visitor.do("propose")
    assert "shaped" not in visitor.read(whole=True)[0]
    visitor.settings = SamplingSettings(chain=[TopK(9), LogitBias({300: 2.0})])
    visitor.do("settings", order=("top_k", "logit_bias"))
    header, _ = visitor.read()
    kept = [outcome["kept"] for outcome in header["shaped"]["outcomes"]]
    assert kept == ["window", "window"], "top-k has removed the token: nothing is moved"
    visitor.settings = SamplingSettings(chain=[LogitBias({301: 2.0})])
    visitor.do("settings", order=("logit_bias",))
    header, _ = visitor.read()
    assert header["row"] is None
    ((token_id, rank, logit, score),) = header["shaped"]["outcomes"][0]["moved"]
    raw = visitor.session.raw()
    assert (token_id, rank, logit) == (301, raw.rank(301), float(raw.scores[301]))
    assert score == np.float32(logit) + np.float32(2.0)


def test_step_reports_rank_and_score_of_its_token(visitor):
    visitor.do("propose", manual=True)
    assert visitor.read()[0]["step"]["standing"] is None
    visitor.do("force", index=0, token_id=16_000)
    step, raw = visitor.read()[0]["step"], visitor.session.raw()
    assert raw.rank(16_000) > LIGHT_HEAD, "its id comes with the row"
    assert step["standing"] == [raw.rank(16_000), float(raw.scores[16_000])]


def test_reported_draw_matches_the_engine():
    logits = made(4, 5000, 6, 0.2)
    for u in (0.0, 0.3, 0.99999):
        for chain in ([], [TopK(40)], [Xtc(0.01, 1.0), TopP(0.9)]):
            distribution = shape(logits, SamplingSettings(chain=chain))
            token_id, probability = distribution.draw(u)
            told = drawn(distribution, u)
            assert (told["id"], told["probability"]) == (token_id, pytest.approx(probability))
            assert told["from"] <= u < told["to"] + 1e-12
