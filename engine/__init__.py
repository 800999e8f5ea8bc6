"""The decoding engine: step a causal language model one token at a time, and record every step.

    >>> from engine import Decoder, SamplingSettings, load_model
    >>> settings = SamplingSettings(temperature=0.7)
    >>> decoder = Decoder(load_model(), "The capital of France is", settings)
    >>> decoder.step().text
    ' Paris'

Start at `Decoder.step`, which is the whole loop on one screen. Each package imports only those
above it in this list. Nothing here imports Streamlit, Plotly or the user interface.

    errors, checks   failures that the user can act on; checks of values from outside
    user_folder      where the app keeps files on this computer
    making/          how a tokenizer's model makes tokens: merges, matches, segmentations
    guarded/         third-party programs, in processes with limits on time and memory
    grammar/         the tokens that a constraint allows at each step
    sampling/        from logits to a drawn token: settings, stages, distribution
    model/           models, and their caches
    text/            the text that tokens spell, and the conditions that end it
    trace            a record of a run, as plain values and as a file
    backend/         the interface to a model, wherever it runs
    runner/          the local back end: a cached sequence, extended, truncated, forked
    decoding/        ways to choose tokens, one file each
    study/           many texts: metrics, sweeps
    measure/         the costs of a model on this machine: time, memory, ceilings
    claims/          popular claims about models, each as an experiment with a verdict
    export/          settings as code for other programs
"""

from __future__ import annotations

import os

from engine.doors import door

# PyTorch's threads wait for each other at every product. If a different program takes a core,
# threads that spin while waiting lose their share of it, and a step takes many times as long.
# Sleeping costs a few microseconds instead. PyTorch reads this once, at import.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "backend": "Backend connect",
        "decoding.decoder": "Decoder",
        "decoding.replay": "replay",
        "errors": "DecodingError",
        "model": "LanguageModel load_model",
        "sampling": "SamplingSettings",
        "study": "read_text",
        "trace": "Trace",
    },
)
