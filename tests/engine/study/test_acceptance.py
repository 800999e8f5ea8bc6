"""Acceptance counted by hand, and the paper's formulas."""

import pytest

from engine.study.acceptance import Acceptance, expected_speedup, expected_tokens
from engine.trace import DrawnToken, ProposedToken, SpeculativeStep

SIGNS = {"a": "accepted", "r": "rejected", "-": "not looked at"}


COSTS = {
    **dict.fromkeys(("target_cache_bytes", "target_cache_bytes_held"), 1),
    **dict.fromkeys(("draft_cache_bytes", "draft_cache_bytes_held"), 1),
    **{"is_prefill": False, "target_positions": 9, "draft_positions": 9},
    **{"prefill_ms": 50.0, "target_ms": 5.0, "shape_ms": 1.0},
}


def a_round(verdicts: str) -> SpeculativeStep:
    count = len(verdicts)
    proposed = tuple(
        ProposedToken(7, b"x", None, 1.0, None, None, None, SIGNS[sign]) for sign in verdicts
    )
    kind = "resampled" if "r" in verdicts else "bonus" if verdicts else "plain"
    ids = (7,) * (verdicts.count("a") + 1)
    drawn = DrawnToken(7, b"x", kind, None, 1.0, 1.0)
    rest = {"forced_acceptance": None, "text_invalid": False, "stop_reason": None}
    rest |= {"target_passes": (count + 1,), "draft_passes": (1,) * count, "stop_string": None}
    rest |= {"draft_ms": 2.0 * count, "total_ms": 57.0 + 2.0 * count}
    return SpeculativeStep(0, 0, 4, proposed, drawn, ids, "", **COSTS, **rest)


ROUNDS = [a_round(verdicts) for verdicts in ("aaa", "ar-", "r--", "aar", "aa", "")]


def test_both_acceptance_rates_are_counted_by_position():
    found = Acceptance.of(ROUNDS)
    assert (found.rounds, found.drafted, found.tokens) == (6, 5, 14)
    assert found.proposed == (5, 5, 4)
    assert found.looked_at == (5, 4, 2)
    assert found.accepted == (4, 3, 1)
    assert found.unconditional == (0.8, 0.6, 0.2)
    assert found.conditional == (0.8, 0.75, 0.5)
    assert found.rate == 8 / 11
    assert found.mean_accepted_length == 1 + 8 / 5
    assert found.tokens_per_pass == 14 / 6


def test_rounds_without_proposals_give_no_rate():
    none, plain = Acceptance.of([]), Acceptance.of([a_round("")])
    assert none.rate is none.mean_accepted_length is none.tokens_per_pass is None
    assert plain.rate is plain.mean_accepted_length is None and plain.tokens_per_pass == 1
    assert Acceptance.of([a_round("r-")]).conditional == (0.0, None)


def test_expected_tokens_match_the_paper():
    assert expected_tokens(0.8, 3) == pytest.approx(1 + 0.8 + 0.64 + 0.512)
    assert expected_tokens(0, 5) == 1 and expected_tokens(1, 5) == 6
    assert expected_speedup(0.8, 3, 0.1) == pytest.approx(2.952 / 1.3)
    assert expected_speedup(0.8, 3, 0.1, 1.5) == pytest.approx(2.952 / 1.8)
