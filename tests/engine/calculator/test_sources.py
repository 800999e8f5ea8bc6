"""Configurations from many sources, the weights they imply, and published sizes."""

import json
import sys
from types import SimpleNamespace

import pytest

from engine.calculator.cards import known_cards
from engine.calculator.published import published_sizes
from engine.calculator.shapes import known_shapes
from engine.calculator.sources import Described
from engine.calculator.storages import WEIGHT_STORAGES, declared_storage
from engine.calculator.weights import HALF, count_weights, estimate
from engine.errors import ModelNotFoundError, NotAModelError, RemoteCodeError
from engine.model.cache_layers import formula_of
from engine.model.loading.checkpoint import BUNDLED_FOLDER
from tests.bundled import bundled

LLAMA = {
    **{"model_type": "llama", "vocab_size": 100, "hidden_size": 32, "intermediate_size": 64},
    **{"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2},
}
SHORT = LLAMA | {"max_position_embeddings": 64}


@pytest.mark.parametrize("name", [name for name, one in known_shapes().items() if one.parameters])
def test_weight_counts_match_published_counts(name):
    weights = count_weights(name, Described.named(name).config)
    assert weights.total == known_shapes()[name].parameters


@pytest.mark.parametrize(
    ("name", "billions"),  # rounded as in the model cards; gpt-oss counts no embedding
    [("Qwen3 235B-A22B", 22), ("Qwen3 30B-A3B", 3.3), ("gpt-oss 120B", 5.1), ("Jamba v0.1", 12)],
)
def test_active_weights_match_published_counts(name, billions):
    weights = count_weights(name, Described.named(name).config)
    active = weights.active + (0 if name.startswith("gpt") else weights.unread)
    assert round(active / 1e9, 1 if billions % 1 else 0) == pytest.approx(billions, abs=0.11)


def test_checkpoint_size_matches_published_size():
    """Compare with the gpt-oss model card (2025), table 1."""
    for name, gibibytes in ("gpt-oss 20B", 12.8), ("gpt-oss 120B", 60.8):
        weights = count_weights(name, Described.named(name).config)
        assert round(weights.bytes(WEIGHT_STORAGES["experts in MXFP4"]) / 2**30, 1) == gibibytes


def test_tables_norms_and_biases_stay_in_16_bits():
    weights = count_weights("Llama 3.1 8B", Described.named("Llama 3.1 8B").config)
    assert weights.tables == 2 * 128_256 * 4_096 == 2 * weights.unread
    assert weights.vectors == 65 * 4_096
    quantised = (weights.total - weights.tables - weights.vectors) * (4 + 20 / 128) / 8
    rest = 2 * (weights.tables + weights.vectors)
    assert weights.bytes(WEIGHT_STORAGES["4-bit"]) == pytest.approx(quantised + rest, abs=1)


def test_weight_storage_is_read_from_config():
    for name, stored in (
        ("gpt-oss 20B", "experts in MXFP4"),
        ("DeepSeek V3", "fp8"),
        ("Llama 3.1 8B", "bfloat16 or float16"),
    ):
        assert estimate(Described.named(name)).declared == stored


def compressed(bits: int, kind: str, **group) -> dict:
    """Config groups as compressed-tensors writes them."""
    weights = {"weights": {"num_bits": bits, "type": kind}}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group | weights}}


@pytest.mark.parametrize(
    ("method", "more", "stored"),
    [
        ("bitsandbytes", {"load_in_4bit": True, "load_in_8bit": False}, "4-bit"),
        ("bitsandbytes", {"load_in_8bit": True}, "int8"),
        ("gptq", {"bits": 8, "group_size": 128}, "int8"),
        ("gptq", {"bits": 3}, "3-bit"),
        ("auto-round", {"bits": 2}, "2-bit"),
        ("", compressed(4, "int", input_activations={"num_bits": 8, "type": "float"}), "4-bit"),
        ("", compressed(8, "float"), "fp8"),
        ("modelopt", {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}, "4-bit"),
        ("hqq", {"quant_config": {"weight_quant_params": {"nbits": 4}}}, "4-bit"),
        ("torchao", {"quant_type": "int8_dynamic_activation_int4_weight"}, "4-bit"),
        ("quanto", {"weights": "float8", "activations": "int4"}, "fp8"),
        ("bitnet", {}, "2-bit"),
        ("aqlm", {"nbits_per_codebook": 16, "num_codebooks": 1, "in_group_size": 8}, "2-bit"),
    ],
)
def test_quantised_weights_use_the_declared_bits(method, more, stored):
    declared = SimpleNamespace(quantization_config={"quant_method": method} | more)
    assert declared_storage(declared) == (stored, ())


