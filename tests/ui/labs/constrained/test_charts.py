"""The charts of constrained decoding, from plain values."""

import pytest

from engine.study.constraint import ConstraintFigures
from engine.study.whole_texts import WholeText
from ui.labs.constrained.page import MOST_TEXTS, price_figure, whole_texts_figure


def figures_of(*prices: float) -> list[ConstraintFigures]:
    return [
        ConstraintFigures(
            index=index,
            allowed=1 if index % 2 else 9,
            allowed_mass=2.0**-price,
            price_bits=price,
            may_end=False,
            must_end=False,
            is_forced=bool(index % 2),
            forced_bytes=b"",
            wanted=(),
        )
        for index, price in enumerate(prices)
    ]


def test_chart_shows_mass_price_and_sum_per_step():
    figures = figures_of(3.0, 0.0, 5.5, 1.0)
    chart = price_figure(figures, ["a", "<b>", "c", "d"], 2, True)
    mass, free, forced, total = chart.data
    assert list(mass.x) == [1, 2, 3, 4] and mass.y[0] == pytest.approx(1 / 8)
    assert list(mass.marker.symbol) == ["circle", "square", "circle", "square"]
    assert (list(free.x), list(free.y)) == ([1, 3], [3.0, 5.5])
    assert (list(forced.x), list(forced.y)) == ([2, 4], [0.0, 1.0])
    assert forced.marker.pattern.shape and not free.marker.pattern.shape
    assert list(total.y) == [3.0, 3.0, 8.5, 9.5]
    assert "&lt;b&gt;" in mass.customdata[1], "a token is no tag"
    assert any(shape.x0 == 3 for shape in chart.layout.shapes), "the step that is looked at"


def test_whole_texts_are_compared_largest_first():
    texts = [WholeText(f"<i>{n}", 1, 0.01, n / 55, (10 - n) / 55) for n in range(11)]
    chart = whole_texts_figure(texts, False)
    exact, masked = chart.data
    assert len(exact.y) == MOST_TEXTS and list(exact.y) == list(masked.y)
    assert max(exact.x[0], masked.x[0]) == pytest.approx(10 / 55)
    assert all("&lt;i&gt;" in name for name in exact.y)
    assert masked.marker.pattern.shape
