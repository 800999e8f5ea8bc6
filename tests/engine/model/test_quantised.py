"""A quantised cache: its decoded values, its contents, and a model that reads exactly these."""

import numpy as np
import pytest
import torch
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from engine.errors import SettingError
from engine.model import LanguageModel
from engine.model.quantised import (
    AXES,
    BITS,
    PER_CHANNEL,
    PER_TOKEN,
    Quantisation,
    compared_cache,
    row_bytes,
    why_not,
)
from engine.model.quantised.codes import decode, encode
from engine.model.quantised.states import QuantisedStates
from tests.engine import tiny_models
from tests.engine.model import small_configs

WINDOWED = ("mistral", "gemma3")


def numbers(heads: int, positions: int, channels: int) -> torch.Tensor:
    return torch.randn(heads, positions, channels, generator=torch.Generator().manual_seed(0))


def test_two_bits_hold_four_numbers():
    states = torch.tensor([[[0.0, 1.0, 2.0, 3.0], [5.0, 5.0, 5.0, 5.0], [-1.0, 0.6, 0.4, 2.0]]])
    codes = encode(states, bits=2, group=4, axis=PER_TOKEN)
    assert codes.packed.tolist() == [[[0b11_10_01_00], [0], [0b11_01_10_00]]]
    read = decode(codes, bits=2, group=4, axis=PER_TOKEN)
    assert read.tolist() == [[[0, 1, 2, 3], [5, 5, 5, 5], [-1, 1, 0, 2]]]
    assert codes.bytes == 3 * 1 + 3 * (2 + 2)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("bits", BITS)
def test_decoded_number_is_within_half_a_step(bits, axis):
    states = numbers(2, 12, 8)
    codes = encode(states, bits=bits, group=4, axis=axis)
    read = decode(codes, bits=bits, group=4, axis=axis)
    dim = 1 if axis == PER_CHANNEL else 2
    step = codes.step.float().repeat_interleave(4, dim)
    assert ((read - states).abs() <= 0.5 * step * 1.01 + 0.004).all()
    assert codes.bytes == states.numel() * bits // 8 + states.numel() // 4 * 4


@pytest.mark.parametrize("axis", AXES)
def test_quantised_states_do_not_depend_on_passes(axis):
    how = Quantisation(4, group=4, keys=axis, values=axis, residual=3)
    states = numbers(2, 23, 8)
    whole, by_one = QuantisedStates(how, axis), QuantisedStates(how, axis)
    whole.append(states)
    for position in range(23):
        by_one.append(states[:, position : position + 1])
        exact = by_one.read()[:, -3:] == states[:, max(0, position - 2) : position + 1]
        assert exact.all(), "the residual is exact"
        is_exact = bool((by_one.read() == states[:, : position + 1]).all())
        assert is_exact == (position + 1 <= how.exact_positions)
    assert (whole.read() == by_one.read()).all() and whole.bytes == by_one.bytes
    by_one.keep_last(9)
    kept = by_one.positions
    assert 9 <= kept < 9 + 4 and (by_one.read() == whole.read()[:, -kept:]).all()


class Twin(DynamicLayer):
    """The slow twin: it keeps every state, and rebuilds the values to read at each pass."""

    def __init__(self, how: Quantisation, window: int | None) -> None:
        super().__init__()
        self.how, self.window, self.all = how, window, []

    def update(self, keys, values, *args, **kwargs):
        self.is_initialized = True
        self.all = [
            torch.cat(pair, dim=2) if self.all else pair[-1]
            for pair in zip(self.all or (keys, values), (keys, values), strict=True)
        ]
        axes = (self.how.keys, self.how.values)
        read = [self._read(states, axis) for states, axis in zip(self.all, axes, strict=True)]
        if self.window is not None:
            read = [states[:, :, -(self.window - 1 + keys.shape[2]) :] for states in read]
        return tuple(read)

    def _read(self, states, axis):
        unit = self.how.group if axis == PER_CHANNEL else 1
        older = max(0, states.shape[2] - self.how.residual) // unit * unit
        if not older:
            return states
        options = {"bits": self.how.bits, "group": self.how.group, "axis": axis}
        coded = decode(encode(states[0, :, :older], **options), **options)
        return torch.cat([coded[None].to(states.dtype), states[:, :, older:]], dim=2)

    @property
    def is_sliding(self):
        return self.window is not None

    def get_seq_length(self):
        return self.all[0].shape[2] if self.all else 0

    def get_mask_sizes(self, query_length):
        length = self.get_seq_length()
        if self.window is None or length < self.window:
            return length + query_length, 0
        return self.window - 1 + query_length, length - self.window + 1


