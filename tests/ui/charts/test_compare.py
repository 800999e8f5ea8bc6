"""Charts of the compare page."""

import math

import pytest

from ui.charts.compare import SampleSeries, TextSeries, balance_figure, surprisal_figure


def test_surprisal_chart_shows_running_mean_in_bits():
    series = TextSeries("<b>a</b>", [math.log(0.5), math.log(0.125)], parts_at=1)
    line, mark = surprisal_figure([series]).data
    assert list(line.y) == pytest.approx([1.0, 2.0])
    assert (list(mark.x), list(mark.y)) == ([2], pytest.approx([2.0]))
    assert line.name == "&lt;b&gt;a&lt;/b&gt;"


def test_texts_without_finite_values_are_not_plotted():
    series = SampleSeries("a", values=[1.0, math.nan, 3.0], beside=[2.0, 2.0, math.inf])
    points, mean = balance_figure([series], "y", "x").data
    assert (list(points.x), list(points.y)) == ([2.0], [1.0])
    assert (list(mean.x), list(mean.y)) == ([2.0], [1.0])
