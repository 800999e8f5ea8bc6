"""Intervals against scipy's, and the conclusions drawn from them."""

import math
from dataclasses import astuple

import numpy as np
import pytest
from scipy import stats

from engine.claims.uncertainty import bootstrap, counted, mean, ratio, share
from engine.claims.verdict import (
    ABOVE,
    AT_LEAST,
    AT_MOST,
    BELOW,
    DEPENDS,
    FAILS,
    HOLDS,
    NO,
    OPEN,
    YES,
    Check,
    judge,
    noted,
)

VALUES = [0.1, 0.4, 0.35, 0.8, 0.2, 0.9, 0.55, 0.3]


@pytest.mark.parametrize(("hits", "count"), [(0, 7), (12, 12), (40, 200)])
def test_share_has_the_clopper_pearson_interval(hits, count):
    found = share([True] * hits + [False] * (count - hits))
    wanted = stats.binomtest(hits, count).proportion_ci()
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-9)
    assert found.value == hits / count and found.count == count


def test_mean_has_the_percentile_bootstrap_interval():
    found = mean(VALUES)
    own = np.random.default_rng(1)
    wanted = stats.bootstrap(
        (VALUES,), np.mean, n_resamples=20_000, method="percentile", rng=own
    ).confidence_interval
    # Both estimate the same percentiles; with 2,000 resamples an edge is off by about 0.01.
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=0.03)
    others = (
        bootstrap(VALUES, lambda drawn: float(np.mean(drawn))),
        ratio([(value, 1) for value in VALUES]),
    )
    for other in others:
        assert astuple(other)[:4] == pytest.approx(astuple(found)[:4], abs=1e-12)


def test_too_few_values_give_no_interval():
    assert share([]).count == 0 and (share([]).low, share([]).high) == (0.0, 1.0)
    few = mean([1.0, 2.0])
    assert few.value == 1.5 and (few.low, few.high) == (-math.inf, math.inf)
    assert math.isnan(mean([]).value) and math.isnan(ratio([(0, 0)] * 9).value)


def test_check_answer_follows_from_interval_and_bound():
    high, wide, low = mean([5.0] * 9), mean([-9.0, 9.0] * 4), mean([-5.0] * 9)
    for side, answers in ((ABOVE, (YES, OPEN, NO)), (BELOW, (NO, OPEN, YES))):
        checks = [Check("x", figure, side, 0.0) for figure in (high, wide, low)]
        assert tuple(check.answer for check in checks) == answers
    zero = counted(0.0, 3)
    sides = {ABOVE: NO, BELOW: NO, AT_LEAST: YES, AT_MOST: YES}
    assert {side: Check("x", zero, side, 0.0).answer for side in sides} == sides


def test_verdict_combines_the_answers_of_its_parts():
    yes, no, unclear = counted(1.0, 1), counted(-1.0, 1), mean([-9.0, 9.0] * 4)

    def outcome(*figures, parts=None):
        parts = parts or [f"part {n}" for n in range(len(figures))]
        pairs = zip(figures, parts, strict=True)
        return judge([Check("x", figure, ABOVE, 0.0, part) for figure, part in pairs]).outcome

    assert outcome(yes, yes) == HOLDS and outcome(no, no) == FAILS
    assert outcome(yes, no) == DEPENDS and outcome(yes, no, unclear) == DEPENDS
    assert outcome(yes, unclear) == OPEN, "no figure says no"
    assert outcome(no, unclear) == FAILS and outcome(unclear) == OPEN
    assert outcome(yes, no, parts=["same", "same"]) == FAILS
    found = judge([Check("x", yes, ABOVE, 0.0, "a"), Check("y", no, ABOVE, 0.0), noted("z", no)])
    assert found.outcome == DEPENDS and found.parts(YES) == ["a"] and found.parts(NO) == ["y"]


def test_unmet_condition_leaves_its_part_or_all_open():
    yes, no = counted(1.0, 1), counted(-1.0, 1)

    def found(part):
        unmet = Check("control", no, ABOVE, 0.0, part, is_condition=True)
        return judge([Check("x", no, ABOVE, 0.0, "a"), Check("x", yes, ABOVE, 0.0, "b"), unmet])

    assert found("a").outcome == OPEN and found("a").parts(YES) == ["b"]
    assert found("b").outcome == FAILS and found("b").parts(OPEN) == ["b"]
    assert found("").outcome == OPEN and found("").parts(OPEN) == ["a", "b"]
    assert [check.name for check in found("").unmet] == ["control"]
    met = Check("control", yes, ABOVE, 0.0, "a", is_condition=True)
    assert judge([Check("x", no, ABOVE, 0.0, "a"), met]).outcome == FAILS, "it is no yes itself"


def test_open_check_estimates_samples_needed_to_decide():
    some = share([True] * 12 + [False] * 8)
    check = Check("x", some, ABOVE, 0.5)
    assert check.answer == OPEN and 20 < check.needed < 200
    as_many = share([True] * (check.needed * 3 // 5) + [False] * (check.needed * 2 // 5))
    assert Check("x", as_many, ABOVE, 0.5).answer == YES, "as many decide it"
    assert Check("x", mean([0.2, 0.4]), ABOVE, 0.0).needed is None, "no interval yet"
    assert Check("x", share([True, False]), ABOVE, 0.5).needed is None, "on the bound"
    assert Check("x", mean([-1.0, 1.0001] * 4), ABOVE, 0.0).needed is None, "too close to it"
