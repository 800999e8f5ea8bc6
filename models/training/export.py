"""From a checkpoint to the folder that `transformers` loads as `Qwen3ForCausalLM`."""

import os
import shutil
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, Qwen3Config

from models.training.network import Decoder
from models.training.sizes import Architecture
from models.training.tokenizer import END_OF_TEXT_ID, PAD_ID

WEIGHTS = "model.safetensors"


def export(checkpoint: Path, tokenizer: Path, output: Path) -> float:
    """Write `output` anew from a checkpoint of `train` and a tokenizer folder.

    The new folder is complete, and has been loaded and compared, before it takes the old one's
    place, so that a reader finds either the old model or the new one.

    Returns:
        The largest difference between logits of the training network and of the reloaded export,
        both in bfloat16: rounding only.
    """
    state = torch.load(checkpoint, map_location="cpu", weights_only=True)
    shape = Architecture(**state["architecture"])
    network = Decoder(shape)
    network.load_state_dict(state["network"])

    output.parent.mkdir(parents=True, exist_ok=True)
    fresh = output.with_name(f".{output.name}.new-{os.getpid()}")
    fresh.mkdir()
    try:
        _write(fresh, network, state["progress"]["step"], tokenizer)
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


def exported_step(output: Path) -> int | None:
    """The training step of the weights in `output`, or None where there are none."""
    if not (output / WEIGHTS).exists():
        return None
    with safe_open(output / WEIGHTS, framework="pt") as file:
        return int((file.metadata() or {}).get("training_step", -1))


def _write(folder: Path, network: Decoder, step: int, tokenizer: Path) -> None:
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
    config.save_pretrained(folder)
    # No sampling defaults: whoever generates chooses temperature and filters in the open.
    GenerationConfig(
        bos_token_id=END_OF_TEXT_ID, eos_token_id=END_OF_TEXT_ID, pad_token_id=PAD_ID
    ).save_pretrained(folder)
    # The tied output head is left out, as save_pretrained does; loading ties it again.
    weights = {f"model.{name}": value.bfloat16() for name, value in network.state_dict().items()}
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt", "training_step": str(step)})
    (folder / WEIGHTS).chmod(0o644)  # the safetensors library leaves it to its owner alone
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tokenizer / name, folder / name)


@torch.inference_mode()
def _logit_difference(network: Decoder, folder: Path) -> float:
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    assert model.dtype == torch.bfloat16
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
    ids = tokenizer("Once upon a time there was a king of France.", return_tensors="pt").input_ids
    ids = torch.cat([torch.full_like(ids[:, :1], END_OF_TEXT_ID), ids], dim=1)
    return (model(ids).logits.float() - network.logits(ids).float()).abs().max().item()
