"""The nucleus adapts to the model's certainty: its size at the surest and the least sure steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from engine.claims.survivors import Survivors, survivors_claim
from engine.claims.uncertainty import bootstrap, ratio
from engine.claims.verdict import ABOVE, Check, noted


@dataclass(frozen=True)
class NucleusAdapts(Survivors):
    """Sizes of the nucleus at sure and at uncertain steps."""

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        low, high = self.edges
        sums = []
        for text in self.texts:
            pairs = list(zip(text.bits, text.nucleus, strict=True))
            sure = [size for bits, size in pairs if bits <= low]
            unsure = [size for bits, size in pairs if bits >= high]
            sums.append((sum(unsure), len(unsure), sum(sure), len(sure)))
        return (
            Check("larger", bootstrap(sums, _times_larger), ABOVE, 2.0),
            noted("sure", ratio([one[2:] for one in sums])),
            noted("unsure", ratio([one[:2] for one in sums])),
        )


def _times_larger(sums: list[tuple[int, int, int, int]]) -> float:
    """Return the mean nucleus size at uncertain steps / at sure steps; NaN if either is missing."""
    unsure, unsure_steps, sure, sure_steps = map(sum, zip(*sums, strict=True))
    return (unsure / unsure_steps) / (sure / sure_steps) if unsure_steps and sure else math.nan


CLAIM = survivors_claim("nucleus_adapts", NucleusAdapts)