@pytest.mark.parametrize(
    "quantised", [{"quant_method": "new"}, {"quant_method": "gptq", "bits": 5}]
)
def test_unknown_quantisation_counts_as_16_bits_with_notice(quantised):
    stored, notices = declared_storage(SimpleNamespace(quantization_config=quantised))
    assert stored == "bfloat16 or float16"
    assert len(notices) == 1 and quantised["quant_method"] in notices[0]


LLAMA_3 = {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}


@pytest.mark.parametrize(
    ("scaling", "context"),
    [
        ({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}, 256),
        ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}, 64),
        ({"type": "linear", "factor": 2}, 128),
        ({"rope_type": "dynamic", "factor": 1.5}, 96),
        (LLAMA_3 | {"factor": 8.0, "original_max_position_embeddings": 32}, 64),
    ],
    ids=["yarn", "yarn, long length stated", "linear", "dynamic", "llama3"],
)
def test_scaled_positions_lengthen_the_context(scaling, context):
    described = Described.pasted(json.dumps(SHORT | {"rope_scaling": scaling}))
    assert estimate(described).context_length == context


def test_scaling_some_layers_keeps_the_declared_context():
    gemma = SHORT | {"model_type": "gemma3_text", "head_dim": 16}
    described = Described.pasted(
        json.dumps(gemma | {"rope_scaling": {"rope_type": "linear", "factor": 8}})
    )
    assert estimate(described).context_length == 64


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"num_layers": -3}, "num_layers is -3"),
        ({"num_hidden_layers": 10**6}, "num_hidden_layers is 1,000,000"),
        ({"num_attention_heads": 10**9}, "num_attention_heads is"),
        ({"vocab_size": 10**15}, "vocab_size is 1,000,000,000,000,000"),
        ({"hidden_size": "wide"}, "describes no model|builds no"),
        ({"decoder": {}}, "has a text_config, decoder or generator"),
        ({"decoder": {}, "text_config": {}}, "describes no model that transformers knows"),
    ],
    ids=str,
)
def test_config_without_layers_or_with_foreign_part_fails(change, said):
    with pytest.raises(NotAModelError, match=said):
        estimate(Described.pasted(json.dumps(LLAMA | change)))


@pytest.mark.parametrize(
    "figure", published_sizes(), ids=lambda figure: f"{figure.shape} {figure.value}"
)
def test_formula_matches_published_cache_sizes(figure):
    formula = formula_of(Described.named(figure.shape).config, HALF)
    assert figure.agrees(formula), f"{figure.ours(formula)} here"


def test_published_figures_cards_and_shapes_cite_sources():
    assert all(card.gigabytes > 0 < card.bandwidth for card in known_cards().values())
    for one in (*published_sizes(), *known_cards().values(), *known_shapes().values()):
        assert one.source and one.address.startswith("https://") and one.checked
        assert one.address in one.cited and str(one.checked.year) in one.cited


def test_bundled_model_estimate_matches_loaded_model():
    loaded = bundled()
    computed = estimate(Described.in_folder(BUNDLED_FOLDER))
    assert computed.weights.total == loaded.parameters
    assert computed.weights.bytes_read(WEIGHT_STORAGES["float32"]) == pytest.approx(
        4 * loaded.read_bytes / loaded.dtype.itemsize
    )
    assert computed.context_length == loaded.context_length


def test_a_pasted_text_is_read_like_a_file(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    one = estimate(Described.pasted(json.dumps(LLAMA)))
    other = estimate(Described.in_folder(tmp_path))
    assert one.formula == other.formula and one.weights == other.weights
    assert one.formula.bytes_per_token == 2 * 2 * 2 * 8 * 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not valid JSON"),
        ("[1, 2]", "has no model_type"),
        ('{"model_type": "nothing"}', "describes no model that transformers knows"),
        ('{"model_type": "vit"}', "cannot build a causal language model"),
        ("[" * 100_000, "is not valid JSON"),
        ('{"model_type": "llama", "x": "' + "y" * 1_000_000 + '"}', "at most 1 MB"),
    ],
)
def test_invalid_model_configs_are_refused(text, said):
    with pytest.raises(NotAModelError, match=said):
        estimate(Described.pasted(text))


def test_custom_code_in_config_is_not_run():
    auto_map = {"AutoConfig": "stranger.Config", "AutoModelForCausalLM": "stranger.Model"}
    with pytest.raises(RemoteCodeError, match="is not run"):
        Described.pasted(json.dumps({"model_type": "stranger", "auto_map": auto_map}))
    assert "stranger" not in sys.modules


def test_missing_folder_and_uncached_hub_id_are_refused():
    for folder in ("", "no/such/folder"):
        with pytest.raises(ModelNotFoundError, match="no folder"):
            Described.in_folder(folder)
    for hub_id in ("owner/never-fetched", "no id at all", ""):
        with pytest.raises(ModelNotFoundError, match="hub's cache"):
            Described.in_hub_cache(hub_id)
