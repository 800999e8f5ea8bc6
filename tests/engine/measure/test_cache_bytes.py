"""Counted bytes of a loaded model's cache, and the message if they cannot be counted."""

from dataclasses import replace

import pytest

from engine.errors import SettingError
from engine.measure.cache_bytes import CacheBytesMeasurement, lengths
from tests.engine import tiny_models

POSITIONS = 37  # past the windows


def measured(architecture: str, batch: int = 1):
    model = tiny_models.shared(architecture)
    measurement = CacheBytesMeasurement(model, POSITIONS, batch)
    assert list(measurement.run()) and measurement.is_done
    return measurement.result


@pytest.mark.parametrize("architecture", ["llama", "gemma3", "qwen3_next", "mamba"])
def test_formula_equals_measured_tensor_bytes(architecture):
    result = measured(architecture)
    assert not result.unequal and result.is_known
    assert [point.positions for point in result.points] == lengths(POSITIONS) == [10, 20, 37]
    assert all(point.computed == point.measured <= point.held for point in result.points)
    assert len({point.measured for point in result.points}) == (1 if architecture == "mamba" else 3)


def test_cache_bytes_scale_with_batch_size():
    one, three = measured("gemma3"), measured("gemma3", batch=3)
    assert not three.unequal
    assert three.points[-1].measured == 3 * one.points[-1].measured


def test_wrong_formula_is_detected(monkeypatch):
    right = tiny_models.shared("llama").cache_formula
    keys_alone = [replace(layer, kept=layer.kept[:1]) for layer in right.layers]
    wrong = replace(right, layers=tuple(keys_alone))
    monkeypatch.setattr("engine.measure.cache_bytes.formula_of", lambda config, dtype: wrong)
    assert measured("llama").unequal == [1, 2]


@pytest.mark.parametrize(
    ("positions", "batch", "said"),
    [(1, 1, "Positions"), (10**5, 1, "Positions"), (20, 0, "Batch"), (20, 10**4, "Batch")],
)
def test_positions_and_batches_out_of_range_are_refused(positions, batch, said):
    with pytest.raises(SettingError, match=said):
        CacheBytesMeasurement(tiny_models.shared("llama"), positions, batch)


def test_batch_of_recurrent_states_is_refused():
    with pytest.raises(SettingError, match="cannot be duplicated"):
        list(CacheBytesMeasurement(tiny_models.shared("mamba"), 20, 2).run())
