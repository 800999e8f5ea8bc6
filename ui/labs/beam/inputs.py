"""Inputs of the beam search page."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.decoding import BeamSettings
from ui.labs.inputs import ConstrainableInputs
from ui.texts.limits import checked_stops

EARLY_STOPPING: dict[str, bool | str] = {"false": False, "true": True, "never": "never"}


@dataclass(frozen=True)
class BeamInputs(ConstrainableInputs):
    """Inputs of a beam search, and of the experiments below it.

    Attributes in addition to prompt, constraint and those of `BeamSettings`:
        stop_strings: texts that end a hypothesis, one on each line.
        early_stopping: a key of `EARLY_STOPPING`.
        exact_tokens: maximum length of a text in the exact search.
        exact_by_sum: whether the exact search ranks by the plain sum; otherwise it applies the
            page's length penalty.
    """

    prompt: str = "At the end of the day,"
    stop_strings: str = ""
    width: int = 4
    length_penalty: float = 1.0
    early_stopping: str = "false"
    groups: int = 1
    diversity_penalty: float = 0.0
    max_new_tokens: int = 24
    exact_tokens: int = 8
    exact_by_sum: bool = True

    @property
    def of_texts(self) -> BeamInputs:
        """The inputs with those of the exact search reset, since texts do not depend on them."""
        default = type(self)
        return replace(self, exact_tokens=default.exact_tokens, exact_by_sum=default.exact_by_sum)

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings; raises `DecodingError` if they are too many or too long."""
        return checked_stops([line for line in self.stop_strings.split("\n") if line])

    @property
    def settings(self) -> BeamSettings:
        """The settings for the engine.

        Raises:
            SettingError: a value out of range.
        """
        constraint = self.constraint
        return BeamSettings(
            width=self.width,
            length_penalty=self.length_penalty,
            early_stopping=EARLY_STOPPING[self.early_stopping],
            groups=self.groups,
            diversity_penalty=self.diversity_penalty,
            max_new_tokens=self.max_new_tokens,
            chain=() if constraint is None else (constraint,),
        )
