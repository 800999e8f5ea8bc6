"""Two positions drawn at once, against drawing one after the other."""

import numpy as np
import pytest

from engine.errors import CancelledError, PromptError, SettingError
from engine.model import fill_gaps, load_diffusion_model
from engine.runner.job import as_job
from engine.study.joint_error import joint_error_of
from tests.engine.decoding.scripted_canvas import MASK, Scripted, always

FIRST = [0.4, 0.3, 0.2, 0.1]
SECOND = [0.25, 0.25, 0.5, 0.0]


def dependent(ids):
    """Repeat the first word as the second with probability 0.8; alone, all words are equal."""
    row = [0.25] * 4
    if ids[0] != MASK:
        row = [0.2 / 3] * 4
        row[ids[0]] = 0.8
    return [[0.25] * 4, row]


def test_independent_positions_have_no_error():
    error = joint_error_of(always(FIRST, SECOND, FIRST), [MASK, MASK, 1], 0, 1)
    assert error.covered == pytest.approx(1) and len(error.outcomes) == 4
    assert error.lowest == pytest.approx(0, abs=1e-12) == error.highest
    assert error.kl_bits == pytest.approx(0, abs=1e-12)
    assert [outcome.token_id for outcome in error.outcomes] == [0, 1, 2, 3]
    assert error.likeliest_alone == (2, pytest.approx(0.5))


def test_error_of_dependent_positions_matches_brute_force():
    error = joint_error_of(Scripted(dependent), [MASK, MASK], 0, 1)
    joint = 0.25 * np.array([dependent([word, MASK])[1] for word in range(4)])
    product = np.full((4, 4), 1 / 16)
    assert error.lowest == pytest.approx(np.abs(joint - product).sum() / 2, rel=1e-6)
    assert error.highest == pytest.approx(error.lowest)
    assert error.kl_bits == pytest.approx((joint * np.log2(joint / product)).sum(), rel=1e-6)
    outcome = error.outcomes[2]
    assert (outcome.likeliest, outcome.likeliest_probability) == (2, pytest.approx(0.8))
    assert outcome.likeliest_alone == pytest.approx(0.25)
    # In this model, committing the second word first is exact: the joint depends on the order.
    assert joint_error_of(Scripted(dependent), [MASK, MASK], 1, 0).lowest == pytest.approx(
        0, abs=1e-9
    )


def test_untried_outcomes_are_bounded():
    model = Scripted(dependent)
    whole = joint_error_of(model, [MASK, MASK], 0, 1)
    for most in (1, 3):
        part = joint_error_of(model, [MASK, MASK], 0, 1, most=most)
        assert part.covered == pytest.approx(most / 4)
        assert part.lowest < whole.lowest < part.highest
        assert part.highest == pytest.approx(part.lowest + 1 - most / 4)
    certain = joint_error_of(always([0, 1, 0, 0], SECOND), [MASK, MASK], 0, 1)
    assert len(certain.outcomes) == 1 and certain.highest == pytest.approx(0, abs=1e-12)


def test_computation_reports_progress_and_can_be_stopped():
    model, told = Scripted(dependent), []
    joint_error_of(model, [MASK, MASK], 0, 1, progress=lambda done, of: told.append((done, of)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    stopped = joint_error_of(model, [MASK, MASK], 0, 1, should_stop=lambda: len(told) < 9)
    assert stopped.outcomes == () and (stopped.lowest, stopped.highest) == (0, 1)
    with as_job(lambda: True), pytest.raises(CancelledError):
        joint_error_of(model, [MASK, MASK], 0, 1)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (0, 0, "second is the same as the first position"),
        (2, 0, "first is not a mask of the canvas, got 2"),
        (-1, 0, "first is not a mask"),
        (0, True, "second is not a mask"),
    ],
)
def test_positions_must_be_two_different_masks(first, second, said):
    with pytest.raises(SettingError, match=said):
        joint_error_of(always(FIRST, SECOND, FIRST), [MASK, MASK, 1], first, second)
    with pytest.raises(SettingError, match="most"):
        joint_error_of(always(FIRST, SECOND), [MASK, MASK], 0, 1, most=0)
    with pytest.raises(PromptError, match="no mask"):
        joint_error_of(always(FIRST, SECOND), [1, 2], 0, 1)


def test_bundled_model_matches_sums_over_its_vocabulary():
    model = load_diffusion_model()
    canvas = fill_gaps(model, "Once upon a time, there was a[3]")
    first, second = [place for place, token in enumerate(canvas) if token == model.mask_id][:2]
    error = joint_error_of(model, canvas, first, second, most=2)
    rows = np.exp(model.logits(canvas).astype(np.float64))
    alone = rows[second] / rows[second].sum()
    chosen = rows[first] / rows[first].sum()
    for outcome in error.outcomes:
        after = list(canvas)
        after[first] = outcome.token_id
        given = np.exp(model.logits(after)[second].astype(np.float64))
        expected = np.abs(given / given.sum() - alone).sum() / 2
        assert outcome.total_variation == pytest.approx(expected, rel=1e-6)
        assert outcome.probability == pytest.approx(chosen[outcome.token_id], rel=1e-6)
    assert 0 < error.lowest < error.highest < 1 and error.kl_bits > 0
