"""A small configuration for every text-generation architecture of transformers.

Values are small enough that a model is built and run in a second. Every window, chunk and switch
lies well below the number of tokens that tests read.
"""

from __future__ import annotations

import torch
from transformers import (
    CONFIG_MAPPING,
    AutoModelForCausalLM,
    GenerationConfig,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from tests.engine.tiny_models import seeded

VOCAB = 64
WINDOW = 12
SWITCH = 32  # where longrope changes from short to long factors
CONTEXT = 128

MODEL_TYPES = tuple(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)

# Replaces the default in every configuration with a key of this name.
_NAMES = {
    VOCAB: "vocab_size",
    CONTEXT: "max_position_embeddings n_positions n_ctx max_seq_len",
    32: "hidden_size d_model n_embd emb_dim embedding_size",
    48: "intermediate_size ffn_dim encoder_ffn_dim decoder_ffn_dim ffn_hidden_size",
    WINDOW: "sliding_window sliding_window_size attention_chunk_size local_attention"
    " keep_window_size attention_window_size",
    16: "moe_intermediate_size shared_expert_intermediate_size shared_experts_intermediate_size"
    " shared_intermediate_size expert_ffn_hidden_size q_lora_rank kv_lora_rank qk_head_dim"
    " index_head_dim mamba_chunk_size chunk_size"
    " index_n_heads",  # with few heads, all are often zero at once: ties, which rounding decides
    8: "head_dim kv_channels qk_rope_head_dim qk_nope_head_dim v_head_dim index_topk"
    " linear_key_head_dim linear_value_head_dim mamba_d_state mamba_n_heads mamba_d_head state_size"
    " query_pre_attn_scalar rotary_dim",
    4: "num_attention_heads num_heads n_head n_heads encoder_attention_heads"
    " decoder_attention_heads num_encoder_attention_heads num_decoder_attention_heads num_experts"
    " num_local_experts n_routed_experts moe_num_experts linear_num_value_heads mamba_dt_rank"
    " time_step_rank",
    2: "num_hidden_layers num_layers n_layer n_layers decoder_layers encoder_layers"
    " num_decoder_layers num_encoder_layers num_key_value_heads num_experts_per_tok"
    " num_experts_per_token moe_topk moe_k linear_num_key_heads mamba_expand expand"
    " type_vocab_size",
    1: "n_group topk_group num_expert_group first_k_dense_replace mamba_n_groups max_window_layers",
    0: "num_nextn_predict_layers num_kv_shared_layers",
}
SMALL: dict[str, object] = {"dropout": 0.0}
SMALL |= {name: size for size, names in _NAMES.items() for name in names.split()}


def _longrope(size: int) -> dict[str, object]:
    return {
        "original_max_position_embeddings": SWITCH,
        "rope_parameters": {
            "rope_type": "longrope",
            "rope_theta": 10_000.0,
            "short_factor": [1.0] * size,
            "long_factor": [4.0] * size,
            "short_mscale": 1.0,
            "long_mscale": 1.2,
            "original_max_position_embeddings": SWITCH,
        },
    }


_BLT_PART = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "hidden_size_global": 64,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 8,
    "max_position_embeddings": CONTEXT,
    "sliding_window": WINDOW,
}
_INDEXER = {
    "layer_types": ["linear_attention", "indexed_attention"],
    "indexer_n_heads": 2,
    "indexer_kv_heads": 1,
    "indexer_head_dim": 8,
    "indexer_budget": 8,
    "indexer_compress_ratio": 2,
}

