"""Token texts that break pages, and a tiny model that has them as its vocabulary."""

import tokenizers
import torch
import transformers

END = "<|end|>"
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<b>bold</b>",
    "&lt;i&gt; &amp; &#65;",
    "$x$",
    "**b**",
    "`code`",
    ":red[r]",
    ":material/add:",
    "[link](javascript:alert(1))",
    "\u202eright to left\u202c",
    "שלום",
    "\u200b",
    "\u200d\ufeff",
    "\u0301",
    "\u3164",
    "\x00\x07",
    "\r\n",
    "\t",
    " ",
    "🙂",
    '" onmouseover="alert(1)',
    "'",
    "w" * 300,
]
VOCAB = [END, *HOSTILE, *(f"w{number}" for number in range(64 - len(HOSTILE) - 1))]


def tokenizer() -> transformers.PreTrainedTokenizerFast:
    """Return a tokenizer that splits at `|`, so that every entry can be typed."""
    words = tokenizers.models.WordLevel({word: i for i, word in enumerate(VOCAB)}, unk_token=END)
    backend = tokenizers.Tokenizer(words)
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Split("|", "removed")
    backend.decoder = tokenizers.decoders.ByteFallback()  # pieces are text without conversion
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=END)


def language_model(
    context: int = 48, end: int | None = None, seed: int = 5
) -> transformers.PreTrainedModel:
    """A tiny Llama over `VOCAB`; its wide weights give distributions with a shape."""
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=len(VOCAB),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        initializer_range=0.4,
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=None,
    )
    return transformers.LlamaForCausalLM(config)


def save(folder, **kwargs) -> str:
    """Save a folder that the page can load."""
    language_model(**kwargs).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return str(folder)
