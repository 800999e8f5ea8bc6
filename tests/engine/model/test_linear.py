"""Large linear layers in float32: they use oneDNN in the engine's passes, and only there."""

import copy

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from engine.decoder import Decoder
from engine.measure.roofline.operations import counted_operations
from engine.model import LanguageModel, kernels, linear
from engine.model.kernels import ENGINE_LOCK, Kernels, has_onednn_float32
from engine.sampling import SamplingSettings
from tests.engine import tiny_models
from tests.engine.runs import assert_comes_back, assert_same_run, finished, generate, rows, sampling

TOKENS = 28
FLOAT32 = Kernels(threads=1, prefill_threads=1, onednn_float32=True)

pytestmark = pytest.mark.skipif(
    not has_onednn_float32(), reason="this PyTorch does not have MKL and oneDNN"
)


class Products(TorchDispatchMode):
    """Count matrix products while the mode is active."""

    def __init__(self) -> None:
        super().__init__()
        self.onednn = self.others = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = str(function)
        self.onednn += name.startswith("mkldnn._linear_pointwise")
        self.others += name.startswith(("aten.mm", "aten.addmm", "aten.linear"))
        return function(*args, **kwargs or {})


@pytest.fixture
def every_layer(monkeypatch):
    """Treat layers of tiny models as large."""
    monkeypatch.setattr(linear, "_LARGE", 1)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(lambda random: random(1, 1, 640), id="a token"),
        pytest.param(lambda random: random(1, 37, 640), id="a prompt"),
        pytest.param(lambda random: random(5, 1, 640), id="a batch"),
        pytest.param(lambda random: random(640), id="no batch"),
        pytest.param(lambda random: random(0, 640), id="nothing"),
        pytest.param(lambda random: random(3, 4, 640)[:, -1:], id="the last of several"),
        pytest.param(lambda random: random(640, 7).t(), id="transposed"),
        pytest.param(lambda random: random(1, 640).expand(4, 640), id="one row, four times"),
    ],
)
def test_products_match_float64(rows):
    generator = torch.Generator().manual_seed(5)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    rows, weight = rows(random), random(801, 640)
    for bias in (None, random(801)):
        with ENGINE_LOCK, torch.inference_mode(), FLOAT32.apply(tokens=1), Products() as products:
            found = linear.linear(rows, weight, bias)
        assert products.onednn == 1 and not products.others
        parts = (None if part is None else part.double() for part in (rows, weight, bias))
        exact = functional.linear(*parts)
        assert found.shape == exact.shape and found.dtype == torch.float32
        assert np.allclose(found, exact, rtol=0, atol=3e-4)  # sums of 640 terms, with deviation 25


def test_products_repeat_bits_on_any_thread_count():
    generator = torch.Generator().manual_seed(6)
    weight = torch.randn(2048, 896, generator=generator)
    row = torch.randn(1, 1, 896, generator=generator)
    before, found = torch.get_num_threads(), []
    for threads in (1, 2, 3, 1):
        torch.set_num_threads(threads)
        with ENGINE_LOCK, Kernels(onednn_float32=True).apply(tokens=1):
            found.append(linear.linear(row.clone(), weight))
    torch.set_num_threads(before)
    assert all(torch.equal(one, found[0]) for one in found)


def test_only_large_standard_linear_layers_are_replaced():
    class Own(torch.nn.Linear):
        pass

    small, large, own = torch.nn.Linear(64, 64), torch.nn.Linear(512, 512), Own(512, 512)
    linear.ask_kernels(torch.nn.ModuleList([small, large, own]))
    kinds = [type(one) for one in (small, large, own)]
    assert kinds == [torch.nn.Linear, linear.OneDnnLinear, Own]


def test_half_precision_and_other_passes_avoid_onednn():
    layer = torch.nn.Linear(512, 512)
    linear.ask_kernels(layer)
    row = torch.randn(1, 512)
    with torch.inference_mode():
        with Products() as products:
            layer(row)
        assert (products.onednn, products.others > 0) == (0, True)
        with ENGINE_LOCK, FLOAT32.apply(tokens=1):
            half = copy.deepcopy(layer).to(torch.bfloat16)
            with Products() as products:
                half(row.to(torch.bfloat16))
            assert products.onednn == 0
            with Products() as products:
                layer(row)
            assert (products.onednn, products.others) == (1, 0)
            with Products() as products, kernels.DEFAULT_KERNELS.apply(tokens=1):
                layer(row)
            assert products.onednn == 0