def twin_cache(model: LanguageModel, how: Quantisation):
    cache = model.new_cache()
    cache.layers = [Twin(how, getattr(layer, "sliding_window", None)) for layer in cache.layers]
    return cache


@pytest.mark.parametrize(
    "name",
    ["llama", "mistral", *(pytest.param(n, marks=pytest.mark.long) for n in ("bloom", "gemma3"))],
)
def test_each_row_matches_its_own_quantised_cache(name):
    # In float64 no number lies so close to the edge between two codes that rounding decides.
    model = tiny_models.shared(name, dtype=torch.float64)
    kinds = [
        Quantisation(4, group=4, residual=5),
        Quantisation(2, group=8, keys=PER_TOKEN, values=PER_CHANNEL, residual=0),
        Quantisation(8, group=8, residual=100),
    ]
    tokens = tiny_models.prompt(1, 40)
    assert name not in WINDOWED or len(tokens) > 2 * tiny_models.WINDOW
    cache, exact = compared_cache(model, kinds), model.new_cache()
    twins = [twin_cache(model, kind) for kind in kinds]
    apart = 0.0
    for position, token_id in enumerate(tokens):
        rows, _ = model.forward_rows([[token_id]] * 4, cache, position)
        alone = model.forward([token_id], exact, position).logits
        assert np.abs(rows[0] - alone).max() < 1e-5, "the first row is exact"
        assert np.array_equal(rows[3], rows[0]), "all of it is residual"
        for row, twin in zip(rows[1:], twins, strict=True):
            alone = model.forward([token_id], twin, position).logits
            assert np.abs(row - alone).max() < 1e-5
        apart = max(apart, float(np.abs(rows[2] - rows[0]).max()))
    assert apart > 0.05, "2 bits are not exact"
    for layer in cache.layers:
        if layer.is_sliding:
            held = [states.positions for row in layer.rows for states in row]
            assert max(held[:4]) < tiny_models.WINDOW - 1 + 8, "what left the window is forgotten"


def test_row_bytes_match_codes_and_residual():
    model = tiny_models.shared("qwen3")  # 2 layers, 2 heads of 8 channels, float32
    kinds = [Quantisation(4, group=4, keys=PER_TOKEN, residual=6), Quantisation(8, group=8)]
    cache = compared_cache(model, kinds)
    model.forward_rows([tiny_models.prompt(0, 20)] * 3, cache, 0)
    numbers_of = 2 * 2 * 2 * 8  # per position
    four = 14 * (numbers_of // 2 + numbers_of // 4 * 4) + 6 * numbers_of * 4
    assert row_bytes(cache) == [model.cache_formula.bytes_at(20), four, 20 * numbers_of * 4]


def test_models_with_other_states_are_refused():
    for name in ("mamba", "falcon_h1"):
        reason = why_not(tiny_models.shared(name))
        assert "keeps states other than one key and one value" in reason
    assert why_not(tiny_models.shared("llama")) == why_not(tiny_models.shared("gemma3")) == ""
    latent = LanguageModel(small_configs.build("deepseek_v3"), name="latent")
    assert why_not(latent).startswith("latent caches one latent vector for all heads (MLA)")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bits": 3}, "bits .*got 3"),
        ({"group": 1}, "group .*got 1"),
        ({"residual": -1}, "residual"),
        ({"keys": "by row"}, "keys is not an axis"),
    ],
)
def test_a_setting_out_of_range_is_refused(changes, words):
    with pytest.raises(SettingError, match=words):
        Quantisation(**changes)


def test_setting_that_misfits_model_or_text_is_refused():
    model = tiny_models.shared("llama")
    with pytest.raises(SettingError, match=r"group must divide the 8 channels.*got 3"):
        compared_cache(model, [Quantisation(group=3)])
    compared_cache(model, [Quantisation(group=3, values=PER_CHANNEL)])
    with pytest.raises(SettingError, match="residual keeps all 20 positions of the text exact"):
        Quantisation(residual=20).check_length(20)
    Quantisation(residual=19).check_length(20)
    both = Quantisation(group=8, values=PER_CHANNEL, residual=13)
    with pytest.raises(SettingError, match="got 13; use at most 12"):
        both.check_length(20)


def test_exact_row_uses_transformers_sliding_window():
    cache = compared_cache(tiny_models.shared("mistral"), [])
    assert {type(layer.exact) for layer in cache.layers} == {DynamicSlidingWindowLayer}
    assert all(layer.is_sliding and layer.get_max_length() == 16 for layer in cache.layers)
