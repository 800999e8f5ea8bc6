"""What a visitor times: the prompt, how many tokens, and the results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ui.jobs import Owner
from ui.labs.inputs import ConstrainableInputs, PlainInputs
from ui.labs.one_clock.decoders import Beginning
from ui.labs.one_clock.work import ClockWork
from ui.labs.state import InputsState
from ui.texts.texts import check_prompt

MOST_TOKENS = 64


@dataclass(frozen=True)
class ClockInputs(ConstrainableInputs):
    """What every decoder begins with.

    Attributes, besides the prompt and the constraint of constrained decoding:
        tokens: most new tokens of each.
        seed: of those that leave something to chance.
    """

    prompt: str = "Once upon a time, there was a little"
    language: str = "regex"
    source: str = r" [a-z ,']{20,200}\."
    tokens: int = 24
    seed: int = 1


class Clock(InputsState[ClockInputs]):
    """One visitor's inputs, and the runs begun from them.

    Attributes, besides those of `InputsState`:
        work: the last runs.
    """

    name: ClassVar[str] = "one_clock"
    inputs_class: ClassVar[type[PlainInputs]] = ClockInputs
    work: ClockWork | None = None

    def take(self, inputs: ClockInputs) -> None:
        if inputs.constraint is not None:
            inputs.constraint.check_tokens(self.model.places)
        super().take(inputs)

    def begin(self, owner: Owner) -> None:
        """Begin runs from the inputs; what is refused leaves the last ones."""
        self.begin_work("work", self._runs, owner)

    def _runs(self) -> ClockWork:
        one = self.inputs
        check_prompt("prompt", one.prompt)
        return ClockWork(Beginning(self.model, one.prompt, one.tokens, one.seed, one.constraint))
