"""Stages that sharpen or flatten the whole distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import SettingError
from engine.ranking import RankedRow, Survivors
from engine.stages.base import NO_CONTEXT, Context, EditStage, between, number

if TYPE_CHECKING:
    from transformers import LogitsProcessor


@dataclass(frozen=True)
class Temperature(EditStage):
    """Divide the scores by T before the softmax: below 1 sharpens, above 1 flattens.

    p_i = exp(z_i / T) / sum_j exp(z_j / T) (Ackley, Hinton and Sejnowski 1985). T = 0 means greedy
    by convention, since the formula is undefined there: only the highest score is kept, the lower
    id where several are equal.
    """

    temperature: float
    setting: ClassVar[str] = "temperature"
    off: ClassVar[float] = 1.0
    smallest: ClassVar[float] = 1e-6
    largest: ClassVar[float] = 1e6

    def __post_init__(self) -> None:
        remedy = f"use 0 for greedy, or {self.smallest:f} or more (1 leaves the model's own odds)"
        value = number(self.setting, self.temperature, remedy)
        if value < 0:
            raise SettingError(self.setting, self.temperature, "must not be negative", remedy)
        if 0 < value < self.smallest:
            # Dividing by less overflows float32 and would yield NaN, not a sharper choice.
            raise SettingError(self.setting, self.temperature, "is too small to divide by", remedy)
        if value > self.largest:
            problem = f"must be at most {self.largest:,.0f}"
            raise SettingError(self.setting, self.temperature, problem, remedy)
        object.__setattr__(self, "temperature", value)

    @property
    def is_greedy(self) -> bool:
        """Whether this is T = 0, the argmax."""
        return self.temperature == 0

    def edit(self, scores: np.ndarray, context: Context) -> np.ndarray:
        return _divided(scores, self.temperature)

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        if self.is_greedy:
            return survivors.leading(1, with_ties=False)
        return _tempered(survivors, self.temperature)

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import TemperatureLogitsWarper, TopKLogitsWarper

        if self.is_greedy:
            return TopKLogitsWarper(1)
        return TemperatureLogitsWarper(float(self.temperature))


@dataclass(frozen=True)
class DynamicTemperature(EditStage):
    """A temperature between two ends: low where the model is sure, high where it is torn.

        T = low + (high - low) * (H / ln n) ** exponent

    H is the entropy in nats of the n tokens still in the race at its place in the chain, ln n the
    most it could be. By kalomaze; llama.cpp has it as dynatemp, with the ends given as temperature
    plus and minus a range. Usual: 0.5 to 1.5, exponent 1; a larger exponent stays near the low end
    longer. Sure steps are sharpened, open ones flattened. It removes nothing, and a single token is
    left as it is. transformers has no such rule.

    Attributes:
        low: temperature at no entropy, from 0 (which is taken as 1e-6).
        high: temperature of a flat distribution, at least `low`.
        exponent: how the entropy's share is bent, 0.01 to 100.
    """

    low: float = 0.5
    high: float = 1.5
    exponent: float = 1.0
    setting: ClassVar[str] = "dynamic_temperature"

    def __post_init__(self) -> None:
        largest = Temperature.largest
        remedy = "use for example 0.5 to 1.5"
        low = between("dynamic_temperature.low", self.low, 0, largest, remedy)
        remedy = "use for example 0.5 to 1.5, or temperature 0 for greedy"
        name = "dynamic_temperature.high"
        high = between(name, self.high, Temperature.smallest, largest, remedy)
        if low > high:
            raise SettingError(name, self.high, f"must not be below low, {low:g}", remedy)
        name = "dynamic_temperature.exponent"
        exponent = between(name, self.exponent, 0.01, 100, "1 is usual")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "exponent", exponent)

    def no_effect(self) -> str | None:
        return "both of its ends are 1" if self.low == self.high == 1 else None

    def temperature_of(self, survivors: Survivors) -> float:
        """The temperature that these survivors get; 1 for a single token."""
        if survivors.count == 1:
            return 1.0
        share = min(1.0, survivors.entropy / math.log(survivors.count))
        temperature = self.low + (self.high - self.low) * share**self.exponent
        return max(temperature, Temperature.smallest)

    def edit(self, scores: np.ndarray, context: Context) -> np.ndarray:
        return _divided(scores, self.temperature_of(Survivors(RankedRow(scores))))

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        return _tempered(survivors, self.temperature_of(survivors))


def _divided(scores: np.ndarray, temperature: float) -> np.ndarray:
    with np.errstate(over="ignore"):  # a score near float32's lowest may become -inf
        return scores / np.float32(temperature)


def _tempered(survivors: Survivors, temperature: float) -> Survivors:
    scores = _divided(survivors.scores, temperature)
    if survivors.start:  # the highest of the row is out of the race
        return Survivors(RankedRow(scores))
    # Division keeps the order, so the highest score stays the highest.
    highest = float(np.float32(survivors.row.highest) / np.float32(temperature))
    return Survivors(RankedRow(scores, highest=highest))
