"""Models with a large vocabulary but otherwise small: the page's work takes most of the time."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast, Qwen3Config
from transformers.utils import logging as transformers_logging

from benchmarks.measures.models import random_model

BUNDLED = "bundled"
LARGE = {"152k-bf16": torch.bfloat16, "152k-f32": torch.float32}
NAMES = (BUNDLED, *LARGE)
VOCABULARY = 151_936  # as in Qwen3


def save_model(name: str, folder: Path) -> str:
    """Save random weights and a word tokenizer in a folder, with which the app is started."""
    transformers_logging.disable_progress_bar()
    words = {f"w{number}": number for number in range(VOCABULARY)}
    backend = Tokenizer(WordLevel(words, unk_token="w0"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=backend).save_pretrained(folder)
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
    )
    model = random_model(config, LARGE[name], "cpu")
    model.generation_config.eos_token_id = None
    model.save_pretrained(folder)
    return str(folder)
