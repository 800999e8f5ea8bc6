"""Stages that sharpen or flatten the whole distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from engine.errors import SettingError, msg
from engine.sampling.stages.base import NO_CONTEXT, Context, ScaleStage
from engine.sampling.stages.info import DOWN, UP, Info, Number, Paper, finite
from engine.sampling.survivors import Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor

# Dividing by less would overflow float32 and yield NaN, not a sharper choice.
_SMALLEST, _LARGEST = 1e-6, 1e6
_ENTROPY = "The uncertainty goes from {entropy_before:bits} to {entropy_after:bits}."


@dataclass(frozen=True)
class Temperature(ScaleStage):
    """Divide the scores by T before the softmax: below 1 sharpens, above 1 flattens.

    p_i = exp(z_i / T) / sum_j exp(z_j / T) (Ackley, Hinton and Sejnowski 1985). T = 0 means greedy
    by convention, since the formula is undefined there: only the highest score is kept, with the
    lower id if several are equal.

    Figures: none of its own. Cases: ``greedy``, else those of `ScaleStage`.
    """

    temperature: float
    setting: ClassVar[str] = "temperature"
    off: ClassVar[float] = 1.0
    info: ClassVar[Info] = Info(
        label="Temperature",
        group="temperature",
        about="Divides all scores by T: below 1 favours the leading tokens, above 1 the others.",
        formula="p[i] = exp(z[i] / T) / Σ exp(z[j] / T)",
        idle="T = 1 keeps the model’s own probabilities",
        picture="scale",
        says={
            "sharper": "Temperature divides all scores by {temperature:number}, so their gaps "
            "grow. " + _ENTROPY,
            "flatter": "Temperature divides all scores by {temperature:number}, so their gaps "
            "shrink. " + _ENTROPY,
            "none": "Temperature divides all scores by 1, which changes nothing.",
            "single": "Only one token is left, so temperature changes nothing.",
            "greedy": "Temperature 0 is greedy: only the highest score stays. It removes "
            "{removed:tokens} with {mass_removed:percent} of the probability.",
        },
        note={"greedy": "greedy: only the highest score stays"},
        paper=Paper(
            "Ackley, Hinton and Sejnowski 1985", "https://doi.org/10.1207/s15516709cog0901_7"
        ),
        numbers=(
            Number(
                "temperature",
                "Temperature",
                slider=(0, 2, 0.01),
                usual=0.7,
                remedy=msg(
                    "use 0 for greedy, or {smallest:f} or more (1 changes nothing)", _SMALLEST
                ),
                least=_SMALLEST,
                most=_LARGEST,
                words={0: "greedy"},
                looser=UP,
            ),
        ),
    )

    def __post_init__(self) -> None:
        (limits,) = self.info.numbers
        value = finite(self.setting, self.temperature, limits.remedy)
        problem = ""
        if value < 0:
            problem = msg("must not be negative")
        elif 0 < value < limits.least:
            problem = msg("is too small to divide by")
        elif value > limits.most:
            problem = msg("must be at most {most:,.0f}", limits.most)
        if problem:
            raise SettingError(self.setting, self.temperature, problem, limits.remedy)
        super().__post_init__()

    @property
    def is_greedy(self) -> bool:
        """Return whether this is T = 0, the argmax."""
        return self.temperature == 0

    def temperature_of(self, survivors: Survivors) -> float:
        return self.temperature

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        if self.is_greedy:
            return survivors.leading(1, with_ties=False)
        return super().apply(survivors, context)

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        return "greedy" if self.is_greedy else super().case(before, after, context)

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import TemperatureLogitsWarper, TopKLogitsWarper

        if self.is_greedy:
            return TopKLogitsWarper(1)
        return TemperatureLogitsWarper(float(self.temperature))


@dataclass(frozen=True)
class DynamicTemperature(ScaleStage):
    """A temperature between two ends: low if the model is sure, high if it is uncertain.

        T = low + (high - low) * (H / ln n) ** exponent

    H is the entropy in nats of the n tokens left at its place in the chain, and ln n its maximum.
    By kalomaze; llama.cpp has it as dynatemp, with the ends given as temperature plus and minus a
    range. Usual: 0.5 to 1.5, exponent 1; a larger exponent stays near the low end longer. Certain
    steps are sharpened, open ones flattened. It removes nothing, and leaves a single token
    unchanged. transformers has no such rule.

    Figures: ``temperature``, T; ``entropy``, H in bits; ``entropy_share``, H / ln n, 0 to 1. For a
    single token 1, 0 and 0. Cases: those of `ScaleStage`.

    Attributes:
        low: temperature at zero entropy, from 0 (which counts as 1e-6).
        high: temperature of a flat distribution, at least `low`.
        exponent: power of the entropy's share, 0.01 to 100.
    """

    low: float = 0.5
    high: float = 1.5
    exponent: float = 1.0
    setting: ClassVar[str] = "dynamic_temperature"
    info: ClassVar[Info] = Info(
        label="Dynamic temperature",
        group="temperature",
        about="Sets T for each step: low where the model is certain, high where it is uncertain.",
        formula="T = low + (high − low) · (H / log2 n)^exponent",
        idle="every step has the same temperature",
        picture="scale",
        says={
            "": "The entropy is {entropy_share:percent} of its maximum, so T is "
            "{temperature:score} here. " + _ENTROPY,
            "single": "Only one token is left, so dynamic temperature changes nothing.",
        },
        note={"": "T = {temperature:score}", "single": ""},
        paper=Paper("llama.cpp 2024", "https://github.com/ggml-org/llama.cpp/pull/4972"),
        numbers=(
            Number(
                "low",
                "Lowest T",
                slider=(0, 2, 0.01),
                usual=0.5,
                remedy=msg("use for example 0.5 to 1.5"),
                least=0,
                most=_LARGEST,
                looser=UP,
            ),
            Number(
                "high",
                "Highest T",
                slider=(0.01, 3, 0.01),
                usual=1.5,
                remedy=msg("use for example 0.5 to 1.5, or temperature 0 for greedy"),
                least=_SMALLEST,
                most=_LARGEST,
                looser=UP,
            ),
            Number(
                "exponent",
                "Exponent",
                slider=(0.1, 4, 0.05),
                usual=1,
                remedy=msg("1 is usual"),
                least=0.01,
                most=100,
                looser=DOWN,
            ),
        ),
        pair=("low", "high"),
    )

    def no_effect(self) -> str | None:
        return msg("both of its ends are 1") if self.low == self.high == 1 else None

    def temperature_of(self, survivors: Survivors) -> float:
        """Return T for these tokens, 1 for a single one."""
        if survivors.count == 1:
            return 1.0
        share = self._entropy_share(survivors)
        return max(self.low + (self.high - self.low) * share**self.exponent, _SMALLEST)

    @staticmethod
    def _entropy_share(survivors: Survivors) -> float:
        return min(1.0, survivors.entropy / math.log(survivors.count))

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        if before.count == 1:
            return {"temperature": 1.0, "entropy": 0.0, "entropy_share": 0.0}
        return {
            "temperature": self.temperature_of(before),
            "entropy": before.entropy_bits,
            "entropy_share": self._entropy_share(before),
        }
