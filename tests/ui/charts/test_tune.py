"""Charts of the tune page."""

import math

import pytest

from ui.charts.tune import Grid, Point, colours_of, front_figure, heatmap_figure, shades

GRID = Grid(
    "perplexity", "Temperature", "Top-p", ["0.5", "1"], ["a", "b"], [[1, 10], [100, math.nan]]
)


def test_heatmap_points_identify_their_cells():
    figure = heatmap_figure(GRID, (1, 0))
    heat, points = figure.data
    assert [list(place) for place in points.customdata] == [[0, 0], [1, 0], [0, 1], [1, 1]]
    assert list(points.text) == ["1.00", "10.0", "100", "–"]
    assert heat.z[1][0] == 1  # the highest
    frame = figure.layout.shapes[0]
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (0.5, 1.5, -0.5, 0.5)
    assert points.selected.textfont.color == points.textfont.color[1]  # no other text fades


def test_shades_are_logarithmic_on_request_and_never_constant():
    grid = Grid("p", "x", "y", ["1", "2", "3"], [""], [[1, 10, 100]], log=True)
    assert shades(grid) == [[0, 0.5, 1]]
    assert math.isnan(shades(Grid("p", "x", "y", ["1"], [""], [[math.inf]]))[0][0])
    same = Grid("p", "x", "y", ["1", "2", "3"], [""], [[5, math.nan, 5]])
    assert same.is_constant and not GRID.is_constant
    assert shades(same)[0][0] == shades(same)[0][2] == 0, "the background's colour"


@pytest.mark.parametrize("dark", [False, True])
def test_figures_can_be_read_on_every_cell(dark):
    def luminance(colour: str) -> float:
        if colour.startswith("#"):
            parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        else:
            parts = [float(part) for part in colour[4:-1].split(",")]
        linear = [
            part / 3294.6 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for step in range(101):
        ground, ink = map(luminance, colours_of(step / 100, dark))
        contrast = (max(ground, ink) + 0.05) / (min(ground, ink) + 0.05)
        assert contrast >= 4.5, f"{contrast:.2f} at {step} %"


def test_front_is_connected_without_infinite_points():
    points = [
        Point("a", 1, 3, 0, True),
        Point("b", 2, 2, 1, True),
        Point("c", 1, 1, 2, False),
        Point("d", math.inf, 1, 3, True),
    ]
    others, front, chosen = front_figure(points, "x", "y", chosen=2).data
    assert list(front.text) == ["a", "b"]
    assert list(front.textposition) == ["top right", "bottom left"], "labels stay in the chart"
    assert [list(cell) for cell in front.customdata] == [[0], [1]]
    assert list(others.text) == ["c"]
    assert list(chosen.x) == [1]


def test_points_in_one_place_have_one_label():
    points = [Point(label, 1, 3, cell, True) for cell, label in enumerate("abc")]
    _, front, _ = front_figure(points, "x", "y").data
    assert list(front.text) == ["a and 2 more", "", ""]
    assert list(front.hovertext) == ["a", "b", "c"]


def test_constant_metric_gets_a_padded_axis():
    figure = front_figure([Point("a", -2, 1, 0, True), Point("b", -1, 1, 1, True)], "x", "y", 0)
    assert list(figure.layout.yaxis.range) == pytest.approx([0.9, 1.1])
    assert figure.layout.xaxis.range is None
    assert front_figure([], "x", "y", 0).layout.yaxis.range is None
