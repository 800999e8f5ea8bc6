"""The samplers there are, in the default order of the chain."""

from engine.sampling.samplers.banned import Banned
from engine.sampling.samplers.base import Stage
from engine.sampling.samplers.constraint import Constraint
from engine.sampling.samplers.dry import Dry
from engine.sampling.samplers.dynamic_temperature import DynamicTemperature
from engine.sampling.samplers.epsilon_cutoff import EpsilonCutoff
from engine.sampling.samplers.eta_cutoff import EtaCutoff
from engine.sampling.samplers.frequency_penalty import FrequencyPenalty
from engine.sampling.samplers.logit_bias import LogitBias
from engine.sampling.samplers.min_new_tokens import MinNewTokens
from engine.sampling.samplers.min_p import MinP
from engine.sampling.samplers.mirostat import Mirostat
from engine.sampling.samplers.no_repeat_ngram import NoRepeatNGram
from engine.sampling.samplers.p_less import PLess
from engine.sampling.samplers.presence_penalty import PresencePenalty
from engine.sampling.samplers.repetition_penalty import RepetitionPenalty
from engine.sampling.samplers.tail_free import TailFree
from engine.sampling.samplers.temperature import Temperature
from engine.sampling.samplers.top_h import TopH
from engine.sampling.samplers.top_k import TopK
from engine.sampling.samplers.top_n_sigma import TopNSigma
from engine.sampling.samplers.top_p import TopP
from engine.sampling.samplers.typical_p import TypicalP
from engine.sampling.samplers.xtc import Xtc

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
