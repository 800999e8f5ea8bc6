"""The stages of the sampling chain, one small class each.

A stage is a frozen value: `TopP(0.9)`. Called with logits it returns new logits with the removed
tokens at -inf and leaves its input alone:

    >>> TopK(1)(np.array([1.0, 3.0, 2.0], np.float32))
    array([-inf,   3., -inf], dtype=float32)

Two kinds exist. An `EditStage` changes scores (bias, penalties, bans, temperature). A `CutStage`
removes tokens by their rank. To add one, write the class with its `setting` name and the value that
switches it off, put it into `DEFAULT_ORDER`, add its cases and its slow twin to the tests, and what
there is to say about it to `remarks.py`. `SamplingSettings` then takes it as a keyword, decoders,
batches and sweeps run and record it. It also needs

    engine/snippets/           an entry in the table of every program, if only "it has none"
    ui/components/step/js/     what the step page computes by itself: chain.js (its off value),
                               stages_edit.js or stages_cut.js (the rule), catalogue.js (label,
                               formula, fields), stage_words.js, remarks.js, admit_values.js

Tests fail where an entry is missing, and where the page's rule and this one disagree on a row.

Wherever transformers has the same rule, the class also names its processor: the tests compare the
two row by row, and parity mode runs the processor itself.

    base.py         what a stage is, what it may look at, checks of values
    penalties.py    logit_bias, repetition_penalty, presence_penalty, frequency_penalty
    dry.py          dry
    bans.py         no_repeat_ngram, banned, min_new_tokens
    temperature.py  temperature, dynamic_temperature
    cuts.py         top_h, top_k, top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff, top_n_sigma,
                    tail_free
    adaptive.py     xtc, mirostat
    remarks.py      which stages of a chain have no effect, and what to know of the others
"""

from engine.stages.adaptive import Mirostat, MirostatState, Xtc, mirostat_mu
from engine.stages.bans import Banned, MinNewTokens, NoRepeatNGram
from engine.stages.base import (
    NO_CONTEXT,
    BanStage,
    Context,
    CutStage,
    EditStage,
    Stage,
    TokenEdit,
    ranked_after,
)
from engine.stages.cuts import (
    EpsilonCutoff,
    EtaCutoff,
    MinP,
    TailFree,
    TopH,
    TopK,
    TopNSigma,
    TopP,
    TypicalP,
)
from engine.stages.dry import Dry
from engine.stages.penalties import (
    FrequencyPenalty,
    LogitBias,
    PresencePenalty,
    RepetitionPenalty,
)
from engine.stages.remarks import Remark, remarks
from engine.stages.temperature import DynamicTemperature, Temperature

# The order in which transformers applies those it has (GenerationMixin._get_logits_processor). The
# others stand where their makers have them: the OpenAI penalties and DRY beside the repetition
# penalty, as in llama.cpp and vLLM; the dynamic temperature in the temperature's place, as in
# llama.cpp; top-n-sigma and tail-free among the cuts; XTC after them and Mirostat last, right
# before the draw, both as in llama.cpp.
DEFAULT_ORDER: tuple[type[Stage], ...] = (
    LogitBias,
    RepetitionPenalty,
    PresencePenalty,
    FrequencyPenalty,
    Dry,
    NoRepeatNGram,
    Banned,
    MinNewTokens,
    Temperature,
    DynamicTemperature,
    TopH,
    TopK,
    TopP,
    MinP,
    TypicalP,
    EpsilonCutoff,
    EtaCutoff,
    TopNSigma,
    TailFree,
    Xtc,
    Mirostat,
)
STAGES: dict[str, type[Stage]] = {stage.setting: stage for stage in DEFAULT_ORDER}

__all__ = [
    "DEFAULT_ORDER",
    "NO_CONTEXT",
    "STAGES",
    "BanStage",
    "Banned",
    "Context",
    "CutStage",
    "Dry",
    "DynamicTemperature",
    "EditStage",
    "EpsilonCutoff",
    "EtaCutoff",
    "FrequencyPenalty",
    "LogitBias",
    "MinNewTokens",
    "MinP",
    "Mirostat",
    "MirostatState",
    "NoRepeatNGram",
    "PresencePenalty",
    "Remark",
    "RepetitionPenalty",
    "Stage",
    "TailFree",
    "Temperature",
    "TokenEdit",
    "TopH",
    "TopK",
    "TopNSigma",
    "TopP",
    "TypicalP",
    "Xtc",
    "mirostat_mu",
    "ranked_after",
    "remarks",
]
