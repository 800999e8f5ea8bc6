"""The grid of prompt and output lengths: every cell in every round, and the resulting figures."""

import pytest

from engine.errors import SettingError
from engine.measure.pace import Pace
from engine.measure.prefill_and_decode import Cell, PrefillAndDecodeMeasurement, grid
from tests.engine.tiny_models import CONTEXT, shared


def test_every_cell_is_measured_in_every_round():
    measurement = PrefillAndDecodeMeasurement(shared("llama"), [8, 4], [1, 3], 2)
    assert measurement.parts == 8 and measurement.result is None
    steps = iter(measurement.run())
    next(steps)
    assert [(one.prompt, one.output) for one in measurement.result.cells] == [(4, 1)]
    list(steps)
    result = measurement.result
    assert result.prompts == (4, 8) and result.outputs == (1, 3)
    for prompt in result.prompts:
        for output in result.outputs:
            cell = result.at(prompt, output)
            assert len(cell.first_ms) == len(cell.later_ms) == len(cell.step_p95_ms) == 2
            assert (min(cell.later_ms) > 0) == (output > 1)
    assert result.at(5, 5) is None and result.largest == result.at(8, 3)
    assert len(result.reference_ms) == 8 and result.weight_bytes == shared("llama").read_bytes


def test_cell_derives_rates_from_its_times():
    cell = Cell(100, 11, (50.0, 40.0, 60.0), (100.0, 110.0, 90.0), (12.0, 13.0, 11.0))
    assert cell.first == 50 and cell.per_output == 10 and cell.total == 150
    assert cell.prefill_per_second == 2000 and cell.decode_per_second == 100
    assert cell.spread == 1.0
    lone = Cell(4, 1, (5.0,), (0.0,), (0.0,))
    assert lone.per_output is None and lone.decode_per_second is None


def test_grid_beyond_context_or_cell_limit_is_refused():
    model = shared("llama")
    assert grid(model, [CONTEXT - 8], [8]) == [(CONTEXT - 8, 8)]
    with pytest.raises(SettingError, match="exceed the 160 positions of llama"):
        PrefillAndDecodeMeasurement(model, [CONTEXT - 7], [8], 1)
    with pytest.raises(SettingError, match="too many cells"):
        grid(model, range(1, 40), range(1, 40))


def test_the_estimate_adds_up_the_cells():
    pace = Pace((4, 64), (10.0, 10.0), 2.0)
    assert PrefillAndDecodeMeasurement.estimated_seconds(
        shared("llama"), [4, 8], [1, 3], 3, pace
    ) == pytest.approx(3 * (4 * 0.010 + 2 * 2 * 0.002))


def test_recurrent_models_have_a_grid_too():
    measurement = PrefillAndDecodeMeasurement(shared("mamba"), [4], [3], 1)
    list(measurement.run())
    assert measurement.result.at(4, 3).per_output > 0
