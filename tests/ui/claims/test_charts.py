"""The default picture: every figure of a verdict, with its interval and its bound."""

import math

import pytest

from engine.claims.claim import CROSSES, DOTS, Chart, Series
from engine.claims.uncertainty import Figure, counted, mean
from engine.claims.verdict import ABOVE, AT_MOST, Check, noted
from engine.errors import msg
from ui.claims.charts import chart_figure, checks_figure
from ui.claims.words import all_words
from ui.words.language import speaking

LOOPS = [  # two units: percentage points and percent
    Check("loops", Figure(0.25, 0.1, 0.5, 16, "bootstrap"), ABOVE, 0.0),
    Check("repeats", Figure(-0.5, -math.inf, math.inf, 3, "bootstrap"), ABOVE, 0.2),
    noted("looped", counted(0.25, 16)),
    noted("drawn", mean([])),
]


def test_figures_are_bars_with_intervals_and_bounds():
    figure = checks_figure(all_words()["greedy_loops"], LOOPS)
    (bars,) = figure.data
    assert bars.x[:3] == pytest.approx((0.5, -1.0, 1.0)) and math.isnan(bars.x[3])
    assert bars.error_x.array[:2] == pytest.approx((0.5, 0.0)), "none where there is none"
    assert bars.error_x.arrayminus[:2] == pytest.approx((0.3, 0.0))
    assert [shape.x0 for shape in figure.layout.shapes] == pytest.approx([0.0, 0.4])
    places = [(shape.y0 + shape.y1) / 2 for shape in figure.layout.shapes]
    assert places == pytest.approx(bars.y[:2]), "a bound is drawn at its own bar"
    assert bars.marker.pattern.shape == ("", "/", "", "")


def test_bar_labels_are_in_the_chosen_language():
    words = all_words()["tail"]
    zeros = [
        Check("zeros", counted(zeros, 49_152), AT_MOST, 0.0, msg("T = {t}", t))
        for zeros, t in ((25_618, "0.2"), (0, "<b>"))
    ]
    with speaking("de"):
        figure = checks_figure(words, zeros)
    texts = [one.text for one in figure.layout.annotations]
    assert texts[0].startswith("Token") and texts[1:] == ["✗ T = 0,2: 25.618", "✓ T = &lt;b&gt;: 0"]
    assert list(figure.data[0].customdata) == texts[1:], "hovering says the same"


def test_undecided_condition_counts_as_not_met():
    wide = mean([-1.0, 1.0] * 4)
    checks = [Check("zeros", wide, ABOVE, 0.0, is_condition=must) for must in (True, False)]
    figure = checks_figure(all_words()["tail"], checks)
    assert [one.text[0] for one in figure.layout.annotations[1:]] == ["✗", "?"]
    assert figure.data[0].marker.pattern.shape == ("x", "/")


def test_chart_has_whiskers_gaps_and_escaped_texts():
    series = (
        Series("<b>", [(1, Figure(2.0, 1.0, 4.0, 9, "bootstrap")), (2, None)], form=DOTS),
        Series("", [(1, 3.0)], ["<i>"], form=CROSSES),
    )
    dots, crosses = chart_figure(Chart("key", "", "", "x", "y", series, logs="y")).data
    assert dots.name == "&lt;b&gt;" and dots.y == (2.0, None)
    assert (dots.error_y.array[0], dots.error_y.arrayminus[0]) == (2.0, 1.0)
    assert crosses.customdata == ("&lt;i&gt;",) and not crosses.showlegend
    assert crosses.marker.symbol == "x" and crosses.marker.color == dots.marker.color
