"""The samplers that are tested, with values that are unlikely to be a server's defaults."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.backend.server_model import ServerModel
from engine.export import has_setting
from engine.sampling import DEFAULT_ORDER
from engine.sampling.samplers import (
    Dry,
    DynamicTemperature,
    EpsilonCutoff,
    FrequencyPenalty,
    LogitBias,
    MinP,
    Mirostat,
    PLess,
    PresencePenalty,
    RepetitionPenalty,
    Stage,
    Temperature,
    TopH,
    TopK,
    TopNSigma,
    TopP,
    TypicalP,
    Xtc,
)
from engine.server_check.text import Text

_LEAST_SPARED = 0.005
# Samplers that other programs have, with a value; a server should say that it lacks them.
FOREIGN = {"p_less": True, "min_k": 0.2, "not_a_sampler": 1.0}


def tested(model: ServerModel, row: np.ndarray, text: Text) -> list[Stage]:
    """Return the stages that the app and such a server both have."""
    ranked = np.argsort(-row, kind="stable")
    stages: list[Stage] = [
        LogitBias({int(ranked[1]): 2.0}),
        RepetitionPenalty(1.3),
        PresencePenalty(-2.0),
        FrequencyPenalty(-1.5),
        Dry(0.8, 1.6, 2, -1),
        Temperature(0.6),
        DynamicTemperature(0.2, 0.9, 1.5),
        TopK(_k_at_a_gap(row[ranked])),
        TopP(0.8),
        MinP(0.11),
        TypicalP(0.85),
        TopNSigma(1.3),
        Xtc(_xtc_threshold(model, ranked, row, text), 1.0),
        Mirostat(3.0, 0.13),
    ]
    return [stage for stage in stages if has_setting(model.dialect.kind, stage.setting)]


def _k_at_a_gap(ranked: np.ndarray) -> int:
    """Return a k whose last token is far above the next, so that rounding does not decide."""
    gaps = ranked[4:12] - ranked[5:13]
    return 5 + int(np.argmax(np.where(np.isfinite(gaps), gaps, 0.0))) if gaps.size else 1


def _xtc_threshold(model: ServerModel, ranked: np.ndarray, row: np.ndarray, text: Text) -> float:
    """Return a threshold at which XTC removes a token, if possible an end or a line break."""
    context = text.context(model)
    probabilities = np.exp(row[ranked].astype(np.float64))
    is_spared = np.isin(ranked, [*context.eos_ids, *context.line_break_ids])
    spared = np.flatnonzero(is_spared & (probabilities >= _LEAST_SPARED))
    last = 1 + int(spared[0]) if spared.size else 1  # the last token that reaches it stays
    return min(0.5, max(1e-4, 0.95 * float(probabilities[min(last, ranked.size - 1)])))


def foreign(kind: str) -> dict[str, float | bool]:
    """Return samplers that such a server lacks, each with a value."""
    ours = {
        stage.setting: stage.info.numbers[0].usual
        for stage in DEFAULT_ORDER
        if stage.is_one_number()
    }
    return {name: x for name, x in (ours | FOREIGN).items() if not has_setting(kind, name)}


def lacking(model: ServerModel) -> list[Stage]:
    """Return stages of the app that such a server lacks, for tests by its draws."""
    stages = [PLess(), TopH(0.4), EpsilonCutoff(0.02)]
    return [stage for stage in stages if not has_setting(model.dialect.kind, stage.setting)]


def orders() -> list[list[Stage]]:
    """Return one chain in three orders, which give different distributions."""
    temperature, top_k, top_p, min_p = Temperature(1.6), TopK(30), TopP(0.85), MinP(0.04)
    return [
        [temperature, top_k, top_p, min_p],
        [top_k, top_p, temperature, min_p],
        [min_p, top_p, top_k, temperature],
    ]


def name_of(chain: Sequence[Stage]) -> str:
    """Return the samplers of a chain with their values, in order: ``top_k 7, temperature 0.6``."""
    return ", ".join(f"{each.setting} {_value(each)}".strip() for each in chain)


def _value(stage: Stage) -> str:
    numbers = [f"{number:.3g}" for number in stage.numbers.values()]
    if numbers or stage.value is stage:
        return "/".join(numbers)
    return ", ".join(f"{key}: {value:+g}" for key, value in dict(stage.value).items())
