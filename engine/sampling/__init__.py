"""From logits to a drawn token: settings, the ordered chain, the distribution, the draw.

    >>> settings = SamplingSettings(temperature=0.7, top_p=0.9)
    >>> distribution = shape(logits, settings)          # logits: (vocab,) float32
    >>> [(stage.name, stage.survivors) for stage in distribution.stages]
    [('temperature', 16384), ('top_p', 7)]
    >>> distribution.sample(u=0.5871)
    6342

Nothing here needs PyTorch or a model, but for parity mode, which runs transformers' own processors.

    settings         `SamplingSettings`
    presets          settings with a name
    stages/          the stages of the chain, in `DEFAULT_ORDER`
    chain            `shape`: the stages of some settings, one after another
    ranking          the row that they share
    survivors        the tokens of it that are left
    distribution     what they leave, and the draw from it
    uniform          the numbers that draws are made with
    admission        a small change that would admit a token
"""

from engine.sampling.chain import draw, shape
from engine.sampling.distribution import Candidate, Distribution, Drawn, StageResult
from engine.sampling.settings import MAX_SEED, SamplingSettings, without_draw
from engine.sampling.speculation import SpeculativeSettings
from engine.sampling.stages import DEFAULT_ORDER, STAGES, Context

__all__ = [
    "DEFAULT_ORDER",
    "MAX_SEED",
    "STAGES",
    "Candidate",
    "Context",
    "Distribution",
    "Drawn",
    "SamplingSettings",
    "SpeculativeSettings",
    "StageResult",
    "draw",
    "shape",
    "without_draw",
]