def test_other_devices_use_their_own_products(monkeypatch):
    rows, weight = torch.empty(2, 512, device="meta"), torch.empty(300, 512, device="meta")
    with ENGINE_LOCK, FLOAT32.apply(tokens=2), Products() as products:
        assert linear.linear(rows, weight).shape == (2, 300)
    assert (products.onednn, products.others > 0) == (0, True)
    monkeypatch.setattr(LanguageModel, "device", torch.device("cuda"))
    model = object.__new__(LanguageModel)
    assert not model._possible(FLOAT32).onednn_float32


def test_copied_model_has_its_own_weights(every_layer):
    model = LanguageModel(tiny_models.build("llama"), kernels=FLOAT32)
    other = copy.deepcopy(model.hf)
    for weight in other.parameters():
        weight.zero_()
    with torch.inference_mode(), ENGINE_LOCK, FLOAT32.apply(tokens=3):
        ids = torch.tensor([[1, 2, 3]])
        assert not other(ids).logits.any() and model.hf(ids).logits.any()


@pytest.mark.parametrize("architecture", ["llama", "gpt_neox"])
def test_onednn_rewinds_and_replays_with_the_usual_text(architecture, every_layer, monkeypatch):
    monkeypatch.setattr("engine.decoding.record.RECENT_BYTES", 0)  # replays all except the last
    model = LanguageModel(tiny_models.build(architecture), kernels=FLOAT32)
    assert model.replays_exactly
    prompt = tiny_models.prompt(1)
    decoder = Decoder(model, prompt, sampling(1))
    with Products() as products:
        live = [decoder.logits(step.index).copy() for step in decoder.run(TOKENS)]
    ids = decoder.token_ids
    assert products.onednn and not products.others

    assert_comes_back(decoder, np.stack(live))

    usual = LanguageModel(tiny_models.build(architecture), kernels=Kernels(threads=1))
    other = finished(Decoder(usual, prompt, sampling(1)), TOKENS)
    assert other.token_ids == ids, "rounding must not reach the text so soon"
    np.testing.assert_allclose(rows(other), np.stack(live), rtol=0, atol=1e-3)


@pytest.mark.parametrize("architecture", ["llama", "gpt_neox"])
def test_onednn_operations_are_counted_like_others(architecture, every_layer):
    model = LanguageModel(tiny_models.build(architecture), kernels=FLOAT32)
    ids = tiny_models.prompt(4)

    def counted() -> int:
        return counted_operations(lambda: model.forward(ids, model.new_cache(), 0))

    with Products() as products:
        through_onednn = counted()
    assert products.onednn
    model.kernels = Kernels(threads=1)
    assert through_onednn == counted() > 0


def test_parity_mode_matches_generate_bit_for_bit(every_layer):
    model = LanguageModel(tiny_models.build("llama"), kernels=FLOAT32)
    settings, prompt = {"temperature": 0.8, "top_k": 20, "top_p": 0.9}, tiny_models.prompt(2)
    decoder = Decoder(model, prompt, SamplingSettings(**settings, seed=2, parity=True))
    finished(decoder, TOKENS)
    with Products() as products:
        ids, logits = generate(model, prompt, TOKENS, 2, **settings)
    assert products.onednn == 0, "generate must not notice"
    assert_same_run(decoder, ids, logits, "In parity")


def test_facts_report_missing_onednn_float32_kernels(monkeypatch):
    monkeypatch.setattr("engine.model.loaded.has_onednn_float32", lambda: False)
    model = LanguageModel(tiny_models.build("llama"), kernels=FLOAT32)
    assert model.facts["kernels"]["onednn_float32"] is False
    with Products() as products:
        finished(Decoder(model, tiny_models.prompt(3), sampling(3)), 3)
    assert products.onednn == 0
