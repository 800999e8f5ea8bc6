"""The parts of the tune page that need no page: lists of values, charts, texts as HTML."""

import math
import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SettingError
from engine.sampling import STAGES, SamplingSettings
from engine.sweep import Axis, Sweep
from tests.ui import hostile
from ui.charts.tune import (
    Grid,
    Point,
    colours_of,
    figure_text,
    front_figure,
    heatmap_figure,
    shades,
)
from ui.texts.settings import is_one_number
from ui.tune import values
from ui.tune.tuning import SWEEPABLE
from ui.tune.values import INITIAL, parse_values, unescaped
from ui.tune.view import small_heatmaps, texts_list


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.5, 0.7, 1", (0.5, 0.7, 1)),
        ("0.5 0.7\n1;2", (0.5, 0.7, 1, 2)),
        ("0.1 to 0.4 step 0.1", (0.1, 0.2, 0.3, 0.4)),
        ("0:1:0.25", (0, 0.25, 0.5, 0.75, 1)),
        ("40..10 by 10, 0", (40, 30, 20, 10, 0)),
        ("1e-3, .5, +2.", (0.001, 0.5, 2)),
    ],
)
def test_lists_and_ranges_are_read(text, values):
    assert parse_values("X values", text) == values


def test_whole_numbers_stay_whole_as_top_k_wants_them():
    assert all(
        isinstance(value, int) for value in parse_values("X values", "10 to 50 step 20, 1.0")
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0.5, hot", "X values hold something that is no number, got 'hot'"),
        ("0.5, nan", "X values hold something that is no number, got 'nan'"),
        ("", "X values are missing"),
        ("0 to 1", "X values hold a range without a step, got '0 to 1'"),
        ("0 to 1 step 0", "X values hold a range with a step of 0"),
        ("0 to 1 step 0.000001", "X values are too many, got 1,000,001"),
        ("0 to 1e15 step 1e-300", "X values are too many"),
        ("1e16", "X values hold a value that no setting takes"),
        ("9" * 30_000, "X values are too long a list"),
        ("9" * 41, "X values hold something of more than 40 characters, got '999"),
        ("0.5, 1, 0.50", "X values hold a value twice, got 0.5"),
    ],
)
def test_what_is_no_list_is_named(text, sentence):
    with pytest.raises(SettingError) as caught:
        parse_values("X values", text)
    assert str(caught.value).startswith(sentence)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("9" * 9_000 + "x", "hold something of more than 40 characters"),
        ("9" * 200 + " to " + "9" * 200 + " step " + "9" * 201, "of more than 40 characters"),
        ("1." * 9_999, "hold something of more than 40 characters"),
        ("1.." * 6_000, "hold something of more than 40 characters"),
        ("1" + " " * 19_000 + "to", "hold something that is no number, got 'to'"),
        ("0 to 19998 step 1; 19998", "hold a value twice, got 19,998"),
        ("0 to 19998 step 1; 19999 19998", "are too many, got 20,001"),
        ("0 to 19999 step 1; 20000", "are too many, got 20,001"),
        ("1 " * 9_999, "hold a value twice, got 1"),
    ],
)
def test_no_list_takes_longer_than_its_length(text, sentence, monkeypatch):
    # Counted, not timed: how often anything is matched, and how long a text that is matched is.
    matched = []

    class Counted:
        def __init__(self, pattern) -> None:
            self.pattern = pattern

        def fullmatch(self, text: str):
            matched.append(len(text))
            return self.pattern.fullmatch(text)

    for name, longest in (("_ONE", values.LONGEST_NUMBER), ("_RANGE", values.LONGEST_RANGE)):
        monkeypatch.setattr(values, name, Counted(getattr(values, name)))
        assert longest <= 160
    with pytest.raises(SettingError, match=re.escape(sentence)):
        parse_values("X values", text)
    assert max(matched, default=0) <= values.LONGEST_RANGE
    assert sum(matched) <= 2 * len(text), "something is matched again and again"


