"""Base of every experiment of a claim: a measurement whose result has checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Protocol, TypeVar

from engine.claims.uncertainty import counted
from engine.claims.verdict import AT_MOST, Check
from engine.errors import PromptError, SettingError, msg
from engine.measure.measurement import Measurement
from engine.measure.pace import Pace
from engine.measure.reference import changed
from engine.model import LanguageModel


class Checked(Protocol):
    """A result that a verdict can be computed from."""

    @property
    def checks(self) -> tuple[Check, ...]:
        """The figures that the verdict stands on."""


# Of the time of a pass over one row: what a step takes, and what each text of a batch adds to it.
AROUND, EACH_TEXT = 1.3, 0.15
MOST_UNSTEADY = 0.1  # of the reference products, that may be off where times are compared

AnyResult = TypeVar("AnyResult", bound=Checked)
AnyMeasured = TypeVar("AnyMeasured")


class Experiment(Measurement[AnyResult]):
    """The experiment of a claim: looks at one thing after the other.

    Args:
        things: what is looked at, such as prompts.
        look: what is found of one of them, at least one entry each time if anything is.
        judged: all that was found so far, as a result.
        seconds: an estimate of how long all of it takes.
        noun: what one of the things is called.
        costs: how long each is expected to take, in any unit; None where all take as long.
    """

    def __init__(
        self,
        things: Sequence[Any],
        look: Callable[[Any], Sequence[Any]],
        judged: Callable[[tuple], AnyResult],
        seconds: Callable[[Pace], float],
        noun: str = "part",
        costs: Sequence[float] | None = None,
    ) -> None:
        super().__init__([1.0] * len(things) if costs is None else costs)
        self.noun = noun
        self.seconds = seconds
        self._things, self._look, self._judged = things, look, judged
        self._found: list[Sequence[Any]] = []

    def _measure(self, part: int) -> None:
        self._found[part:] = [self._look(self._things[part])]

    @property
    def result(self) -> AnyResult | None:
        found = tuple(chain.from_iterable(self._found))
        return self._judged(found) if found else None


def judged_measurement(
    measurement: Measurement[AnyMeasured],
    judged: Callable[[AnyMeasured], AnyResult],
    seconds: Callable[[Pace], float],
) -> Experiment[AnyResult]:
    """A measurement of `engine.measure`, not begun yet, as the experiment of a claim.

    Args:
        measurement: what is measured.
        judged: what was measured as a result with checks.
        seconds: an estimate of how long the measurement takes.
    """
    return Experiment(
        range(measurement.parts),
        lambda part: [next(measurement.run())],  # its next part
        lambda found: judged(measurement.result),
        seconds,
        measurement.noun,
        measurement.costs,
    )


def steady(reference_ms: Sequence[float]) -> Check:
    """The condition of every claim on times: the machine kept its speed meanwhile."""
    off = counted(len(changed(reference_ms)) / max(1, len(reference_ms)), len(reference_ms))
    return Check("unsteady", off, AT_MOST, MOST_UNSTEADY, is_condition=True)


def writing_seconds(pace: Pace, tokens: int, texts: int = 1) -> float:
    """An estimate of writing some texts together: passes, samplers, records."""
    return pace.step_seconds(tokens) * (AROUND + EACH_TEXT * texts)


def checked_prompts(model: LanguageModel, prompts: Sequence[str], tokens: int) -> list[str]:
    """Return the prompts, checked to leave room for `tokens` more tokens.

    Raises:
        PromptError: there is none, or one has no token.
        SettingError: the context is too short for one of them.
    """
    if not prompts:
        raise PromptError("There is no prompt; type at least one, each on a line of its own.")
    for prompt in prompts:
        count = len(model.vocabulary.encode(prompt))
        if not count:
            raise PromptError("The prompt {prompt} has no token; type another one.", repr(prompt))
        most = model.context_length
        if most is not None and count + tokens > most:
            problem = msg(
                "leave no room in the {most:,} positions of {name} after {prompt}",
                (most, model.name, repr(prompt)),
            )
            remedy = msg("use at most {most:,}, or a shorter prompt", most - count)
            raise SettingError(msg("Tokens"), tokens, problem, remedy)
    return list(prompts)


def checked_range(name: str, value: float, low: float, high: float) -> float:
    """A number from `low` to `high`; raises `SettingError` for any other."""
    if not low <= value <= high:
        remedy = msg("use {low:g} to {high:g}", (low, high))
        raise SettingError(name, value, "is out of range", remedy)
    return value
