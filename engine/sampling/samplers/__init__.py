"""The samplers: stages of the sampling chain, one class in one file each, named by its setting.

A stage is a frozen value: `TopP(0.9)`. Called with logits, it returns new logits with the removed
tokens at -inf and leaves its input unchanged:

    >>> TopK(1)(np.array([1.0, 3.0, 2.0], np.float32))
    array([-inf,   3., -inf], dtype=float32)

There are three kinds. An edit changes scores of single tokens (`TokenEdit`), or removes them
(`BanStage`). A `ScaleStage` divides all scores by a temperature. A `CutStage` removes tokens by
their rank. On screen all three are called samplers.

To add one, write its class in a file of its own (`min_p` is one to copy):

    setting, off    its keyword in `SamplingSettings`, and the value that leaves it out
    info            its names, its texts, the ranges of its numbers (see `info`)
    its rule        `cut`, `changes`, `banned_ids` or `temperature_of`; or `apply`, for a new kind
    figures, case   further values for sentences and charts, if it has any

and put it into `DEFAULT_ORDER` below. Checks of values, decoders, batches, traces, the search for a
change that admits a token (`admission`) and every page find it there. A stage that remembers
earlier steps has a state (`initial_state`, `after`). A random one has a `stream` of random numbers.
Decoders, batches, traces and pages keep both through rewinds and forks. docs/how-to-add.md lists
the tests to write.

If transformers has the same rule, the class also names its processor. The tests compare the two row
by row, and parity mode runs the processor itself.

    base.py     the base of all stages, and the context that they may use
    info.py     facts about a stage other than its rule; checks of numbers
    remarks.py  stages of a chain that have no effect, and remarks on the others
"""

from engine.sampling.samplers.banned import Banned
from engine.sampling.samplers.base import (
    NO_CONTEXT,
    BanStage,
    Context,
    CutStage,
    EditStage,
    ScaleStage,
    Stage,
    TokenEdit,
    ranked_after,
)
from engine.sampling.samplers.constraint import Constraint, ConstraintState
from engine.sampling.samplers.dry import Dry
from engine.sampling.samplers.dynamic_temperature import DynamicTemperature
from engine.sampling.samplers.epsilon_cutoff import EpsilonCutoff
from engine.sampling.samplers.eta_cutoff import EtaCutoff
from engine.sampling.samplers.frequency_penalty import FrequencyPenalty
from engine.sampling.samplers.info import GROUPS, Info, Number, Paper
from engine.sampling.samplers.logit_bias import LogitBias
from engine.sampling.samplers.min_new_tokens import MinNewTokens
from engine.sampling.samplers.min_p import MinP
from engine.sampling.samplers.mirostat import Mirostat, MirostatState
from engine.sampling.samplers.no_repeat_ngram import NoRepeatNGram
from engine.sampling.samplers.p_less import PLess
from engine.sampling.samplers.presence_penalty import PresencePenalty
from engine.sampling.samplers.remarks import StageRemark, remarks
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
# others are where their authors put them. The OpenAI penalties and DRY follow the repetition
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

__all__ = [
    "DEFAULT_ORDER",
    "GROUPS",
    "NO_CONTEXT",
    "STAGES",
    "BanStage",
    "ConstraintState",
    "Context",
    "CutStage",
    "EditStage",
    "Info",
    "MirostatState",
    "Number",
    "Paper",
    "ScaleStage",
    "Stage",
    "StageRemark",
    "TokenEdit",
    "ranked_after",
    "remarks",
]
__all__ += [kind.__name__ for kind in DEFAULT_ORDER]
