"""The formula for every kind of layer, against caches that transformers builds."""

from fractions import Fraction

import pytest
import torch
from transformers import CONFIG_MAPPING, AutoConfig

from engine.cache_formula import IDEAL
from engine.errors import NotAModelError
from engine.model.cache_layers import formula_of
from engine.model.cache_layers.layers import SHARED, layers_of
from engine.model.growing_cache import GROWN
from tests.engine.calculator.real_caches import POSITIONS, PROMPT, ROWS, measure
from tests.engine.model import small_configs
from tests.engine.model.small_configs import WINDOW, small_config

# One architecture for every kind of layer and for every name that a size goes by.
ARCHITECTURES = (
    *("llama", "gpt2", "falcon", "dbrx", "jetmoe", "xglm", "mistral", "gpt_oss"),
    *("mimo_v2_flash", "llama4_text", "deepseek_v3", "deepseek_v32", "qwen4_exp_text"),
    *("dots3_note_text", "deepseek_v4", "minimax_m3_vl_text", "nemotron_h", "mamba", "mamba2"),
    *("jamba", "falcon_h1", "zamba2", "bailing_hybrid", "lfm2_moe", "zaya", "inkling_text"),
)
OTHERS = (
    *("qwen3", "gpt_bigcode", "hrm_text", "gemma3_text", "gemma4_text", "bamba", "zamba"),
    "qwen3_next",
)


@pytest.mark.parametrize(
    "architecture",
    [*ARCHITECTURES, *(pytest.param(name, marks=pytest.mark.long) for name in OTHERS)],
)
def test_formula_matches_every_architecture_to_the_byte(architecture):
    found = measure(architecture)
    assert found.predicted == found.bytes
    assert sum(found.bytes) == found.formula.bytes_at(POSITIONS, batch=ROWS)


@pytest.mark.parametrize("architecture", ["gemma3n_text", "gemma4_text"])
def test_layers_sharing_a_cache_store_nothing(architecture, monkeypatch):
    changes = {"num_kv_shared_layers": 2, "num_hidden_layers": 4}
    sizes = {
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "hidden_size_per_layer_input": 8,
        "vocab_size_per_layer_input": small_configs.VOCAB,
        "activation_sparsity_pattern": [0.0] * 4,
        "laurel_rank": 8,
    }
    monkeypatch.setitem(small_configs.CHANGES, architecture, sizes | changes)
    found = measure(architecture, **changes)
    assert found.formula.layers[2:] == (SHARED, SHARED)
    assert found.predicted == found.bytes and found.bytes[2:] == (0, 0) and min(found.bytes[:2])


def test_float32_doubles_only_states_in_model_dtype():
    for architecture in ("llama", "qwen3_next"):
        half, single = measure(architecture), measure(architecture, torch.float32)
        assert single.predicted == single.bytes
        assert (half.bytes[0] * 2 == single.bytes[0]) == (architecture == "llama")


def test_formula_predicts_bytes_held_by_caches():
    for architecture in ("llama", "gemma3_text", "qwen3_next"):
        found = measure(architecture)
        assert found.formula.bytes_at(POSITIONS, GROWN, ROWS) == found.held


def test_windowed_layer_stops_growing_at_its_window():
    formula = formula_of(small_config("mistral"), torch.bfloat16)
    one = formula.bytes_at(1)
    assert formula.bytes_at(WINDOW - 1) == formula.bytes_at(10**6) == one * (WINDOW - 1)
    assert formula.bytes_at(10**6, IDEAL) == one * WINDOW
    assert PROMPT > WINDOW, "the caches above are full"


def test_every_number_names_its_field():
    (layer,) = {*layers_of(small_config("gpt2"))}
    (heads, size), _ = (kept.factors for kept in layer.kept)
    assert (heads.value, heads.source) == (4, "n_head")
    assert (size.value, size.source) == (8, "n_embd / n_head")


def test_explicit_head_dim_overrides_computed_size():
    config = AutoConfig.for_model("qwen3", hidden_size=1024, num_attention_heads=16, head_dim=128)
    size = layers_of(config)[0].kept[0].factors[1]
    assert (size.value, size.source) == (128, "head_dim")


@pytest.mark.parametrize(
    ("model_type", "said"),
    [("t5", "encoder-decoder"), ("rwkv", "keeps nothing of a rwkv")],
)
def test_models_without_computable_cache_are_refused(model_type, said):
    with pytest.raises(NotAModelError, match=said):
        layers_of(CONFIG_MAPPING[model_type]())


@pytest.mark.parametrize("heads", [0, -2])
def test_impossible_kv_head_count_is_named(heads):
    config = AutoConfig.for_model("llama", num_hidden_layers=2)
    config.num_key_value_heads = heads
    with pytest.raises(NotAModelError, match=f"num_key_value_heads .* got {heads}"):
        layers_of(config)


def test_per_layer_lists_of_wrong_length_are_refused():
    config = small_config("glm_moe_dsa")
    config.indexer_types = ["full"]
    with pytest.raises(NotAModelError, match="cannot be determined from its configuration"):
        layers_of(config)


def test_bytes_per_token_exclude_windows_and_states():
    formula = formula_of(small_config("deepseek_v4"), torch.bfloat16)
    far = 8 * 10**4  # a multiple of both rates
    grown = formula.bytes_at(far + 8) - formula.bytes_at(far)
    assert Fraction(grown, 8) == pytest.approx(formula.bytes_per_token, abs=1)
    assert formula_of(small_config("mamba"), torch.bfloat16).bytes_per_token == 0
