"""Description of a way to choose tokens, so that a trace may hold its steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol

from engine.errors import SettingError, msg
from engine.sampling import SamplingSettings
from engine.values import Wrong, short


class TraceStep(Protocol):
    """The fields of every step of a trace; their types define the content of a file."""

    @property
    def index(self) -> int:
        """0 for the first step."""

    @property
    def ids(self) -> Iterable[int]:
        """All token ids that it names."""

    def rows(self) -> list[dict[str, Any]]:
        """Return the step as rows of a table."""

    @classmethod
    def columns(cls) -> list[str]:
        """Return the names of a row's columns."""


class Strategy:
    """One way to choose tokens.

    Attributes:
        step: the dataclass of its steps.
        decoder: the class that takes them, by name: a trace itself needs no model.
        fills: whether the prompt is a canvas with masks, whose ids only a model's input accepts.
    """

    step: ClassVar[type]
    decoder: ClassVar[str]
    fills: ClassVar[bool] = False

    def check(self, settings: dict[str, Any], vocab_size: int) -> None:
        """Raise `Wrong` for settings that it does not take."""
        raise NotImplementedError

    def text(self, prompt: str, steps: Sequence[Any]) -> str:
        """Return the text that the steps wrote."""
        return "".join(step.text for step in steps)

    def token_ids(self, prompt_ids: Sequence[int], steps: Sequence[Any]) -> list[int]:
        """Return the ids of the tokens that the steps wrote."""
        return [step.token_id for step in steps]

    def stop_reason(self, steps: Sequence[Any]) -> str | None:
        """Return the reason that the text ended, None if it did not."""
        return steps[-1].stop_reason if steps else None


def check_sampling(values: dict[str, Any], vocab_size: int) -> None:
    """Raise `Wrong` for settings of sampling that a vocabulary of this size does not take."""
    with refusals():
        SamplingSettings.from_dict(values).check_vocabulary(vocab_size)


@contextmanager
def refusals() -> Iterator[None]:
    """Raise the refusals of samplers as `Wrong`."""
    try:
        yield
    except SettingError as error:
        problem = str(error).removesuffix(f"; {error.remedy}.")
        raise Wrong("", msg("are refused: {problem}", short(problem, 160))) from error
    except (ValueError, TypeError, ArithmeticError) as error:
        # A sampler was given an unexpected value, such as a number too large for a float.
        raise Wrong("", msg("contain a value that no sampler takes")) from error
