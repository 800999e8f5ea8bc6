"""Step-by-step record of a decoding run, as plain values to inspect, save and load.

    >>> trace = Trace.load("run.json")
    >>> trace.strategy, trace.text, trace.to_frame()

A trace needs neither the model nor torch. It is self-contained: it names the model, and contains
the prompt, the settings with the step from which each applied, and every step. It is saved as JSON.
`engine.decoding.replay` generates its text again and reports differences.

    trace            `Trace`
    strategy         base class of the decoding strategies; `strategies` lists them
    steps            `Step`, for sampling with or without guidance; `BriefStep`, without figures
    contrastive      `ContrastiveStep`, and everything else for contrastive search
    beam             `BeamStep`, and everything else for beam search
    diffusion        `DiffusionStep`, and everything else for masked diffusion
    speculative      `SpeculativeStep`, and everything else for speculative decoding
    (engine.values)  the types of values from outside
    files            reading and writing JSON files, with size limits
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
