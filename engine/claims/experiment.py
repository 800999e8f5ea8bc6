"""Base class of the claims' experiments: a measurement whose result has checks."""

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
    """A result from which a verdict can be computed."""

    @property
    def checks(self) -> tuple[Check, ...]:
        """The figures behind the verdict."""


# Relative to the time of a one-row pass: a step's cost, and the extra cost per text of a batch.
AROUND, EACH_TEXT = 1.3, 0.15
MOST_UNSTEADY = 0.1  # share of reference products that may be off in a comparison of times

AnyResult = TypeVar("AnyResult", bound=Checked)
AnyMeasured = TypeVar("AnyMeasured")


class Experiment(Measurement[AnyResult]):
    """The experiment behind a claim; it examines several things, such as prompts, one by one.

    Args:
        things: the things to examine.
        look: returns the findings for one thing, which may be none.
        judged: turns all findings so far into a result.
        seconds: estimates the total duration.
        noun: the word for one of the things.
        costs: expected duration of each, in any unit; None if all take equally long.
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
    """Turn an unstarted measurement of `engine.measure` into a claim's experiment.

    Args:
        measurement: the measurement.
        judged: turns its result into a result with checks.
        seconds: estimates its duration.
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
    """Return the condition, shared by all claims about times, that the machine kept its speed."""
    off = counted(len(changed(reference_ms)) / max(1, len(reference_ms)), len(reference_ms))
    return Check("unsteady", off, AT_MOST, MOST_UNSTEADY, is_condition=True)


def writing_seconds(pace: Pace, tokens: int, texts: int = 1) -> float:
    """Estimate the time to write `texts` texts in one batch: passes, samplers, records."""
    return pace.step_seconds(tokens) * (AROUND + EACH_TEXT * texts)


def checked_prompts(model: LanguageModel, prompts: Sequence[str], tokens: int) -> list[str]:
    """Return the prompts after checking that each leaves room for `tokens` more tokens.

    Raises:
        PromptError: there are no prompts, or one has no token.
        SettingError: the context is too short for a prompt.
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
    """Return `value` if it is from `low` to `high`; raises `SettingError` otherwise."""
    if not low <= value <= high:
        remedy = msg("use {low:g} to {high:g}", (low, high))
        raise SettingError(name, value, "is out of range", remedy)
    return value
