"""Find, check and load models, and run their forward passes.

load               `load_model`: from a name to a model
loading/           its steps: folder, hub, files, checks
loaded             base of every model: weights, tokenizer, device
forward            result of a pass: a row of scores, or only the highest
language_model     `LanguageModel`: forward passes of a causal language model
diffusion_model    `DiffusionModel`: forward passes over a canvas
probe              checks of a model: same logits as `generate`, chunked prefill, cache limits
cache              operations on a model's cache: create, crop, copy
cache_size         measured size of a cache in bytes
cache_layers/      size of a cache, computed from a configuration: `formula_of`
growing_cache      an attention layer of a cache that grows in place
passes             counts of forward passes
vocabulary         token ids as bytes and text
chat_template      the layout of a message for a chat model
kernels            how passes run on a CPU
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "cache_layers": "formula_of",
        "diffusion_model": "DiffusionModel continuation fill_gaps marked_gaps",
        "forward": "Forward Scores",
        "kernels": "Kernels",
        "language_model": "LanguageModel",
        "load": "load_diffusion_model load_model",
        "loading.checkpoint": "BUNDLED BUNDLED_DRAFT BUNDLED_DRAFT_FOLDER BUNDLED_FOLDER is_here",
        "loading.memory": "on_shortage",
        "loading.offered": "accept_terms is_fetched is_offered offered_models remove_fetched",
        "quantised": "AXES BITS PER_CHANNEL PER_TOKEN Quantisation",
        "vocabulary": "ChatIds Vocabulary readable",
    },
)
