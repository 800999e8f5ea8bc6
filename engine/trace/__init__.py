"""Record of a decoding run, step by step, as plain values to look at, save and load.

    >>> trace = Trace.load("run.json")
    >>> trace.strategy, trace.text, trace.to_frame()

A trace needs neither the model nor torch. It is self-contained: model, prompt, settings with the
step from which each applied, and every step. It is saved as JSON. `engine.decoding.replay`
generates its text again and reports differences.

    trace            `Trace`
    strategy         description of a way to choose tokens; `strategies` lists all
    steps            `Step`, for sampling with or without guidance; steps without figures
    contrastive      `ContrastiveStep`, and the rest for contrastive search
    beam             `BeamStep`, and the rest for beam search
    diffusion        `DiffusionStep`, and the rest for masked diffusion
    speculative      `SpeculativeStep`, and the rest for speculative decoding
    (engine.values)  the types of values from outside
    files            JSON files, within bounds
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "beam": "FINISHED FULL_POOL KEPT NO_IMPROVEMENT PRUNED BeamCandidate BeamFinished BeamStep",
        "contrastive": "ContrastiveCandidate ContrastiveStep",
        "diffusion": "FILLED REMASKING DiffusionStep",
        "files": "ON_PAGES",
        "speculative": "ACCEPTED REJECTED RESAMPLED DrawnToken ProposedToken SpeculativeStep",
        "steps": "MOST_TOKENS Guidance Leading StageState StageSummary Step",
        "trace": "FORMAT VERSION Trace",
    },
)
