"""The stages of the sampling chain, one small class each.

A stage is a frozen value: `TopP(0.9)`. Called with logits, it returns new logits with the removed
tokens at -inf and leaves its input unchanged:

    >>> TopK(1)(np.array([1.0, 3.0, 2.0], np.float32))
    array([-inf,   3., -inf], dtype=float32)

There are three kinds. An edit changes scores of single tokens (`TokenEdit`), or removes them
(`BanStage`). A `ScaleStage` divides all scores by a temperature. A `CutStage` removes tokens by
their rank. On screen all three are called samplers.

To add one, write its class in one of these files or a new one:

    setting, off    its keyword in `SamplingSettings`, and the value that leaves it out
    info            its names, its words, the ranges of its numbers (`engine.sampling.stages.info`)
    its rule        `cut`, `changes`, `banned_ids` or `temperature_of`; or `apply`, for a new kind
    figures, case   further values of a row for sentences and charts, if it has any

and put it into `DEFAULT_ORDER`. Checks of values, decoders, batches, sweeps, traces, the search for
a change that admits a token (`admission`) and every page take it from there. No file of `ui/`
changes. A stage that remembers earlier steps has a state (`initial_state`, `after`). One that
leaves something to chance has a `stream` of random numbers. Decoders, batches, traces and pages
keep both through rewinds and forks. It also needs

    engine/snippets/        an entry in the table of every program, if only "it has none"
    tests/engine/sampling/  cases worked out by hand, its slow twin, random settings

Tests fail if one of these is missing.

If transformers has the same rule, the class also names its processor. The tests compare the two row
by row, and parity mode runs the processor itself.

    base.py            the base of all stages, and the context that they may look at
    info.py            facts about a stage besides its rule; checks of numbers
    penalties.py       logit_bias, repetition_penalty, presence_penalty, frequency_penalty
    dry.py             dry
    bans.py            no_repeat_ngram, banned, min_new_tokens
    constraint.py      constraint
    temperature.py     temperature, dynamic_temperature
    rank_cuts.py       top_k, tail_free
    mass_cuts.py       top_p, typical_p, top_h
    threshold_cuts.py  min_p, epsilon_cutoff, eta_cutoff, top_n_sigma
    adaptive.py        xtc, mirostat
    remarks.py         stages of a chain that have no effect, and remarks on the others
"""

from engine.sampling.stages.adaptive import Mirostat, MirostatState, Xtc
from engine.sampling.stages.bans import Banned, MinNewTokens, NoRepeatNGram
from engine.sampling.stages.base import (
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
from engine.sampling.stages.constraint import Constraint, ConstraintState
from engine.sampling.stages.dry import Dry
from engine.sampling.stages.info import GROUPS, Info, Number, Paper
from engine.sampling.stages.mass_cuts import TopH, TopP, TypicalP
from engine.sampling.stages.penalties import (
    FrequencyPenalty,
    LogitBias,
    PresencePenalty,
    RepetitionPenalty,
)
from engine.sampling.stages.rank_cuts import TailFree, TopK
from engine.sampling.stages.remarks import StageRemark, remarks
from engine.sampling.stages.temperature import DynamicTemperature, Temperature
from engine.sampling.stages.threshold_cuts import EpsilonCutoff, EtaCutoff, MinP, PLess, TopNSigma

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

__all__ = [
    "DEFAULT_ORDER",
    "GROUPS",
    "NO_CONTEXT",
    "STAGES",
    "BanStage",
    "Banned",
    "Constraint",
    "ConstraintState",
    "Context",
    "CutStage",
    "Dry",
    "DynamicTemperature",
    "EditStage",
    "EpsilonCutoff",
    "EtaCutoff",
    "FrequencyPenalty",
    "Info",
    "LogitBias",
    "MinNewTokens",
    "MinP",
    "Mirostat",
    "MirostatState",
    "NoRepeatNGram",
    "Number",
    "PLess",
    "Paper",
    "PresencePenalty",
    "RepetitionPenalty",
    "ScaleStage",
    "Stage",
    "StageRemark",
    "TailFree",
    "Temperature",
    "TokenEdit",
    "TopH",
    "TopK",
    "TopNSigma",
    "TopP",
    "TypicalP",
    "Xtc",
    "ranked_after",
    "remarks",
]
