"""Tiny models with random weights, one per architecture, whose text is far from constant.

They use real code paths at toy size: transformers' own model classes. Weights are wide enough that
distributions have a shape (the usual initialisation is nearly flat). There are two layers, one of
each kind if kinds alternate. gemma3, jamba and lfm2 have more, so that a layer lies between others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
import torch
import transformers as hf

from engine.model import LanguageModel

VOCAB = 96
CONTEXT = 160
WINDOW = 16  # for sliding-window architectures: far fewer than the tokens that tests generate
HIDDEN = 32
# Ends of text would stop generate early; tests of end-of-text ids set their own.
COMMON = {
    "vocab_size": VOCAB,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
    "initializer_range": 0.4,
}
LAYERS_AND_HEADS = {
    "hidden_size": HIDDEN,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
LLAMA_LIKE = (
    COMMON
    | LAYERS_AND_HEADS
    | {
        "intermediate_size": 48,
        "num_key_value_heads": 2,
        "max_position_embeddings": CONTEXT,
        "tie_word_embeddings": False,
    }
)

CONFIGS: dict[str, Callable[[], hf.PretrainedConfig]] = {
    "gpt2": lambda: hf.GPT2Config(
        **COMMON, n_embd=HIDDEN, n_layer=2, n_head=4, n_positions=CONTEXT
    ),
    "llama": lambda: hf.LlamaConfig(**LLAMA_LIKE),
    "qwen3": lambda: hf.Qwen3Config(**LLAMA_LIKE, head_dim=8),
    "mistral": lambda: hf.MistralConfig(**LLAMA_LIKE, sliding_window=WINDOW),
    "gemma3": lambda: hf.Gemma3TextConfig(
        **LLAMA_LIKE | {"num_hidden_layers": 3},
        head_dim=8,
        sliding_window=WINDOW,
        query_pre_attn_scalar=8,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
    ),
    "gemma2": lambda: hf.Gemma2Config(
        **LLAMA_LIKE,
        head_dim=8,
        sliding_window=WINDOW,
        query_pre_attn_scalar=8,
        final_logit_softcapping=5.0,
    ),
    "gpt_neox": lambda: hf.GPTNeoXConfig(
        **COMMON, **LAYERS_AND_HEADS, intermediate_size=64, max_position_embeddings=CONTEXT
    ),
    "opt": lambda: hf.OPTConfig(
        **{key: value for key, value in COMMON.items() if key != "initializer_range"},
        init_std=0.4,
        **LAYERS_AND_HEADS,
        ffn_dim=64,
        word_embed_proj_dim=HIDDEN,
        max_position_embeddings=CONTEXT,
    ),
    "phi": lambda: hf.PhiConfig(
        **COMMON, **LAYERS_AND_HEADS, intermediate_size=64, max_position_embeddings=CONTEXT
    ),
    "bloom": lambda: hf.BloomConfig(
        **COMMON, hidden_size=HIDDEN, n_layer=2, n_head=4, tie_word_embeddings=False
    ),
    "falcon": lambda: hf.FalconConfig(
        **COMMON,
        **LAYERS_AND_HEADS,
        max_position_embeddings=CONTEXT,
        multi_query=True,
        tie_word_embeddings=False,
        new_decoder_architecture=False,
    ),
    "falcon_alibi": lambda: hf.FalconConfig(
        **COMMON,
        **LAYERS_AND_HEADS,
        max_position_embeddings=CONTEXT,
        multi_query=False,
        tie_word_embeddings=False,
        alibi=True,
        new_decoder_architecture=False,
    ),
    "mixtral": lambda: hf.MixtralConfig(**LLAMA_LIKE, num_local_experts=4, num_experts_per_tok=2),
    "mamba": lambda: hf.MambaConfig(
        **COMMON, hidden_size=HIDDEN, num_hidden_layers=2, state_size=4, conv_kernel=4
    ),
    "falcon_h1": lambda: hf.FalconH1Config(
        **LLAMA_LIKE,
        mamba_d_ssm=32,
        mamba_n_heads=4,
        mamba_d_head=8,
        mamba_n_groups=1,
        mamba_d_state=8,
        mamba_chunk_size=16,
    ),
    "bamba": lambda: hf.BambaConfig(
        **LLAMA_LIKE,
        attn_layer_indices=[1],
        mamba_n_heads=4,
        mamba_d_head=16,
        mamba_n_groups=1,
        mamba_d_state=8,
        mamba_expand=2,
        mamba_chunk_size=16,
    ),
    "jamba": lambda: hf.JambaConfig(
        **LLAMA_LIKE | {"num_hidden_layers": 4},  # with two its texts are nearly constant
        attn_layer_period=2,
        attn_layer_offset=1,
        expert_layer_period=2,
        expert_layer_offset=1,
        num_experts=2,
        num_experts_per_tok=1,
        mamba_d_state=4,
        mamba_d_conv=4,
        mamba_expand=2,
        mamba_dt_rank=4,
    ),
    "qwen3_next": lambda: hf.Qwen3NextConfig(
        **LLAMA_LIKE,
        head_dim=8,
        linear_conv_kernel_dim=4,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        num_experts=2,
        num_experts_per_tok=1,
        moe_intermediate_size=32,
        shared_expert_intermediate_size=32,
        layer_types=["linear_attention", "full_attention"],
    ),
    "lfm2": lambda: hf.Lfm2Config(
        **LLAMA_LIKE | {"num_hidden_layers": 3},
        conv_L_cache=3,  # its only state is the inputs of short convolutions
        block_multiple_of=16,
        layer_types=["conv", "full_attention", "conv"],
    ),
}
ARCHITECTURES = tuple(CONFIGS)
# One for each kind of position and state: the others are long forms (see `conftest.py`).
SOME = ("gpt2", "llama", "mistral", "gemma2", "bloom", "mamba", "falcon_h1", "lfm2")
# These caches keep more than, or something other than, a key and a value vector per position:
SLIDING = ("mistral", "gemma2", "gemma3")
RECURRENT = ("mamba", "falcon_h1", "bamba", "jamba", "qwen3_next", "lfm2")
# Wide weights make these chaotic: rounding alone makes transformers' own cached and uncached passes
# differ by more than 1e-4. So the body's weights are smaller, and only the output layer is wide.
SENSITIVE = ("mixtral", "falcon_h1", "bamba", "jamba", "qwen3_next")


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Set PyTorch's global random stream to `seed`, and restore it afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def build(
    architecture: str, seed: int = 0, dtype: torch.dtype = torch.float32, **changes: object
) -> hf.PreTrainedModel:
    """A new model with weights from `seed`; `changes` go to its configuration."""
    config = CONFIGS[architecture]()
    if architecture in SENSITIVE:
        config.initializer_range = 0.05
    for name, value in changes.items():
        setattr(config, name, value)
    with seeded(seed):
        model = hf.AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
    if architecture in SENSITIVE:
        model.get_output_embeddings().weight.data *= 8
    return model


@cache
def shared(architecture: str, seed: int = 0, dtype: torch.dtype = torch.float32) -> LanguageModel:
    """A wrapped model that many tests use; no test may change it."""
    return LanguageModel(build(architecture, seed, dtype), name=architecture)


def prompt(seed: int, length: int = 7) -> list[int]:
    """Random token ids."""
    return np.random.Generator(np.random.PCG64(seed)).integers(0, VOCAB, length).tolist()
