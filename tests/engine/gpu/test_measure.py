"""Measurements on a GPU as on the CPU: times include the wait, and operations are the same."""

from engine.measure.prefill_and_decode import PrefillAndDecodeMeasurement
from engine.measure.roofline.measurement import Plan, RooflineMeasurement
from engine.measure.with_and_without import WithAndWithoutMeasurement
from engine.model import LanguageModel
from tests.engine import tiny_models

PLAN = Plan((8,), (8,), (1, 2), 2**18, (64,))


def test_every_measurement_runs_on_the_model_device(model):
    text = WithAndWithoutMeasurement(model, tiny_models.prompt(4), 20)
    grid = PrefillAndDecodeMeasurement(model, [4], [3], 1)
    roof = RooflineMeasurement(model, PLAN)
    for measurement in (text, grid, roof):
        list(measurement.run())
    assert min(text.result.cached_ms) > 0 and min(text.result.uncached_ms) > 0
    assert grid.result.at(4, 3).per_output > 0
    layers = roof.result.layers
    assert 0 < layers.layer_ms < layers.step_ms and layers.head_ms > 0
    if model.device.type == "cuda":
        assert roof.result.threads == roof.result.prefill_threads == 0


def test_operation_counts_match_the_cpu(model):
    cpu = LanguageModel(tiny_models.build("llama", dtype=model.dtype))
    found = []
    for one in (model, cpu):
        roof = RooflineMeasurement(one, PLAN)
        list(roof.run())
        found.append([(one.kind, one.operations, one.bytes) for one in roof.result.passes])
    assert found[0] == found[1]
