"""The section on prefill and decode: the grid as it fills, charts, the cost lens."""

import pytest

from engine.errors import SettingError
from engine.measure.prefill_and_decode import Cell
from tests.ui.cache.made_up import grid
from tests.ui.hostile import HOSTILE
from ui.cache.prefill_and_decode.charts import time_figure, wait_figure
from ui.cache.prefill_and_decode.cost import cost_table, cost_words
from ui.cache.prefill_and_decode.prices import OWN, Cost, checked_price, published, source_of
from ui.cache.prefill_and_decode.section import METRICS, SECTION, GridInputs, grid_table
from ui.measurements.section import Laid

MARKUP = next(text for text in HOSTILE if "<" in text)


def test_notice_compares_output_and_input_tokens():
    said = SECTION.notice(grid())
    assert "50 ms for 100 prompt tokens, 2,000 tokens/s" in said and "100 tokens/s. An" in said
    assert "20.0 times as long" in said and "decode is 67 %" in said
    lone = grid(Cell(10, 1, (20.0,), (0.0,), (0.0,)))
    assert SECTION.notice(lone).endswith("20 ms for 10 prompt tokens, 500 tokens/s.")
    short = grid(Cell(1, 3, (20.0,), (10.0,), (5.0,)))
    assert "this prefill was the slower" in SECTION.notice(short)


def test_cells_fill_as_they_are_measured():
    assert all(METRICS[metric].name in grid_table(grid(), metric) for metric in METRICS)
    shown = grid_table(grid(), "total")
    assert shown.count("to come") == 1 and ">150</td>" in shown and ">21.0</td>" in shown
    assert grid_table(grid(), "per_output").count("<td>–</td>") == 1  # a single token has none
    beside = grid_table(grid(), "total", Laid(MARKUP, grid()))
    assert beside.count("<small>") == 3 and MARKUP not in beside


def test_charts_show_the_medians_and_the_rounds():
    (waits,) = wait_figure(grid(), True).data
    assert list(waits.x) == [10, 100] and list(waits.y) == [21.0, 50.0]
    assert list(waits.error_y.array) == [3.0, 0.0]
    lines = time_figure(grid(), True, Laid(MARKUP, grid())).data
    assert [list(line.y) for line in lines[:2]] == [[21.0, 122.0], [150.0]]
    assert [line.line.dash for line in lines] == ["solid", "solid", "dash", "dash"]
    assert not any(MARKUP in line.name for line in lines)


def test_cost_table_compares_price_with_time():
    cost = Cost(grid().largest, 2.0, 10.0)
    assert (cost.input_ms, cost.output_ms, cost.time_ratio, cost.price_ratio) == (0.5, 10, 20, 5)
    assert cost.input_dollars == pytest.approx(2e-4)
    assert cost.output_dollars == pytest.approx(1.1e-4)
    table = cost_table(cost, 4096)
    assert all(len(row) == len(table.head) for row in table.rows)
    assert [row[3] for row in table.rows[:2]] == ["40 B", "4.0 KiB"]
    assert "20.0 times as long; it costs 5.0 times as much" in cost_words(cost, 4096)
    free = Cost(grid(Cell(10, 1, (20.0,), (0.0,), (0.0,))).largest, 0.0, 1.0)
    assert free.price_ratio is free.time_ratio is None and cost_table(free, 4096).rows
    assert "times as much" not in cost_words(free, 4096)


def test_prices_are_published_or_checked():
    assert len(published()) >= 3
    for name, price in published().items():
        assert price["source"] and price["address"] and price["checked"]
        assert price["output"] > price["input"] > 0
        assert source_of(price["input"], price["output"]) == name
    assert source_of(1.23, 4.56) == OWN
    inputs = GridInputs()
    assert source_of(inputs.input_price, inputs.output_price) != OWN
    assert checked_price("Input", 0.0) == 0
    with pytest.raises(SettingError, match="Input"):
        checked_price("Input", -1.0)


@pytest.mark.parametrize("typed", ["", "0, 4", "1.5", "4, 4", "999999"])
def test_invalid_lengths_are_refused_by_name(typed, bundled):
    with pytest.raises(SettingError, match="Prompt lengths"):
        SECTION.begin(bundled, GridInputs(prompts=typed))
    with pytest.raises(SettingError, match="Output lengths"):
        SECTION.begin(bundled, GridInputs(outputs=typed))
    assert SECTION.begin(bundled, GridInputs(prompts="16 to 64 step 16")).count == 36