# Additions for single architectures: sizes that depend on each other, keys of different names.
CHANGES: dict[str, dict[str, object]] = {
    "bamba": {"attn_layer_indices": [1]},
    "blt": {
        "encoder_hash_byte_group_vocab": 64,
        "encoder_hash_byte_group_size": [3, 4],
        "patcher_config": {k: v for k, v in _BLT_PART.items() if k != "hidden_size_global"},
        "encoder_config": {k: v for k, v in _BLT_PART.items() if k != "head_dim"},
        "decoder_config": {k: v for k, v in _BLT_PART.items() if k != "head_dim"},
        "global_config": {
            k: 64 if k == "hidden_size" else v
            for k, v in _BLT_PART.items()
            if k not in ("vocab_size", "head_dim", "hidden_size_global")
        },
    },
    "cohere_compass_text": {
        "layer_types": ["sliding_attention", "full_attention"],
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0},
            "full_attention": {"rope_type": "default", "rope_theta": 10_000.0},
        },
    },
    "dbrx": {
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8, "rope_theta": 10_000.0},
        "ffn_config": {
            "hidden_size": 32,
            "ffn_hidden_size": 16,
            "moe_num_experts": 4,
            "moe_top_k": 2,
        },
    },
    "deepseek_v4": {
        "layer_types": ["heavily_compressed_attention", "compressed_sparse_attention"],
        "mlp_layer_types": ["hash_moe", "moe"],
        "compress_rates": {"compressed_sparse_attention": 4, "heavily_compressed_attention": 8},
        "num_key_value_heads": 1,
        "qk_rope_head_dim": 8,
        "head_dim": 16,
        "o_groups": 2,
        "o_lora_rank": 8,
    },
    "dots1": {"n_shared_experts": 1, "layer_types": ["full_attention", "sliding_attention"]},
    "dots3_note_text": {"num_key_value_heads": 4, "head_dim": 16, "per_layer_config": {}},
    "falcon_h1": {"mamba_d_ssm": 32, "mamba_n_heads": 4},
    "gemma3n_text": {
        "hidden_size_per_layer_input": 8,
        "laurel_rank": 8,
        "intermediate_size": 48,
        "activation_sparsity_pattern": [0.5, 0.0],
        "vocab_size_per_layer_input": VOCAB,
    },
    "gemma4": {"hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": VOCAB},
    "gemma4_text": {"hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": VOCAB},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "window_size": WINDOW},
    "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"]},
    "jamba": {
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "expert_layer_period": 2,
        "expert_layer_offset": 1,
    },
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "mamba2": {"num_heads": 8, "head_dim": 8, "n_groups": 1},
    "minimax_m3_vl_text": {
        "layer_types": ["full_attention", "minimax_m3_sparse"],
        "head_dim": 16,
        "index_n_heads": 2,
        "index_block_size": 4,
        "index_topk_blocks": 2,
        "index_local_blocks": 1,
    },
    "nemotron_h": {
        "layers_block_type": ["linear_attention", "full_attention", "moe", "mlp"],
        "mamba_num_heads": 8,
        "mamba_head_dim": 8,
        "ssm_state_size": 8,
        "n_groups": 1,
    },
    "phi3": _longrope(4),
    "phimoe": _longrope(4),
    "phi4_multimodal": _longrope(4)
    | {
        "vision_config": {
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 28,
            "crop_size": 28,
        },
        "audio_config": {
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_blocks": 1,
            "num_attention_heads": 2,
            "ext_pw_out_channel": 32,
            "depthwise_separable_out_channel": 32,
            "nemo_conv_channels": 8,
        },
    },
    "prophetnet": {"add_cross_attention": False, "is_decoder": True},
    "qwen4_exp": _INDEXER,
    "qwen4_exp_text": _INDEXER,
    "recurrent_gemma": {"num_hidden_layers": 3, "lru_width": 32},
    "reformer": {
        "is_decoder": True,
        "axial_pos_shape": [8, 16],
        "axial_pos_embds_dim": [16, 16],
        "attn_layers": ["local", "lsh"],
        "attention_head_size": 8,
        "feed_forward_size": 48,
        "local_attn_chunk_length": 16,
        "lsh_attn_chunk_length": 16,
        "num_buckets": 4,
    },
    "xlstm": {"embedding_dim": 32, "num_blocks": 2, "ffn_round_up_to_multiple_of": 8},
    "xmod": {"default_language": "en_XX"},
    "zamba": {
        "num_hidden_layers": 4,
        "layers_block_type": ["linear_attention", "hybrid", "linear_attention", "hybrid"],
        "attention_hidden_size": 64,
        "attention_head_dim": 16,
        "num_key_value_heads": 4,
    },
    "zamba2": {
        "num_hidden_layers": 3,
        "layers_block_type": ["linear_attention", "hybrid", "linear_attention"],
        "mamba_ngroups": 1,
        "num_key_value_heads": 4,
        "mamba_headdim": 8,
        "attention_head_dim": 16,
        "attention_hidden_size": 64,
    },
    "zaya": {"num_experts_per_tok": 1, "router_hidden_size": 16},
}
# Special tokens: inside the small vocabulary, and None only if the default is None.
_SPECIAL = [
    *("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id"),
    *("forced_eos_token_id", "mask_token_id", "cls_token_id", "sep_token_id", "eod_token_id"),
]


def small_config(model_type: str) -> PretrainedConfig:
    """The configuration of a model that is built in well under a second."""
    kind = CONFIG_MAPPING[model_type]
    usual = kind()
    text = usual.get_text_config(decoder=True)
    values = {}
    if text is not usual and type(text) is not kind:
        name = next(name for name in usual.sub_configs if getattr(usual, name, None) is text)
        values[name] = _small(text, model_type)
    else:
        values = _small(usual, model_type)
    return kind(**values)


def _small(usual: PretrainedConfig, model_type: str) -> dict[str, object]:
    known = usual.to_dict()
    values = {name: value for name, value in SMALL.items() if name in known}
    for name in ("layer_types", "mlp_layer_types", "layers_block_type"):
        kinds = known.get(name)
        if isinstance(kinds, list) and kinds:
            different = list(dict.fromkeys(kinds))
            values[name] = (different * 2)[: max(2, len(different))]
    layers = max(
        [2, *(len(values[name]) for name in ("layer_types", "mlp_layer_types") if name in values)]
    )
    for name in ("layer_types", "mlp_layer_types", "layers_block_type"):
        if name in values:
            values[name] = (values[name] * layers)[:layers]
    for name in ("num_hidden_layers", "n_layer", "n_layers", "num_layers"):
        if name in values:
            values[name] = layers
    for name in ("initializer_range", "init_std"):
        if name in known:
            values[name] = 0.2
    for i, name in enumerate(_SPECIAL):
        if isinstance(known.get(name), int):
            values[name] = i
    if "qk_nope_head_dim" in values and "num_key_value_heads" in values:
        values["num_key_value_heads"] = values["num_attention_heads"]  # latent attention
    return values | CHANGES.get(model_type, {})


def build(model_type: str, seed: int = 0) -> PreTrainedModel:
    """A new model in float32, with weights from `seed`, that never ends a text by itself."""
    config = small_config(model_type)
    with seeded(seed):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    for part in (model.config, model.config.get_text_config(decoder=True)):
        if hasattr(part, "eos_token_id"):
            object.__setattr__(part, "eos_token_id", None)  # some configurations refuse None
    model.generation_config = GenerationConfig(pad_token_id=0)
    return model
