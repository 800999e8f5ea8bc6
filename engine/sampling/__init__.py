"""From logits to a drawn token: settings, the ordered chain, the distribution, the draw.

    >>> settings = SamplingSettings(temperature=0.7, top_p=0.9)
    >>> distribution = shape(logits, settings)          # logits: (vocab,) float32
    >>> [(stage.name, stage.survivors) for stage in distribution.stages]
    [('temperature', 16384), ('top_p', 7)]
    >>> distribution.sample(u=0.5871)
    6342

Nothing here needs PyTorch or a model, except parity mode, which runs transformers' own processors.

    settings         `SamplingSettings`
    divergence       KL divergence and total variation of two rows
    presets          named settings
    samplers/        the stages of the chain, one file each, and `DEFAULT_ORDER`, their order
    ranking          a row of scores and its ranking, which the stages share
    survivors        the tokens left in that row
    distribution     `shape`: the chain over one row, and the distribution that it leaves
    random           the random numbers of the draws, and the draw
    admission        finds a small change that would admit a removed token
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "admission": "admitting_change",
        "distribution": "Candidate Distribution Drawn StageResult shape",
        "divergence": "kl_bits log_probabilities total_variation",
        "presets": "PRESETS",
        "random": "draw",
        "ranking": "RankedRow",
        "settings": "MAX_SEED SamplingSettings without_draw",
        "speculation": "SpeculativeSettings",
        "samplers": (
            "DEFAULT_ORDER GROUPS STAGES BanStage Banned Constraint Context Dry "
            "DynamicTemperature LogitBias Mirostat Number ScaleStage Stage Xtc remarks"
        ),
        "survivors": "Survivors",
    },
)
