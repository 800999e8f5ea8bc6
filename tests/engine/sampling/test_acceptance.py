"""The rule of speculative decoding on two distributions, by hand and by counting."""

import numpy as np
import pytest

from engine.sampling import SamplingSettings, shape
from engine.sampling.acceptance import Overlap, overlap, point_mass

TARGET = np.array([0.5, 0.3, 0.2, 0.0])
DRAFT = np.array([0.1, 0.5, 0.2, 0.2])


def test_overlap_and_residual_match_hand_computed_values():
    both = Overlap(TARGET, DRAFT)
    assert both.shared == pytest.approx(0.1 + 0.3 + 0.2)
    np.testing.assert_allclose(both.excess, [0.4, 0, 0, 0], atol=1e-15)
    np.testing.assert_allclose(both.residual, [1, 0, 0, 0])
    assert both.draw(0.99).token_id == 0


def test_acceptance_and_residual_add_up_to_the_target():
    generator = np.random.default_rng(5)
    for _ in range(50):
        both = Overlap(*generator.dirichlet(np.full(12, 0.4), 2))
        accepted = np.minimum(both.target, both.draft)
        np.testing.assert_allclose(accepted + (1 - both.shared) * both.residual, both.target)


def test_two_equal_distributions_leave_the_target_as_residual():
    both = Overlap(TARGET, TARGET)
    assert both.shared == pytest.approx(1) and both.residual is both.target


def test_draw_orders_tokens_by_rank_then_id():
    both = Overlap(np.array([0.2, 0.4, 0.2, 0.2]), np.array([0.0, 0.0, 0.0, 1.0]))
    drawn = [both.draw(u).token_id for u in (0.0, 0.49, 0.51, 0.74, 0.76, 1 - 1e-12)]
    assert drawn == [1, 1, 0, 0, 2, 2]
    assert both.draw(0.6).probability == pytest.approx(0.25)


def test_certain_draft_is_a_point_mass():
    logits = np.log(np.array([0.5, 0.3, 0.15, 0.05], np.float32))
    target = shape(logits, SamplingSettings())
    both = overlap(target, None, 1)
    assert both.draft.tolist() == point_mass(1, 4).tolist() == [0, 1, 0, 0]
    assert both.shared == pytest.approx(0.3)
    np.testing.assert_allclose(both.residual, np.array([0.5, 0, 0.15, 0.05]) / 0.7, rtol=1e-6)
