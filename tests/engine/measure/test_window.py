"""Positions kept, seen and reached at a window's edge, and the message at a context's end."""

import pytest

from engine.errors import SettingError
from engine.measure.window import LAYERS, WindowMeasurement, context_end, window_of
from tests.engine import tiny_models

WINDOW = 8


@pytest.fixture(scope="module")
def edge():
    measurement = WindowMeasurement(tiny_models.shared("llama"), WINDOW)
    list(measurement.run())
    return measurement.result


def test_cache_stops_growing_one_position_before_window(edge):
    for step in edge.steps:
        assert step.kept == min(step.positions, WINDOW - 1)
        assert step.seen == min(step.positions, WINDOW)
        assert step.measured == step.computed
    assert edge.is_equal and edge.steps[-1].positions > 2 * WINDOW


def test_token_influence_ends_at_the_layers_reach(edge):
    far = 1 + LAYERS * (WINDOW - 1)
    assert set(edge.changes[:-far]) == {0.0}, "beyond, nothing changes at all"
    assert WINDOW < edge.reached <= far


def test_end_of_context_is_reached_and_reported(edge):
    assert edge.end.context == tiny_models.CONTEXT
    assert edge.end.reached == tiny_models.CONTEXT - 1
    assert edge.end.bytes == 2 * 2 * 2 * 8 * 4 * edge.end.reached  # layers, K and V, heads, dim
    assert "is full" in edge.end.said


def test_context_limit_and_window_follow_the_model():
    assert "no limit" in context_end(tiny_models.shared("mamba")).said
    assert window_of(tiny_models.shared("gemma3")) == tiny_models.WINDOW
    assert window_of(tiny_models.shared("llama")) == 0


@pytest.mark.parametrize("window", [0, 3, 65])
def test_window_out_of_range_is_refused(window):
    with pytest.raises(SettingError, match="Window"):
        WindowMeasurement(tiny_models.shared("llama"), window)
