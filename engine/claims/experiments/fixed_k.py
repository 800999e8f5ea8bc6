"""A fixed k keeps more tokens than the nucleus at sure steps, and fewer at uncertain ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from engine.claims.survivors import Survivors, survivors_claim
from engine.claims.uncertainty import ratio
from engine.claims.verdict import ABOVE, Check
from engine.errors import msg

HALF = 0.5


@dataclass(frozen=True)
class FixedK(Survivors):
    """Sizes of the nucleus, compared with a fixed k."""

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        low, high = self.edges
        loose, tight = [], []
        for text in self.texts:
            pairs = list(zip(text.bits, text.nucleus, strict=True))
            sure = [size < self.top_k for bits, size in pairs if bits <= low]
            torn = [size > self.top_k for bits, size in pairs if bits >= high]
            loose.append((sum(sure), len(sure)))
            tight.append((sum(torn), len(torn)))
        return (
            Check("loose", ratio(loose), ABOVE, HALF, msg("at most {bits} bits", f"{low:.2g}")),
            Check("tight", ratio(tight), ABOVE, HALF, msg("at least {bits} bits", f"{high:.2g}")),
        )


CLAIM = survivors_claim("fixed_k", FixedK)
