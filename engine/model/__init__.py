"""Models: found, checked, loaded, and asked for the scores of the next token.

load               `load_model`: from a name to a model
loading/           its steps: folder, hub, files, checks
loaded             base of every model: weights, tokenizer, device
forward            result of a pass: a row of scores, or the most likely ones
language_model     `LanguageModel`: one forward pass of a causal language model
diffusion_model    `DiffusionModel`: one pass over a canvas
probe              checks of a model: steps as `generate` does, chunks, a switch
cache              a model's cache: made, cropped, copied
cache_size         its bytes, measured
cache_layers/      its bytes from a configuration alone: `formula_of`
growing_cache      a cache's attention layer that grows in place
passes             counts of forward passes
vocabulary         token ids as bytes and text
chat_template      how a message to a chat model is laid out
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
        "quantised": "AXES BITS PER_CHANNEL PER_TOKEN Quantisation",
        "vocabulary": "Vocabulary readable",
    },
)
