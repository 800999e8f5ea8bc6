"""Model folders made for a test, to be loaded and damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers as hf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from engine.model import load_model

VOCAB = 260


def tiny_tokenizer() -> hf.PreTrainedTokenizerFast:
    """One token per byte, and an end of text."""
    pieces = {piece: place for place, piece in enumerate(pre_tokenizers.ByteLevel.alphabet())}
    tokenizer = Tokenizer(models.BPE(pieces, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|end|>", "<|pad|>", "<|user|>", "<|reply|>"])
    return hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")


def tiny_config(**changes) -> hf.LlamaConfig:
    """A Llama 32 wide and two layers deep."""
    sizes = {
        "vocab_size": VOCAB,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 64,
        "bos_token_id": None,
        "eos_token_id": 256,
        "pad_token_id": None,
        "tie_word_embeddings": False,
    }
    return hf.LlamaConfig(**(sizes | changes))


def tiny_model(**changes) -> hf.LlamaForCausalLM:
    """That Llama with new weights."""
    torch.manual_seed(1)
    return hf.LlamaForCausalLM(tiny_config(**changes))


def edit_json(path: Path, **changes) -> None:
    """Change fields of a JSON file; `...` removes one."""
    data = json.loads(path.read_text("utf-8")) | changes
    data = {name: value for name, value in data.items() if value is not ...}
    path.write_text(json.dumps(data), "utf-8")


def fails(kind: type[Exception], source: object, *parts: str, **arguments) -> str:
    """Check that `load_model` fails in exactly this way, and return the message."""
    with pytest.raises(kind) as caught:
        load_model(source, **arguments)
    message = str(caught.value)
    assert type(caught.value) is kind, f"a {kind.__name__} was expected: {caught.value!r}"
    for part in parts:
        assert part in message, f"{message!r} does not say {part!r}"
    assert message.endswith(".") and "\n" not in message and ";" in message, (
        f"not one sentence with a remedy: {message!r}"
    )
    return message


class Opened:
    """An object that leaves a mark when unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def canary(path: Path) -> None:
    """Write a pickle that creates the file ``opened`` next to it when opened."""
    torch.save({"weight": Opened(path.parent / "opened")}, path)
