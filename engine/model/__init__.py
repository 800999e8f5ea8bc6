"""Models: found, checked, loaded, and asked for the scores of the next token.

loading/           from a name to weights on a device: folder, hub, files, checks
loaded             what every model is: weights, tokenizer, device
forward            what a pass gives: a row of scores, or the likeliest of them
language_model     `LanguageModel`: one forward pass of a causal language model
diffusion_model    `DiffusionModel`: one pass over a canvas
probe              what a model can do: steps as `generate` does, chunks, a switch
cache              a model's cache: made, cropped, copied, counted
cache_layers/      its bytes from a configuration alone: `formula_of`
growing_cache      an attention layer of it that grows in place
passes             how many forward passes something took
vocabulary         token ids as bytes and text
chat_template      how a message to a chat model is laid out
kernels            how passes run on a CPU
"""

from engine.model.forward import Forward, Scores
from engine.model.kernels import Kernels
from engine.model.language_model import BUNDLED, BUNDLED_DRAFT, LanguageModel, load_model
from engine.model.loading.checkpoint import is_here
from engine.model.vocabulary import Vocabulary

__all__ = [
    "BUNDLED",
    "BUNDLED_DRAFT",
    "Forward",
    "Kernels",
    "LanguageModel",
    "Scores",
    "Vocabulary",
    "is_here",
    "load_model",
]
