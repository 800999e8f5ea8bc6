"""Parity mode's random generator, which draws as transformers' `generate` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Mark:
    """State that a step leaves for the next one, in addition to the text.

    Attributes:
        generator: in parity mode, the seed and the state of PyTorch's generator; else None.
        states: memory of the stages that have one, by setting (`Context.states`).
    """

    generator: tuple[int, torch.Tensor] | None
    states: Mapping[str, object]

    @classmethod
    def of(cls, seed: int, generator: torch.Generator | None, states: Mapping[str, object]) -> Mark:
        """Return the mark of a step that was drawn with a generator, or without one."""
        if generator is None and not states:
            return NOTHING
        return cls(None if generator is None else (seed, generator.get_state()), states)


NOTHING = Mark(None, {})  # one object for all steps that leave nothing


def generator_after(before: Mark | None, seed: int, device: torch.device) -> torch.Generator:
    """Return the generator in the state that the previous step left.

    It is new, seeded as `torch.manual_seed` seeds the global one, if that step had a different seed
    or was not a parity step. So it depends only on the recorded steps: rewinding, forking and
    changing a setting back and forth need no special care.
    """
    generator = torch.Generator(device=device).manual_seed(seed)
    if before is not None and before.generator is not None and before.generator[0] == seed:
        generator.set_state(before.generator[1])
    return generator


def drawn(scores: object, generator: torch.Generator, device: torch.device) -> int:
    """Return the token that `torch.multinomial` draws from (vocab,) scores."""
    row = torch.tensor(scores, device=device)[None]
    return int(torch.multinomial(torch.softmax(row, -1), 1, generator=generator))