@given(st.text("0123456789.+-eE:to by", max_size=40))
def test_no_number_can_be_read_in_two_ways(text):
    # What has been read is never given back, so that the work grows with the length alone; yet
    # nothing is refused for it that could be read with giving back.
    patient = re.sub(r"(?<=[*+?}])\+", "", values._NUMBER)
    assert bool(re.fullmatch(patient, text)) == bool(values._ONE.fullmatch(text))


def test_every_setting_of_one_number_begins_with_values_that_its_stage_takes():
    assert set(SWEEPABLE) == {name for name in STAGES if is_one_number(name)}
    for name in SWEEPABLE:
        axis = Axis(name, parse_values(name, INITIAL[name]))
        assert len(Sweep(SamplingSettings(), axis, prompts=["a"]).cells) >= 4


def test_a_stop_string_is_typed_on_one_line():
    assert unescaped(r"\nCustomer: \\n") == "\nCustomer: \\n"


# --- charts ---------------------------------------------------------------------------------------

GRID = Grid(
    "perplexity", "Temperature", "Top-p", ["0.5", "1"], ["a", "b"], [[1, 10], [100, math.nan]]
)


def test_a_heatmap_has_a_point_for_every_cell_that_gives_its_place_back():
    figure = heatmap_figure(GRID, (1, 0))
    heat, points = figure.data
    assert [list(place) for place in points.customdata] == [[0, 0], [1, 0], [0, 1], [1, 1]]
    assert list(points.text) == ["1.00", "10.0", "100", "–"]
    assert heat.z[1][0] == 1  # the highest
    frame = figure.layout.shapes[0]
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (0.5, 1.5, -0.5, 0.5)
    assert points.selected.textfont.color == points.textfont.color[1]  # no other text fades


def test_shades_go_by_powers_of_ten_where_asked():
    grid = Grid("p", "x", "y", ["1", "2", "3"], [""], [[1, 10, 100]], log=True)
    assert shades(grid) == [[0, 0.5, 1]]
    assert shades(Grid("p", "x", "y", ["1"], [""], [[math.inf]]))[0][0] != 0  # NaN


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


def test_the_front_is_joined_up_and_infinite_points_are_left_out():
    points = [
        Point("a", 1, 3, 0, True),
        Point("b", 2, 2, 1, True),
        Point("c", 1, 1, 2, False),
        Point("d", math.inf, 1, 3, True),
    ]
    others, front, chosen = front_figure(points, "x", "y", chosen=2).data
    assert list(front.text) == ["a", "b"]
    assert [list(cell) for cell in front.customdata] == [[0], [1]]
    assert list(others.text) == ["c"]
    assert list(chosen.x) == [1]


def test_a_metric_that_is_the_same_everywhere_fills_no_axis_with_nothing():
    figure = front_figure([Point("a", -2, 1, 0, True), Point("b", -1, 1, 1, True)], "x", "y", 0)
    assert list(figure.layout.yaxis.range) == pytest.approx([0.9, 1.1])
    assert figure.layout.xaxis.range is None
    assert front_figure([], "x", "y", 0).layout.yaxis.range is None


def test_figures_are_short():
    shown = [figure_text(value) for value in (0.126, -3.14, 61.4, 14987.2, 3e9, math.inf, math.nan)]
    assert shown == ["0.13", "−3.14", "61.4", "14,987", "3e+09", "∞", "–"]


@pytest.mark.parametrize("text", [*hostile.VOCAB, "<script>x</script>", "<b>&amp;", "a\u202eb"])
def test_no_text_becomes_markup(text):
    row = {"seed": 0, "length": 1, "text": text, "ended": True, "stop_reason": "eos"}
    row |= {"error": math.nan, "perplexity": 1.0, "distinct_2": 1.0, "seq_rep_4": 0.0}
    html = texts_list(text, pd.DataFrame([row]))
    for tag in ("<script", "<img", "<b>", "<a ", "<svg", "\u202e"):
        assert tag not in html
    assert small_heatmaps([Grid(text, "", "", ["<b>"], ["<b>"], [[1.0]])], False).count("<b>") == 0
