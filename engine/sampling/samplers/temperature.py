"""Temperature: divide all scores by a constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from engine.errors import SettingError, msg
from engine.sampling.samplers.base import NO_CONTEXT, Context, ScaleStage
from engine.sampling.samplers.info import UP, Info, Number, Paper, finite
from engine.sampling.survivors import Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor

# Dividing by less would overflow float32 and yield NaN, not a sharper choice.
SMALLEST, LARGEST = 1e-6, 1e6
ENTROPY = "The uncertainty goes from {entropy_before:bits} to {entropy_after:bits}."


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
            "grow. " + ENTROPY,
            "flatter": "Temperature divides all scores by {temperature:number}, so their gaps "
            "shrink. " + ENTROPY,
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
                sweep=(0.4, 0.7, 1, 1.3, 1.6),
                remedy=msg(
                    "use 0 for greedy, or {smallest:f} or more (1 changes nothing)", SMALLEST
                ),
                least=SMALLEST,
                most=LARGEST,
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
