"""The decoding engine: a causal language model stepped one token at a time, every step recorded.

    >>> from engine import Decoder, SamplingSettings, load_model
    >>> settings = SamplingSettings(temperature=0.7)
    >>> decoder = Decoder(load_model(), "The capital of France is", settings)
    >>> decoder.step().text
    ' Paris'

Start at `Decoder.step`, which is the whole loop in one screen. Imports go downwards only, in this
order; nothing in here imports Streamlit, Plotly or the user interface.

    errors, checks   failures that a person can do something about; what comes from outside, checked
    making/          how a tokenizer's model makes tokens: merges, matches, cuts
    guarded/         programs of other people, in processes with limits of time and memory
    grammar/         what a constraint allows, token by token
    sampling/        from logits to a drawn token: settings, stages, distribution
    model/           models, and their caches
    text/            what tokens spell, and what ends a text
    trace            what was generated, as plain values and as a file
    backend/         the seam to a model, wherever it runs
    runner/          the local one: a cached sequence, extended, truncated, forked
    decoding/        ways to choose tokens, one file each
    study/           many texts: metrics, sweeps
    measure/         what a model costs on this machine: time, memory, ceilings
    claims/          what people say of models, each as an experiment with a verdict
    snippets/        settings as code for other programs
"""

from __future__ import annotations

import os

from engine.doors import door

# PyTorch's threads wait for each other at every product. Where another program takes a core, those
# that spin as they wait lose their share of the core as well, and a step takes many times as long;
# sleeping costs some microseconds instead. Read once, when PyTorch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "backend": "Backend",
        "decoding.decoder": "Decoder",
        "decoding.replay": "replay",
        "errors": "DecodingError",
        "model": "LanguageModel load_model",
        "sampling": "SamplingSettings",
        "trace": "Trace",
    },
)
