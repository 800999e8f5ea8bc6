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
        "batch": "MOST_ROWS STEP_RECORD Batch BatchText Row",
        "beam": "MOST_BEAMS BeamSearch BeamSettings NextToken NextTokens",
        "contrastive": "MOST_CANDIDATES ContrastiveSearch checked_alpha",
        "decoder": "Decoder",
        "diffusion": (
            "DiffusionDecoder DiffusionSettings block_lengths load_diffusion_model step_counts"
        ),
        "generation": "Generation",
        "guidance": "MAX_SCALE UNGUIDED GuidedRows",
        "inputs": "prompt_ids",
        "replay": "FactDifference begin changed_facts check_model is_same_model",
        "speculative": "ITSELF LOOKUP PROPOSERS SpeculativeDecoder",
        "speculative.verifier": "RoundDistributions",
    },
)
