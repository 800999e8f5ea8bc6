"""A real llama.cpp server for tests, with a bundled model as a GGUF file in float32."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import gguf
import numpy as np
import pytest
from safetensors import safe_open

# Of one process: the server's address on its first line, its end when the input is closed.
PROGRAM = """
import sys, xllamacpp
given = xllamacpp.CommonParams()
given.model.path = sys.argv[1]
given.n_ctx, given.n_parallel, given.n_batch = int(sys.argv[3]), int(sys.argv[5]), 512
given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
# By default llama.cpp rounds keys, values and queries to float16.
given.cache_type_k = given.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
given.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
given.hostnames, given.port = ["127.0.0.1"], int(sys.argv[2])
given.endpoint_metrics, given.warmup = True, True
if sys.argv[4]:
    given.api_keys = [sys.argv[4]]
if sys.argv[6]:
    kinds = xllamacpp.common_speculative_type
    given.speculative.types = [kinds.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE]
    given.speculative.draft.mparams.path = sys.argv[6]
    given.speculative.draft.n_max, given.speculative.draft.p_min = 4, 0.0
server = xllamacpp.Server(given)
print("at", server.listening_address, flush=True)
sys.stdin.read()
"""
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


class LlamaServer:
    """A server in a process of its own, for use with ``with``; without one, the test is skipped.

    Args:
        draft: a smaller model, which proposes 4 tokens in each round.

    Attributes:
        address: its address.
        model: the file that it loads when it starts.
    """

    def __init__(
        self,
        model: Path,
        *,
        key: str = "",
        context: int = 4096,
        slots: int = 4,
        draft: Path | None = None,
    ) -> None:
        self.model, self._key, self._context, self._slots = model, key, context, slots
        self._draft, self._port = draft or "", 0
        self.start()

    def start(self) -> None:
        """Start it; again at the same address if it was killed."""
        given = [self.model, self._port, self._context, self._key, self._slots, self._draft]
        log = self.model.with_suffix(".log")
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *map(str, given)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        lines = (line.split() for line in self._process.stdout)
        self.address = next((line[1] for line in lines if line[:1] == ["at"]), "")
        if not self.address:
            self.kill()
            said = log.read_text()[-2_000:]
            if self._process.returncode == -signal.SIGILL or "ImportError" in said:
                pytest.skip(f"xllamacpp cannot run on this machine: {said[-200:]}")
            raise RuntimeError(f"the server ended: {said}")
        self._port = int(self.address.rpartition(":")[2])

    def kill(self) -> None:
        """Kill it as a crash would."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def write_gguf(folder: Path, file: Path) -> Path:
    """Write a bundled model as GGUF in float32; return the file."""
    config = json.loads((folder / "config.json").read_text())
    tokenizer = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    writer = gguf.GGUFWriter(file, "qwen3")
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
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    _add_tokenizer(writer, tokenizer, config)
    with safe_open(folder / "model.safetensors", "pt") as weights:
        for name in weights.offset_keys():
            writer.add_tensor(_name(name), weights.get_tensor(name).float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def _add_tokenizer(
    writer: gguf.GGUFWriter, tokenizer: dict[str, Any], config: dict[str, Any]
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
    merges = tokenizer["model"]["merges"]
    writer.add_token_merges([each if isinstance(each, str) else " ".join(each) for each in merges])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_add_bos_token(False)


def _name(tensor: str) -> str:
    stem = tensor.removesuffix(".weight")
    if stem in OUTER:
        return f"{OUTER[stem]}.weight"
    _, _, layer, part = stem.split(".", 3)
    return f"blk.{layer}.{INNER[part]}.weight"
