"""The samplers there are, in the default order of the chain."""

from engine.sampling.samplers import (
    Banned,
    Constraint,
    Dry,
    DynamicTemperature,
    EpsilonCutoff,
    EtaCutoff,
    FrequencyPenalty,
    LogitBias,
    MinNewTokens,
    MinP,
    Mirostat,
    NoRepeatNGram,
    PLess,
    PresencePenalty,
    RepetitionPenalty,
    Stage,
    TailFree,
    Temperature,
    TopH,
    TopK,
    TopNSigma,
    TopP,
    TypicalP,
    Xtc,
)

# The order in which transformers applies those it has (GenerationMixin._get_logits_processor). The
# others are where their makers have them. The OpenAI penalties and DRY follow the repetition
# penalty, as in llama.cpp and vLLM. The dynamic temperature takes the temperature's place, as in
# llama.cpp. The constraint is where transformers has its mask (prefix_allowed_tokens_fn), after the
# bans. P-less, top-n-sigma and tail-free are among the cuts. XTC comes after the cuts and Mirostat
# last, right before the draw, both as in llama.cpp.
DEFAULT_ORDER: tuple[type[Stage], ...] = (
    LogitBias,
    RepetitionPenalty,
    PresencePenalty,
    FrequencyPenalty,
    Dry,
    NoRepeatNGram,
    Banned,
    MinNewTokens,
    Constraint,
    Temperature,
    DynamicTemperature,
    TopH,
    TopK,
    TopP,
    MinP,
    TypicalP,
    EpsilonCutoff,
    EtaCutoff,
    PLess,
    TopNSigma,
    TailFree,
    Xtc,
    Mirostat,
)
STAGES: dict[str, type[Stage]] = {stage.setting: stage for stage in DEFAULT_ORDER}
