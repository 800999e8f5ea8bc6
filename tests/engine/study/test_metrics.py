"""Metrics of texts, against figures worked out by hand and against slow twins."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoding.batch import STEP_RECORD
from engine.study import metrics
from engine.study.metrics import (
    Loop,
    distinct_n,
    find_loop,
    ngrams,
    pareto_front,
    self_bleu,
    seq_rep_n,
    spread,
    summary,
    text_metrics,
)

texts = st.lists(st.integers(0, 3), max_size=30)
several = st.lists(texts, min_size=2, max_size=5)


def test_ngrams_are_all_runs_of_neighbours():
    assert ngrams("abcd", 2) == [("a", "b"), ("b", "c"), ("c", "d")]
    assert ngrams([1, 2], 2) == [(1, 2)] and ngrams([1, 2], 3) == []
    with pytest.raises(ValueError, match="at least 1"):
        ngrams([1], 0)


def test_distinct_n_matches_hand_computed_values():
    # a b a b: 2 of 4 tokens, ab ba ab: 2 of 3 pairs, aba bab: 2 of 2.
    assert [distinct_n(["abab"], n) for n in (1, 2, 3)] == [0.5, 2 / 3, 1.0]
    assert distinct_n(["aaaa"], 1) == 0.25
    assert distinct_n(["ab", "ab"], 1) == 0.5, "over all texts together"
    assert distinct_n(["ab", "cd"], 2) == 1.0, "no pair spans two texts: bc is none"
    assert math.isnan(distinct_n(["a", "b"], 2)) and math.isnan(distinct_n([], 1))


def test_seq_rep_matches_hand_computed_values():
    # abcd bcda cdab dabc abcd: 4 different among 5.
    assert seq_rep_n("abcdabcd", 4) == pytest.approx(0.2)
    assert seq_rep_n("abcdefgh", 4) == 0.0
    assert seq_rep_n("a" * 104, 4) == pytest.approx(1 - 1 / 101)
    assert seq_rep_n("aab", 1) == pytest.approx(1 / 3)
    assert math.isnan(seq_rep_n("abc", 4)), "too short to have any"


def test_likelihoods_match_hand_computed_values():
    logprobs = np.log([0.5, 0.25, 0.125])
    assert metrics.sequence_logprob(logprobs) == pytest.approx(-6 * math.log(2))
    assert metrics.mean_logprob(logprobs) == pytest.approx(-2 * math.log(2))
    assert metrics.perplexity(logprobs) == pytest.approx(4.0), "two bits: a choice among four"
    assert metrics.perplexity(np.log([0.1] * 7)) == pytest.approx(10.0)
    assert metrics.perplexity([-math.inf, -1.0]) == metrics.perplexity([-800.0]) == math.inf
    assert metrics.sequence_logprob([]) == 0.0, "the empty text is certain"
    assert math.isnan(metrics.perplexity([])) and math.isnan(metrics.mean_logprob([]))
    assert metrics.mean_entropy([1.0, 2.0, 6.0]) == 3.0 and math.isnan(metrics.mean_entropy([]))


@pytest.mark.parametrize(
    ("text", "loop"),
    [
        ("x" + "ab" * 6, Loop(2, 1, 6.0)),
        ("a" * 11, None),  # too few tokens
        ("abcdefg" * 3, Loop(7, 0, 3.0)),
        ("abcdefg" * 2 + "abcdef", None),  # not three whole rounds
        ("q" + "abcde" * 3 + "ab", Loop(5, 1, 3.4)),
        ("abab" * 6, Loop(2, 0, 12.0)),  # abab repeats too, but ab is shorter
        ("ab" * 6 + "c", None),  # it left the loop
        ("", None),
    ],
)
def test_find_loop_reports_period_and_start(text, loop):
    assert find_loop(text) == loop


def test_loop_thresholds_can_be_changed():
    assert find_loop("haha", rounds=2, tokens=4) == Loop(2, 0, 2.0)
    assert find_loop("hahaha", tokens=7) is None
    with pytest.raises(ValueError, match="at least 2"):
        find_loop("aa", rounds=1)


@given(texts)
def test_found_loop_repeats_to_the_end(token_ids):
    loop = find_loop(token_ids, rounds=2, tokens=4)
    periodic = [
        period
        for period in range(1, len(token_ids) // 2 + 1)
        if 2 * period >= 4 and token_ids[-period:] == token_ids[-2 * period : -period]
    ]
    if loop is None:
        assert not periodic
        return
    tail = token_ids[loop.start :]
    assert tail[loop.period :] == tail[: -loop.period]
    assert len(tail) / loop.period == loop.rounds >= 2 and len(tail) >= 4
    assert loop.period <= min(periodic, default=loop.period)


def test_self_bleu_matches_hand_computed_values():
    assert self_bleu(["abcde", "abcde"]) == pytest.approx(1.0)
    # Precisions of 1- to 4-grams: 3/4, 2/3, 1/2, and 0.1 for no match of one. Equal lengths.
    score = (3 / 4 * 2 / 3 * 1 / 2 * 0.1) ** (1 / 4)
    assert self_bleu(["abcd", "abcx"]) == pytest.approx(score)
    # Clipping: one of three a's is matched, then one of one. The short text is compared with 3.
    assert self_bleu(["aaa", "a"], order=1) == pytest.approx((1 / 3 + math.exp(1 - 3)) / 2)
    # The nearest in length of the two others counts; on a tie, the shorter.
    nearest = self_bleu(["ab", "ab", "abcd"], order=1)
    assert nearest == pytest.approx((1 + 1 + 2 / 4) / 3)
    assert math.isnan(self_bleu(["abc"])) and math.isnan(self_bleu([]))
    assert self_bleu(["", ""]) == 0.0, "no tokens, no likeness"


def slow_self_bleu(texts: list[list[int]]) -> float:
    """Compute self-BLEU by its definition, comparing every text with all others."""
    scores = []
    for place, text in enumerate(texts):
        others = texts[:place] + texts[place + 1 :]
        logs = []
        for grams in filter(None, (ngrams(text, n) for n in range(1, 5))):
            theirs = [ngrams(other, len(grams[0])) for other in others]
            best = {gram: max(found.count(gram) for found in theirs) for gram in grams}
            matches = sum(min(grams.count(gram), most) for gram, most in best.items())
            logs.append(math.log((matches or 0.1) / len(grams)))
        nearest = min((abs(len(other) - len(text)), len(other)) for other in others)[1]
        short = len(text) <= nearest
        penalty = math.exp(1 - nearest / len(text)) if text and short else 1.0
        scores.append(penalty * math.exp(sum(logs) / len(logs)) if text else 0.0)
    return sum(scores) / len(scores)


@given(several)
def test_self_bleu_equals_its_definition(samples):
    assert self_bleu(samples) == pytest.approx(slow_self_bleu(samples))


def records(token_ids, logprobs, entropies, final) -> np.ndarray:
    out = np.zeros(len(token_ids), STEP_RECORD)
    out["token_id"], out["logprob"] = token_ids, logprobs
    out["model_entropy_bits"], out["final_entropy_bits"] = entropies, final
    return out


def test_text_metrics_match_hand_computed_values():
    measured = text_metrics(
        records([5, 6, 5, 6], np.log([0.5, 0.5, 0.25, 0.25]), [1, 2, 3, 4], [0, 1, 0, 1])
    )
    assert (measured.length, measured.loop_tokens) == (4, 0)
    assert (measured.distinct_1, measured.distinct_2, measured.distinct_3) == (0.5, 2 / 3, 1.0)
    assert measured.seq_rep_4 == 0.0
    assert measured.logprob == pytest.approx(-6 * math.log(2))
    assert measured.mean_logprob == pytest.approx(-1.5 * math.log(2))
    assert measured.perplexity == pytest.approx(2**1.5)
    assert (measured.model_entropy_bits, measured.final_entropy_bits) == (2.5, 0.5)


def test_text_metrics_handle_looping_and_empty_texts():
    loop = text_metrics(records([1, *[2, 3] * 8], [-1.0] * 17, [1.0] * 17, [1.0] * 17))
    assert loop.loop_tokens == 16 and loop.seq_rep_4 == pytest.approx(1 - 3 / 14)
    empty = text_metrics(records([], [], [], []))
    assert (empty.length, empty.loop_tokens, empty.logprob) == (0, 0, 0.0)
    assert math.isnan(empty.distinct_1) and math.isnan(empty.perplexity)


def test_spread_matches_hand_computed_values():
    assert spread([1.0, 2.0, math.nan, 6.0]) == metrics.Spread(3.0, math.sqrt(7.0), 1.0, 6.0, 3)
    lone = spread([4.0])
    assert (lone.mean, lone.lowest, lone.highest, lone.count) == (4.0, 4.0, 4.0, 1)
    assert math.isnan(lone.sd), "one value has no spread"
    assert spread([]).count == 0 and math.isnan(spread([math.nan]).mean)
    infinite = spread([1.0, math.inf])
    assert infinite.mean == math.inf and math.isnan(infinite.sd)


def test_summary_matches_hand_computed_values():
    ids = [[1, 2, 3], [1, 2, 4], [7] * 12]
    measured = [
        text_metrics(records(t, [-1.0] * len(t), [2.0] * len(t), [1.0] * len(t))) for t in ids
    ]
    found = summary(ids, measured)
    assert found.count == 3 and found.looped == pytest.approx(1 / 3)
    assert found.metrics["length"].mean == 6 and found.metrics["length"].highest == 12
    assert found.metrics["distinct_1"].mean == pytest.approx((1 + 1 + 1 / 12) / 3)
    assert found.distinct_1 == pytest.approx(5 / 18)  # 1 2 3 4 7
    assert found.distinct_2 == pytest.approx(4 / 15)  # 12 23 24 77
    assert found.self_bleu == pytest.approx(self_bleu(ids))
    with pytest.raises(ValueError, match="3 texts"):
        summary(ids, measured[:2])
    assert math.isnan(summary([], []).looped)


def test_pareto_front_matches_hand_computed_values():
    points = [[1, 5], [2, 4], [2, 3], [3, 1], [0, 0], [2, 4], [math.nan, 9], [3, math.nan]]
    assert pareto_front(points).tolist() == [True, True, False, True, False, True, False, False]
    assert pareto_front([[1], [3], [3], [2]]).tolist() == [False, True, True, False]
    assert pareto_front(np.empty((0, 2))).tolist() == []


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=15))
def test_the_pareto_front_equals_its_definition(points):
    def beaten(point) -> bool:
        return any(
            all(a >= b for a, b in zip(other, point, strict=True)) and other != point
            for other in points
        )

    assert pareto_front(points).tolist() == [not beaten(point) for point in points]
