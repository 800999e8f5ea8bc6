"""Base class of the decoding strategies that a trace can record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol

from engine.errors import SettingError, msg
from engine.sampling import SamplingSettings
from engine.values import Wrong, short


class TraceStep(Protocol):
    """Interface of the steps of all strategies; their field types define the file format."""

    @property
    def index(self) -> int:
        """Index of the step, 0 for the first."""

    @property
    def ids(self) -> Iterable[int]:
        """All token ids that the step mentions."""

    def rows(self) -> list[dict[str, Any]]:
        """Return the step as table rows."""

    @classmethod
    def columns(cls) -> list[str]:
        """Return the column names of `rows`."""


class Strategy:
    """One decoding strategy, as a trace describes it.

    Attributes:
        step: the dataclass of its steps.
        decoder: the name of the class that takes the steps, as a trace itself needs no model.
        fills: whether the prompt is a canvas. Its steps may contain ids that a model can only
            read, such as the mask.
    """

    step: ClassVar[type]
    decoder: ClassVar[str]
    fills: ClassVar[bool] = False

    def check(self, settings: dict[str, Any], vocab_size: int) -> None:
        """Raise `Wrong` for settings that the strategy does not accept."""
        raise NotImplementedError

    def text(self, prompt: str, steps: Sequence[Any]) -> str:
        """Return the text that the steps generated."""
        return "".join(step.text for step in steps)

    def token_ids(self, prompt_ids: Sequence[int], steps: Sequence[Any]) -> list[int]:
        """Return the ids of the tokens that the steps generated."""
        return [step.token_id for step in steps]

    def stop_reason(self, steps: Sequence[Any]) -> str | None:
        """Return the reason that the text ended; None if it has not."""
        return steps[-1].stop_reason if steps else None


def check_sampling(values: dict[str, Any], vocab_size: int) -> None:
    """Raise `Wrong` for sampling settings that are invalid or do not fit the vocabulary."""
    with refusals():
        SamplingSettings.from_dict(values).check_vocabulary(vocab_size)


@contextmanager
def refusals() -> Iterator[None]:
    """Re-raise errors from samplers as `Wrong`."""
    try:
        yield
    except SettingError as error:
        problem = str(error).removesuffix(f"; {error.remedy}.")
        raise Wrong("", msg("are refused: {problem}", short(problem, 160))) from error
    except (ValueError, TypeError, ArithmeticError) as error:
        # A sampler was given an unexpected value, such as a number too large for a float.
        raise Wrong("", msg("contain a value that no sampler takes")) from error
