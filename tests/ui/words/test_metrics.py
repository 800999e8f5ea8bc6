"""Metrics for reading."""

import math

from engine.study.metrics import FIELDS
from ui.words.metrics import METRICS, OF_TEXT, number, percent, short_number


def test_every_engine_metric_has_its_own_name():
    assert set(OF_TEXT) == {item.name for item in FIELDS}
    assert len({metric.name for metric in METRICS.values()}) == len(METRICS)
    better = {name for name, metric in METRICS.items() if metric.better}
    assert better == {"seq_rep_4", "loop_tokens", "looped"}, "only repetition has a direction"


def test_figures_are_formatted_for_reading():
    assert [number(math.nan, 2), number(math.inf, 2), number(1234.5, 1)] == ["–", "∞", "1,234.5"]
    assert [number(-math.inf, 2), number(-0.56, 2)] == ["−∞", "−0.56"]
    assert [percent(p) for p in (0.9, 0.005, 1e-6, 0)] == [
        "90.0 %", "0.50 %", "below 0.01 %", "0.00 %",
    ]  # fmt: skip
    shown = [short_number(x) for x in (0.126, -3.14, 61.4, 14987.2, 3e9, math.inf, math.nan)]
    assert shown == ["0.13", "−3.14", "61.4", "14,987", "3e+09", "∞", "–"]
