"""Export of a checkpoint to the folder that `transformers` loads as `Qwen3ForCausalLM`.

A masked diffusion model is stored in the same form. Its configuration says `is_causal: false`, and
its tokenizer has one additional token, the mask. `engine.decoding.diffusion` opens it.
"""

import os
import shutil
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, Qwen3Config

from models.training.network import Network
from models.training.sizes import Architecture
from models.training.tokenizer import END_OF_TEXT_ID, MASK, PAD_ID, save_tokenizer
from models.training.train import LOG, checkpoint_tokens

WEIGHTS = "model.safetensors"


def export(checkpoint: Path, log: Path, tokenizer: Path, output: Path) -> float:
    """Replace `output` with an export of a checkpoint of `train`, its log and a tokenizer folder.

    The new folder is complete, reloaded and compared before it replaces the old one. So a reader
    finds either the old model or the new one.

    Returns:
        The largest difference between the logits of the training network and of the reloaded
        export, both in bfloat16: rounding only.
    """
    state = torch.load(checkpoint, map_location="cpu", weights_only=True)
    network = Network(Architecture(**state["architecture"]))
    network.load_state_dict(state["network"])

    output.parent.mkdir(parents=True, exist_ok=True)
    fresh = output.with_name(f".{output.name}.new-{os.getpid()}")
    fresh.mkdir()
    try:
        _write(fresh, network, checkpoint_tokens(checkpoint), tokenizer)
        shutil.copy(log, fresh / LOG)
        difference = _logit_difference(network, fresh)
        if difference > 0.5:
            raise ValueError(f"the export's logits differ from training by {difference:.2f}")
        stale = output.with_name(f".{output.name}.old-{os.getpid()}")
        if output.exists():
            os.rename(output, stale)
        os.rename(fresh, output)
        shutil.rmtree(stale, ignore_errors=True)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return difference


def exported_weights(folder: Path) -> dict[str, Tensor]:
    """Load the weights of an export under the names of `Network`."""
    return {
        name.removeprefix("model."): value.float()
        for name, value in load_file(folder / WEIGHTS).items()
    }


def exported_tokens(folder: Path) -> int:
    """Return the number of tokens that an export was trained on; -1 if it is not recorded."""
    with safe_open(folder / WEIGHTS, framework="pt") as file:
        return int((file.metadata() or {}).get("training_tokens", -1))


def _write(folder: Path, network: Network, tokens: int, tokenizer: Path) -> None:
    shape = network.shape
    config = Qwen3Config(
        architectures=["Qwen3ForCausalLM"],
        dtype="bfloat16",
        vocab_size=shape.vocab_size,
        hidden_size=shape.hidden_size,
        num_hidden_layers=shape.num_hidden_layers,
        num_attention_heads=shape.num_attention_heads,
        num_key_value_heads=shape.num_key_value_heads,
        head_dim=shape.head_dim,
        intermediate_size=shape.intermediate_size,
        max_position_embeddings=shape.max_position_embeddings,
        rms_norm_eps=shape.rms_norm_eps,
        rope_parameters={"rope_type": "default", "rope_theta": shape.rope_theta},
        tie_word_embeddings=True,
        bos_token_id=END_OF_TEXT_ID,
        eos_token_id=END_OF_TEXT_ID,
        pad_token_id=PAD_ID,
    )
    if not shape.is_causal:
        config.is_causal = False
        config.mask_token_id = shape.vocab_size - 1
    config.save_pretrained(folder)
    if shape.is_causal:
        # No sampling defaults: the caller sets temperature and samplers explicitly.
        GenerationConfig(
            bos_token_id=END_OF_TEXT_ID, eos_token_id=END_OF_TEXT_ID, pad_token_id=PAD_ID
        ).save_pretrained(folder)
    # The tied output head is left out, as save_pretrained does; loading ties it again.
    weights = {f"model.{name}": value.bfloat16() for name, value in network.state_dict().items()}
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt", "training_tokens": str(tokens)})
    (folder / WEIGHTS).chmod(0o644)  # the safetensors library makes it readable by its owner only
    if shape.is_causal:
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(tokenizer / name, folder / name)
    else:
        masking = AutoTokenizer.from_pretrained(tokenizer)
        masking.add_special_tokens({"mask_token": MASK})
        assert masking.mask_token_id == shape.vocab_size - 1
        save_tokenizer(masking, folder)


@torch.inference_mode()
def _logit_difference(network: Network, folder: Path) -> float:
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    assert model.dtype == torch.bfloat16
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
    ids = tokenizer("Once upon a time there was a king of France.", return_tensors="pt").input_ids
    ids = torch.cat([torch.full_like(ids[:, :1], END_OF_TEXT_ID), ids], dim=1)
    # Also passed to the attention itself: without a mask it would use its own default.
    logits = model(ids, use_cache=False, is_causal=network.shape.is_causal).logits
    return (logits.float() - network.logits(ids).float()).abs().max().item()
