"""Figures of the diffusion page."""

import math

import numpy as np
import pytest

from engine.study.generation_order import Order, StepCount
from engine.study.joint_error import JointError
from engine.study.metrics import spread
from engine.study.steps_and_quality import StepsSummary
from ui.labs.diffusion.charts import (
    COMMITTED_MARK,
    REMASKED_MARK,
    Bars,
    ConfidenceMap,
    can_be_clicked,
    confidence_figure,
    counts_figure,
    distribution_figure,
    joint_figure,
    order_figure,
    quality_figure,
)

MAP = ConfidenceMap(
    (3, 7),
    [{3: "<b>", 7: "cat"}, {3: "dog", 7: "cat"}, {3: "dog", 7: "cat"}],
    np.array([[0.1, 0.9, 0.2], [0.5, math.nan, 1.0]]),
    [{3: COMMITTED_MARK}, {7: COMMITTED_MARK}, {3: REMASKED_MARK}],
    8,
)


def test_map_points_carry_position_step_and_mark():
    figure = confidence_figure(MAP, (7, 3), True)
    heat, points = figure.data
    assert heat.z.shape == (3, 2) and heat.z[0][0] == 0.1
    assert [list(place) for place in points.customdata][:3] == [[3, 1], [7, 1], [3, 2]]
    assert list(points.text) == ["●", "", "", "●", "↺", ""]
    assert "&lt;b&gt;, confidence 10.0%, committed here" in points.hovertext[0]
    assert "cat, confidence unknown" in points.hovertext[3]
    frame = figure.layout.shapes[0]
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (0.5, 1.5, 1.5, 2.5)
    assert list(figure.layout.yaxis.range) == [7.5, -0.5], "the first step is on top"
    assert not confidence_figure(MAP, (4, 1), True).layout.shapes


def test_large_map_is_drawn_without_points():
    large = ConfidenceMap(range(100), [], np.full((100, 61), 0.5), [{}] * 61, 61)
    (heat,) = confidence_figure(large, (3, 5)).data
    assert heat.z.shape == (61, 100) and not can_be_clicked(100, 61) and can_be_clicked(100, 60)


def test_the_order_has_a_point_for_each_token():
    (points,) = order_figure(Order((3, 7), (1, 0), -1.0), ["<i>", "cat"], (3, 4, 7)).data
    assert (list(points.x), list(points.y)) == ([3, 7], [2, 1])
    assert points.hovertext[0] == "&lt;i&gt;, position 3: step 2"


def test_remasked_counts_are_drawn_below_zero():
    kept, again = counts_figure([StepCount(0, 0, 3, 0, 5), StepCount(1, 0, 4, 2, 3)]).data
    assert (list(kept.y), list(again.y)) == ([3, 4], [0, -2])
    assert list(again.customdata) == [0, 2]
    assert kept.marker.pattern.shape != again.marker.pattern.shape


def test_chosen_token_has_a_sign_and_a_pattern():
    figure = distribution_figure(Bars(["a", "<b>"], [0.5, 0.2], 0.3, 14, 1))
    (bars,) = figure.data
    assert list(bars.x) == [0.5, 0.2, 0.3]
    assert list(figure.layout.yaxis.ticktext) == ["a", "◆ &lt;b&gt;", "14 others"]
    assert [bool(shape) for shape in bars.marker.pattern.shape] == [False, True, False]
    plain = distribution_figure(Bars(["a"], [0.5], 0.5, 1, None))
    assert list(plain.layout.yaxis.ticktext) == ["a", "1 other"]


def test_both_orders_show_computed_and_bounded_error():
    errors = [
        JointError(4, 5, (), 0.9, 0.3, 0.4, 1.0, (0, 0.5)),
        JointError(5, 4, (), 1.0, 0.2, 0.2, 1.0, (0, 0.5)),
    ]
    computed, more = joint_figure(errors).data
    assert list(computed.x) == [0.3, 0.2] and list(more.x) == pytest.approx([0.1, 0.0])
    assert list(computed.y) == ["4 first", "5 first"]


def test_quality_chart_shows_spread_and_other_model():
    def row(steps, *values):
        measured = spread(values)
        return StepsSummary(steps, len(values), *[measured] * 5)

    rows = [row(1, 3.0, 5.0), row(8, 1.0), row(None, 0.5, 0.7)]
    diffusion, other = quality_figure(rows, "bits_per_byte").data
    assert (list(diffusion.x), list(diffusion.y)) == ([1, 8], [4.0, 1.0])
    assert list(diffusion.error_y.array) == pytest.approx([math.sqrt(2), 0])
    assert list(other.x) == [1, 8] and list(other.y) == pytest.approx([0.6, 0.6])
    assert diffusion.line.dash != other.line.dash
    assert [len(trace.x) for trace in quality_figure(rows[2:], "ms").data] == [0, 1]
