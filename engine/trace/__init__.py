"""What was decoded, step by step, as plain values: to look at, to save, to load again.

    >>> trace = Trace.load("run.json")
    >>> trace.strategy, trace.text, trace.to_frame()

A trace needs neither the model nor torch. It is self-contained: model, prompt, settings with the
step from which each applied, and every step. Saved as JSON.
`engine.decoding.replay` makes its text again and says where it differs.

    trace            `Trace`
    strategy         what a way of choosing tokens says of itself; strategies lists all
    steps            `Step`, of sampling with or without guidance; steps without figures
    contrastive      `ContrastiveStep`, and the same for contrastive search
    beam             `BeamStep`, and the same for beam search
    diffusion        `DiffusionStep`, and the same for masked diffusion
    speculative      `SpeculativeStep`, and the same for speculative decoding
    (engine.values)  the types of values from outside
    files            JSON files, within bounds
"""

from engine.trace.beam import BeamCandidate, BeamFinished, BeamStep
from engine.trace.contrastive import ContrastiveCandidate, ContrastiveStep
from engine.trace.diffusion import REMASKING, DiffusionStep
from engine.trace.speculative import DrawnToken, ProposedToken, SpeculativeStep
from engine.trace.steps import Guidance, Leading, StageState, StageSummary, Step
from engine.trace.trace import FORMAT, VERSION, Trace

__all__ = [
    "FORMAT",
    "REMASKING",
    "VERSION",
    "BeamCandidate",
    "BeamFinished",
    "BeamStep",
    "ContrastiveCandidate",
    "ContrastiveStep",
    "DiffusionStep",
    "DrawnToken",
    "Guidance",
    "Leading",
    "ProposedToken",
    "SpeculativeStep",
    "StageState",
    "StageSummary",
    "Step",
    "Trace",
]
