"""Steps without their figures: what it takes to make a text again and to compare its tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta, Struct

from engine.values import Amount, Whole

MOST_TOKENS = 200_000


@dataclass(frozen=True, slots=True)
class BriefStep:
    """One token of a trace without figures (see `Trace.to_dict`); its fields as in `Step`."""

    index: int
    token_id: int
    forced: bool = False
    guidance_scale: float | None = None

    @property
    def ids(self) -> Iterator[int]:
        """Its token alone."""
        yield self.token_id


def taken(step: Any) -> tuple[int, bool, float | None]:
    """The token of a step, if a person chose it, and the scale of the guidance."""
    forced, scale = getattr(step, "forced", False), getattr(step, "guidance_scale", None)
    return step.token_id, forced, scale


class BriefSteps(Struct):
    """Brief steps as a file holds them.

    Attributes:
        tokens: one for each step.
        forced: indices of those that a person chose.
        scales: (first step, scale of the guidance), in order; each holds until the next.
    """

    tokens: Annotated[tuple[Whole, ...], Meta(max_length=MOST_TOKENS)]
    forced: frozenset[Whole] = frozenset()
    scales: tuple[tuple[Whole, Amount], ...] = ()

    @classmethod
    def of(cls, steps: Sequence[Any]) -> BriefSteps:
        """The columns of steps, brief or not."""
        tokens, forced, scales = zip(*map(taken, steps), strict=True) if steps else ((), (), ())
        return cls(
            tokens,
            frozenset(index for index, is_forced in enumerate(forced) if is_forced),
            tuple(
                (index, scale)
                for index, scale in enumerate(scales)
                if scale is not None and (not index or scale != scales[index - 1])
            ),
        )

    def steps(self) -> tuple[BriefStep, ...]:
        """One for each token; the inverse of `of`."""
        scales, found, scale = dict(self.scales), [], None
        for index, token_id in enumerate(self.tokens):
            scale = scales.get(index, scale)
            found.append(BriefStep(index, token_id, index in self.forced, scale))
        return tuple(found)

    def plain(self) -> dict[str, Any]:
        """Plain values, as they stand in a file."""
        plain = {"tokens": list(self.tokens)}
        if self.forced:
            plain["forced"] = sorted(self.forced)
        if self.scales:
            plain["scales"] = [list(run) for run in self.scales]
        return plain
