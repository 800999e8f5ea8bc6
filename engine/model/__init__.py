"""Models: found, checked, loaded, and asked for the scores of the next token.

loading            `load_model`: the bundled model, a folder or a hub id
checkpoint         where a model lies, and how it is read step by step
files              files of a folder: regular, of bounded size
configuration      config.json, compared with the weight files
weights            weight files: which ones count, what they hold, how they get into a model
tokenizer_files    the tokenizer of a folder
memory             what a device has free
loaded             what every model is: weights, tokenizer, device
language_model     `LanguageModel`: one forward pass of a causal language model
diffusion_model    `DiffusionModel`: one pass over a canvas
cache              a model's cache: made, cropped, copied, counted
vocabulary         token ids as bytes and text
chat_template      how a message to a chat model is laid out
template_process   the process that renders such templates
kernels            how passes run on a CPU
"""

from engine.model.language_model import BUNDLED, Forward, LanguageModel, load_model

__all__ = ["BUNDLED", "Forward", "LanguageModel", "load_model"]
