"""Decoding strategies, one file or folder each, and the code that they share.

    generation.py       base of every strategy: steps, text, step, run, rewind, fork, trace
    one_text.py         base of those that write one text, and that append one token per step
    prompt.py           prompt as token ids; inputs.py checks of settings, tokens and indices
    token_sequence.py   prompt and generated tokens, their text, and when it ends
    decoder.py          sampling: forward, shape, draw, append
    settings_history.py settings, each with the first step that it applies to
    parity.py           the random generator that draws as transformers does
    record.py           the raw logits of every step; row_file.py those on disk
    guidance.py         classifier-free guidance, by a second text after a negative prompt
    contrastive.py      contrastive search
    beam/               beam search
    diffusion/          masked diffusion
    speculative/        speculative decoding
    batch.py            many texts in one pass; batch_row.py one of them
    replay.py           replaying a trace, and comparing it

A new strategy is a `Generation` in its own file. Its step class, with the checks of its traces, is
in a file of `engine.trace`, listed by `engine.trace.strategies`.
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
        "prompt": "encode_prompt",
        "replay": "FactDifference begin changed_facts check_model is_same_model",
        "speculative": "ITSELF LOOKUP PROPOSERS SpeculativeDecoder",
        "speculative.verifier": "RoundDistributions",
    },
)
