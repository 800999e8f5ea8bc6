"""The roofline: operations against a model's shapes, and figures against sums done by hand."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch

from engine.errors import SettingError
from engine.measure.roofline.ceilings import takes_long
from engine.measure.roofline.layers import measured_layers
from engine.measure.roofline.measurement import Plan, RooflineMeasurement, ways_of
from engine.measure.roofline.operations import counted_operations
from engine.measure.roofline.results import (
    BATCH,
    DECODE,
    PREFILL,
    PRODUCT,
    READ,
    READ_SMALL,
    Ceiling,
    Pass,
    Roofline,
)
from engine.model.kernels import can_set_aside, set_aside
from engine.model.preemption import layers_of
from tests.engine.tiny_models import ARCHITECTURES, CONTEXT, HIDDEN, VOCAB, shared

SMALL = Plan((8,), (8,), (1, 2), 2**18, (32, 64))
LAYERS, INNER, KV = 2, 48, 16


def operations(model, tokens: int, cached: int = 0) -> int:
    cache = model.new_cache()
    if cached:
        model.forward([0] * cached, cache, 0)
    return counted_operations(lambda: model.forward([0] * tokens, cache, cached))


def llama_operations(tokens: int, cached: int, mlp: int) -> int:
    """Count by the shapes: two for each weight and token; attention; the output layer once."""
    weights = LAYERS * (2 * HIDDEN * HIDDEN + 2 * HIDDEN * KV + mlp)
    attention = LAYERS * 4 * HIDDEN * tokens * (cached + tokens)
    return 2 * weights * tokens + attention + 2 * VOCAB * HIDDEN


@pytest.mark.parametrize(("tokens", "cached"), [(7, 0), (1, 20)])
def test_operation_counts_follow_from_model_shapes(tokens, cached):
    mlp = 3 * HIDDEN * INNER
    wanted = llama_operations(tokens, cached, mlp)
    assert operations(shared("llama"), tokens, cached) == wanted
    router = HIDDEN * 4
    wanted = llama_operations(tokens, cached, 2 * mlp + router)  # with two of four experts
    assert operations(shared("mixtral"), tokens, cached) == wanted


def roofline(**changes) -> Roofline:
    ceilings = (
        Ceiling(READ, "sum", "float32", 1, 100, (9e9, 10e9)),
        Ceiling(READ, "sum", "float32", 2, 100, (30e9,)),
        Ceiling(READ_SMALL, "sum", "float32", 1, 10, (40e9,)),
        Ceiling(PRODUCT, "product", "float32", 1, 64, (50e9, 100e9)),
        Ceiling(PRODUCT, "product", "bfloat16", 1, 64, (900e9,)),
    )
    passes = (
        Pass(DECODE, 1, 1, 16, 200, 90, 10, (4e-6, 2e-6, 3e-6)),
        Pass(BATCH, 4, 1, 16, 800, 90, 40, (8e-6,)),
        Pass(PREFILL, 1, 50, 0, 5000, 90, 10, (1e-3,)),
    )
    values = {
        "ceilings": ceilings,
        "passes": passes,
        "layers": None,
        "reference_ms": (1.0, 1.0, 2.0),
        "dtype": "float32",
        "threads": 1,
        "prefill_threads": 1,
    }
    return Roofline(**values | changes)


def test_ceilings_use_the_best_measured_rates():
    result = roofline()
    assert result.bandwidth.best == 10e9 and result.small_bandwidth.best == 40e9
    assert result.peak.best == 100e9 and result.peak.spread == 2 and result.ridge == 10
    assert result.roof(2) == 20e9 and result.roof(10) == result.roof(1000) == 100e9
    assert result.changed_parts == [2]
    empty = roofline(ceilings=())
    assert empty.roof(1) is empty.ridge is empty.bandwidth is None


def test_pass_has_intensity_rate_and_predicted_speed():
    result = roofline()
    step, batch, prefill = result.passes
    assert step.intensity == 2 and step.seconds == 3e-9
    assert step.rate == pytest.approx(200 / 3e-9) and step.per_second == pytest.approx(1 / 3e-9)
    assert result.predicted_per_second(step) == 10e9 / 100
    assert batch.per_second == pytest.approx(4 / 8e-9) and batch.bytes == 130
    assert prefill.per_second == pytest.approx(50 / 1e-6)
    assert result.of_kind(BATCH) == [batch]


@pytest.mark.parametrize("architecture", ["llama", "mamba"])
def test_roofline_measures_ceilings_passes_and_layers(architecture):
    model = shared(architecture)
    measurement = RooflineMeasurement(model, SMALL)
    list(measurement.run())
    result = measurement.result
    assert len(result.ceilings) == len(ways_of(model, SMALL))
    assert all(rate > 0 for one in result.ceilings for rate in one.rates)
    kinds = [one.kind for one in result.passes]
    assert kinds == [PREFILL, DECODE] + [BATCH, BATCH] * (architecture != "mamba")
    decode = result.passes[1]
    assert decode.weight_bytes == model.read_bytes and decode.operations > 0
    if architecture == "llama":
        assert decode.cache_bytes == 2 * LAYERS * KV * 4 * 9  # eight read, the ninth written
        assert decode.operations == llama_operations(1, 17, 3 * HIDDEN * INNER)
        assert result.passes[3].operations == 2 * result.passes[2].operations
    assert len(result.reference_ms) == measurement.parts
    assert result.layers.count == LAYERS and result.layers.calls > LAYERS
    assert result.roof(decode.intensity) > 0


def test_layers_are_found_and_left_without_hooks():
    for architecture in ARCHITECTURES:
        model = shared(architecture)
        layers = layers_of(model.hf)
        assert len(layers) == model.config.num_hidden_layers, architecture
    model = shared("llama")

    def hooks() -> list[tuple[dict, dict]]:
        layers = layers_of(model.hf)
        return [(dict(one._forward_hooks), dict(one._forward_pre_hooks)) for one in layers]

    before = hooks()
    found = measured_layers(model)
    assert found.layer_bytes == 4 * (2 * HIDDEN**2 + 2 * HIDDEN * KV + 3 * HIDDEN * INNER + 64)
    assert found.head_bytes == 4 * HIDDEN * VOCAB and 0 < found.layer_ms < found.step_ms
    assert hooks() == before
    assert found.reading_ms(1e6) == pytest.approx(found.layer_bytes / 1e3)
    assert found.overhead_ms(1e-3) == 0


def test_product_that_takes_too_long_is_skipped():
    ways = ways_of(shared("llama"), replace(SMALL, products=(32, 8192)))
    small, large = (way for way in ways if way.ceiling.kind == PRODUCT)
    slow = replace(small.ceiling, rates=(1e9,))
    assert takes_long(large, [slow]) and not takes_long(large, [])
    assert not takes_long(small, [slow]) and not takes_long(ways[0], [slow])


def test_plan_stays_within_the_context():
    plan = Plan.usual(shared("llama"), [4, 1, 4])
    assert plan.batches == (1, 4) and max(plan.prefills) < CONTEXT
    assert plan.prefills[:2] == (16, 64) and max(plan.decodes) + 10 <= CONTEXT
    with pytest.raises(SettingError, match="Rows of a batch"):
        Plan.usual(shared("llama"), [0])


def test_other_passes_can_run_while_operations_are_counted():
    model, other = shared("llama"), shared("gpt2")
    hooks = torch.nn.modules.module._global_forward_pre_hooks.copy()
    alone, others_alone = operations(model, 7), operations(other, 3)
    meanwhile = []

    def beside(module, inputs):
        assert can_set_aside()
        with set_aside(), ThreadPoolExecutor(1) as visitor:
            meanwhile.append(visitor.submit(operations, other, 3).result(30))

    hook = layers_of(model.hf)[1].register_forward_pre_hook(beside)
    try:
        assert operations(model, 7) == alone
    finally:
        hook.remove()
    assert meanwhile == [others_alone]
    assert torch.nn.modules.module._global_forward_pre_hooks == hooks
