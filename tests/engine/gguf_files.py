"""The bundled models as GGUF files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from safetensors import safe_open

# Names of the tensors of Qwen3 in GGUF.
OUTER = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
INNER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write_gguf(
    folder: Path,
    file: Path,
    kind: str = "F32",
    *,
    merges: bool = True,
    most_tensors: int = 0,
    more: Callable[[gguf.GGUFWriter], None] = lambda writer: None,
) -> Path:
    """Write a bundled model as a GGUF file; return the file.

    Args:
        folder: the model's folder.
        file: the file.
        kind: quantisation of the matrices, a name in `gguf.GGMLQuantizationType`; rows that do not
            consist of whole blocks are written in float16.
        merges: whether to write those of the tokenizer.
        most_tensors: of a part, if the file is to be split; 0 for a whole file.
        more: writes further values.
    """
    config = json.loads((folder / "config.json").read_text())
    tokenizer = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    writer = gguf.GGUFWriter(file, "qwen3", split_max_tensors=most_tensors)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    wanted = gguf.GGMLQuantizationType[kind]
    file_type = {"F32": "ALL_F32"}.get(kind, f"MOSTLY_{kind}")
    if file_type in gguf.LlamaFileType.__members__:
        writer.add_file_type(gguf.LlamaFileType[file_type])
    _add_tokenizer(writer, tokenizer, config, merges=merges)
    more(writer)
    with safe_open(folder / "model.safetensors", "pt") as weights:
        for name in weights.offset_keys():
            values = weights.get_tensor(name).float().numpy()
            if values.ndim == 1 or kind == "F32":
                writer.add_tensor(gguf_name(name), values)
                continue
            block, _ = gguf.GGML_QUANT_SIZES[wanted]
            own = wanted if values.shape[-1] % block == 0 else gguf.GGMLQuantizationType.F16
            writer.add_tensor(gguf_name(name), gguf.quants.quantize(values, own), raw_dtype=own)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def _add_tokenizer(
    writer: gguf.GGUFWriter, tokenizer: dict[str, Any], config: dict[str, Any], *, merges: bool
) -> None:
    size = config["vocab_size"]
    tokens = [f"[PAD{each}]" for each in range(size)]
    kinds = np.full(size, gguf.TokenType.UNUSED)
    for token, each in tokenizer["model"]["vocab"].items():
        tokens[each], kinds[each] = token, gguf.TokenType.NORMAL
    for added in tokenizer["added_tokens"]:
        tokens[added["id"]], kinds[added["id"]] = added["content"], gguf.TokenType.CONTROL
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")  # single digits are not split, as the model's own does
    writer.add_token_list(tokens)
    writer.add_token_types([int(kind) for kind in kinds])
    if merges:
        pairs = tokenizer["model"]["merges"]
        writer.add_token_merges(
            [each if isinstance(each, str) else " ".join(each) for each in pairs]
        )
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_add_bos_token(False)


def gguf_name(tensor: str) -> str:
    """Return a tensor's name in a GGUF file."""
    stem = tensor.removesuffix(".weight")
    if stem in OUTER:
        return f"{OUTER[stem]}.weight"
    _, _, layer, part = stem.split(".", 3)
    return f"blk.{layer}.{INNER[part]}.weight"
