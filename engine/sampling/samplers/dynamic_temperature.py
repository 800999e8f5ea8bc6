"""Dynamic temperature: divide all scores by a number that follows the entropy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from engine.errors import msg
from engine.sampling.samplers.base import Context, ScaleStage
from engine.sampling.samplers.info import DOWN, UP, Info, Number, Paper
from engine.sampling.samplers.temperature import ENTROPY, LARGEST, SMALLEST
from engine.sampling.survivors import Survivors


@dataclass(frozen=True)
class DynamicTemperature(ScaleStage):
    """A temperature between two ends: low if the model is certain, high if it is uncertain.

        T = low + (high - low) * (H / ln n) ** exponent

    H is the entropy in nats of the n tokens left at its place in the chain, and ln n its maximum.
    By kalomaze; llama.cpp has it as dynatemp, with the ends given as temperature plus and minus a
    range. Usual: 0.5 to 1.5, exponent 1; a larger exponent stays near the low end longer. Certain
    steps are sharpened, uncertain ones flattened. It removes nothing, and leaves a single token
    unchanged. transformers has no such rule.

    Figures: ``temperature``, T; ``entropy``, H in bits; ``entropy_share``, H / ln n, 0 to 1. For a
    single token they are 1, 0 and 0. Cases: those of `ScaleStage`.

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
        about="Sets T for each step: low if the model is certain, high if it is uncertain.",
        formula="T = low + (high − low) · (H / log2 n)^exponent",
        idle="every step has the same temperature",
        picture="scale",
        says={
            "": "The entropy is {entropy_share:percent} of its maximum, so T is "
            "{temperature:score} here. " + ENTROPY,
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
                most=LARGEST,
                looser=UP,
            ),
            Number(
                "high",
                "Highest T",
                slider=(0.01, 3, 0.01),
                usual=1.5,
                remedy=msg("use for example 0.5 to 1.5, or temperature 0 for greedy"),
                least=SMALLEST,
                most=LARGEST,
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
        return max(self.low + (self.high - self.low) * share**self.exponent, SMALLEST)

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
