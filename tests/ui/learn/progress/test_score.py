"""Scoring an answer: Brier's rule is proper, and points put it on a scale."""

import pytest

from ui.learn.progress.entries import brier, calibration, calibration_sentence, points
from ui.learn.quiz.view import confidences

LEVELS = [level / 100 for level in range(101)]


@pytest.mark.parametrize("answers", [2, 3, 4])
@pytest.mark.parametrize("belief", [0.25, 0.6, 1.0])
def test_stating_the_true_belief_maximises_expected_points(answers, belief):
    def expected(said: float) -> float:
        return belief * points(said, True, answers) + (1 - belief) * points(said, False, answers)

    assert max(LEVELS, key=expected) == belief
    guesses = [points(1 / answers, is_right, answers) for is_right in (True, False)]
    assert guesses == pytest.approx([0, 0])


def test_brier_score_is_the_sum_of_squares():
    # Forecast 0.6, 0.2, 0.2: first the 0.6 answer is right, then one of the others.
    assert brier(0.6, True, 3) == pytest.approx(0.4**2 + 0.2**2 + 0.2**2)
    assert brier(0.6, False, 3) == pytest.approx(0.6**2 + 0.8**2 + 0.2**2)
    assert [points(1, True, 2), points(1, False, 2)] == [10, -30]


def test_calibration_compares_confidence_with_accuracy():
    assert calibration([]) is None
    given = calibration([(0.8, True)] * 6 + [(0.8, False)] * 4)
    assert (given.answers, given.right) == (10, 0.6)
    assert given.excess == pytest.approx(0.2)
    said = calibration_sentence(given)
    assert "80 %" in said and "60 % of 10 answers" in said and "a lower confidence" in said
    assert "too few" in calibration_sentence(calibration([(0.8, True)]))
    assert "You are well calibrated" in calibration_sentence(calibration([(0.9, True)] * 10))
    assert "a higher confidence" in calibration_sentence(calibration([(0.6, True)] * 10))


def test_confidence_choices_start_at_a_guess():
    assert confidences(2) == [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert confidences(3)[:2] == [1 / 3, 0.4]
    assert confidences(4)[:2] == [0.25, 0.4]
