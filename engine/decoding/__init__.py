"""Ways to generate a text, one file or folder each, over what all of them share.

    generation.py       what every strategy keeps: steps, text, step, run, rewind, fork, trace
    one_text.py         what those share that write one text, and that append one token per step
    token_sequence.py   prompt and generated tokens, what they spell, when they end
    decoder.py          sampling: forward, shape, draw, append
    settings_history.py which settings held from which step on
    parity.py           the generator that draws as transformers does
    record.py           the raw logits of every step; row_file.py those on disk
    guidance.py         a second text, which a negative prompt begins
    contrastive.py      contrastive search
    beam/               beam search
    diffusion/          masked diffusion
    speculative/        speculative decoding
    batch.py            many texts in one pass; batch_row.py one of them
    replay.py           a trace made again and compared

A new strategy is a `Generation` in a file of its own. Its step, and what a trace checks of it, are
a file in `engine.trace`, listed by `engine.trace.strategies`.
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "engine.decoding.batch": "Batch BatchText Row",
        "engine.decoding.beam": "BeamSearch BeamSettings",
        "engine.decoding.contrastive": "ContrastiveSearch",
        "engine.decoding.decoder": "Decoder",
        "engine.decoding.diffusion": "DiffusionDecoder DiffusionSettings load_diffusion_model",
        "engine.decoding.generation": "Generation",
        "engine.decoding.speculative": "SpeculativeDecoder",
    },
)
