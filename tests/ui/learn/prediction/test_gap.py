"""The distance of a prediction from the truth, as one number."""

import pytest

from ui.learn.prediction.prediction import Bars, Unit, mean_difference, total_variation
from ui.learn.prediction.view import Revealed, gap_sentence

BARS = Bars(("␣a", "␣b", "All other tokens"), "", "Probability", Unit("%"), is_distribution=True)
CURVE = Bars(("0.5", "1", "2"), "Temperature", "Entropy", Unit("bits", 1), 0, 10, is_curve=True)


def test_total_variation_is_the_probability_to_move():
    gap = total_variation([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])
    assert (gap.value, gap.largest, gap.worst) == (pytest.approx(0.3), 1, 0)
    assert total_variation([1, 0], [0, 1]).value == 1
    assert total_variation([0.25, 0.75], [0.25, 0.75]).value == 0


def test_mean_difference_has_the_unit_of_the_values():
    gap = mean_difference([1, 2, 3], [1, 4, 7], 0, 10)
    assert (gap.value, gap.largest, gap.worst) == (2, 10, 2)
    assert mean_difference([0, 0], [0, 50], 0, 10).largest == 50, "the scale holds the truth"
    with pytest.raises(ValueError, match="cannot be compared"):
        mean_difference([1], [1, 2], 0, 1)


def test_gap_sentence_names_gap_and_largest_miss():
    drawn, truth = (0.5, 0.3, 0.2), (0.2, 0.3, 0.5)
    said = gap_sentence(BARS, Revealed(drawn, truth, BARS.gap(drawn, truth)))
    assert "are 0.30 apart" in said and "at ␣a: you said 50 %, the model has 20 %." in said
    drawn, truth = (1.0, 2.0, 3.0), (1.0, 4.0, 7.0)
    said = gap_sentence(CURVE, Revealed(drawn, truth, CURVE.gap(drawn, truth)))
    assert "2.0 bits off on average" in said and "at Temperature 2: you said 3.0 bits" in said
    shares = Bars(("1", "2"), "Step", "Probability", Unit("%"), is_curve=True)
    drawn, truth = (0.9, 0.5), (0.5, 0.1)
    said = gap_sentence(shares, Revealed(drawn, truth, shares.gap(drawn, truth)))
    assert "40 percentage points off" in said
    differences = [Unit("%").difference(value) for value in (0.0, 0.002, 0.01, 0.273)]
    assert [one.partition(" percentage")[0] for one in differences] == [
        "0", "less than 1", "1", "27",
    ]  # fmt: skip
    assert [Unit("tokens", one="token").text(n) for n in (1, 1200)] == ["1 token", "1,200 tokens"]
    assert Unit("%").text(0.001) == "below 1 %"


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        ([0.5, 0.25, 0.25], (0.5, 0.25, 0.25)),
        ([0.5, 0.25, 0.2501], pytest.approx((0.5, 0.25, 0.25), abs=1e-3)),
        ([0.5, 0.5, 0.5], None),
        ([0.5, 0.5], None),
        ([1.5, -0.5, 0.0], None),
        ([float("nan"), 0.5, 0.5], None),
        (["0.5", 0.25, 0.25], None),
        (None, None),
    ],
)
def test_only_valid_distributions_are_accepted(said, taken):
    assert BARS.taken(said) == taken


def test_curve_need_not_sum_to_one():
    assert CURVE.taken([10, 0, 5]) == (10, 0, 5)
    assert CURVE.taken([11, 0, 5]) is None
    assert CURVE.start == (5, 5, 5) and sum(BARS.start) == pytest.approx(1)
