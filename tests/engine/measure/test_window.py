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


def test_the_cache_stops_growing_one_before_the_window(edge):
    for step in edge.steps:
        assert step.kept == min(step.positions, WINDOW - 1)
        assert step.seen == min(step.positions, WINDOW)
        assert step.measured == step.computed
    assert edge.is_equal and edge.steps[-1].positions > 2 * WINDOW


def test_a_token_is_felt_as_far_as_the_layers_reach(edge):
    far = 1 + LAYERS * (WINDOW - 1)
    assert set(edge.changes[:-far]) == {0.0}, "beyond, nothing changes at all"
    assert WINDOW < edge.reached <= far


def test_the_end_of_the_context_is_reached_and_said(edge):
    assert edge.end.context == tiny_models.CONTEXT
    assert edge.end.reached == tiny_models.CONTEXT - 1
    assert edge.end.bytes == 2 * 2 * 2 * 8 * 4 * edge.end.reached  # layers, K and V, heads, dim
    assert "is full" in edge.end.said


def test_a_model_without_a_limit_and_one_with_a_window():
    assert "no limit" in context_end(tiny_models.shared("mamba")).said
    assert window_of(tiny_models.shared("gemma3")) == tiny_models.WINDOW
    assert window_of(tiny_models.shared("llama")) == 0


@pytest.mark.parametrize("window", [0, 3, 65])
def test_windows_that_are_not_measured(window):
    with pytest.raises(SettingError, match="Window"):
        WindowMeasurement(tiny_models.shared("llama"), window)
