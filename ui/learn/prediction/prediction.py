"""A person's predictions, and the true values, which the loaded model computes."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from engine.errors import DecodingError
from engine.model import LanguageModel
from ui.learn.source import Written
from ui.words.labels import with_minus
from ui.words.language import say, say_counted, with_figures

FEWEST, MOST = 2, 32  # bars
Prompt = Annotated[str, Meta(min_length=1)]


@dataclass(frozen=True)
class Gap:
    """The distance between two rows of values.

    Attributes:
        value: the distance as one number: see `total_variation` and `mean_difference`.
        largest: the largest that it could be.
        worst: the index of the largest difference, the first if there are several.
    """

    value: float
    largest: float
    worst: int


def total_variation(drawn: Sequence[float], truth: Sequence[float]) -> Gap:
    """Return half the sum of the absolute differences, the probability to be moved, 0 to 1.

    Args:
        drawn, truth: two distributions over the same outcomes.
    """
    differences = _differences(drawn, truth)
    return Gap(min(1.0, sum(differences) / 2), 1.0, _worst(differences))


def mean_difference(drawn: Sequence[float], truth: Sequence[float], low: float, high: float) -> Gap:
    """Return the mean absolute difference, in the unit of the values.

    Args:
        drawn: within `low` and `high`.
        truth: of any size; the scale is widened to contain it.
        low, high: the ends of the scale.
    """
    differences = _differences(drawn, truth)
    widest = max(high, *truth) - min(low, *truth)
    return Gap(sum(differences) / len(differences), widest, _worst(differences))


def _differences(drawn: Sequence[float], truth: Sequence[float]) -> list[float]:
    if len(drawn) != len(truth) or not drawn:
        raise ValueError(f"{len(drawn)} values cannot be compared with {len(truth)}.")
    return [abs(mine - real) for mine, real in zip(drawn, truth, strict=True)]


def _worst(differences: Sequence[float]) -> int:
    return max(range(len(differences)), key=differences.__getitem__)


@dataclass(frozen=True)
class Unit:
    """Unit and precision in which values are shown.

    Attributes:
        name: the unit after a number, marked: ``bits``; ``%`` for probabilities, which are 0 to 1.
        digits: digits after the decimal point.
        one: the name after 1, if it differs: ``token``.
    """

    name: str
    digits: int = 0
    one: str = ""

    def text(self, value: float) -> str:
        """Format a value: ``3.1 bits``, ``40 %``."""
        if self.name == "%":
            return say("below 1 %") if 0 < value < 0.005 else f"{100 * value:.0f} %"
        figure = with_minus(f"{value:,.{self.digits}f}")
        name = self.one if figure == "1" and self.one else self.name
        return with_figures(f"{figure} {say(name)}")

    def difference(self, value: float) -> str:
        """Format a difference of two values: ``40 percentage points`` for probabilities."""
        if self.name != "%":
            return self.text(value)
        if 0 < value < 0.005:
            return say("less than 1 percentage point")
        return say_counted(
            round(100 * value), "{count} percentage point", "{count} percentage points"
        )


@dataclass(frozen=True)
class Bars:
    """Bars for a person to draw.

    Attributes:
        labels: one for each bar.
        axis: the meaning of the labels: ``Temperature``; empty for tokens.
        figure: the meaning of the values: ``Uncertainty (entropy)``.
        unit: the unit of the values.
        low, high: the ends of the scale.
        is_curve: whether the bars form a curve, drawn in one sweep across.
        is_distribution: whether the values are the probabilities of all outcomes, so that their sum
            is kept at 1.
    """

    labels: tuple[str, ...]
    axis: str
    figure: str
    unit: Unit
    low: float = 0.0
    high: float = 1.0
    is_curve: bool = False
    is_distribution: bool = False

    @property
    def start(self) -> tuple[float, ...]:
        """Initial values of the bars: everything equally likely, or the middle of the scale."""
        count = len(self.labels)
        value = 1.0 / count if self.is_distribution else (self.low + self.high) / 2
        return (value,) * count

    def taken(self, values: Any) -> tuple[float, ...] | None:
        """Return values from a browser, if they can have been drawn on these bars; else None."""
        if not isinstance(values, Sequence) or len(values) != len(self.labels):
            return None
        if not all(isinstance(v, (int, float)) and math.isfinite(v) for v in values):
            return None
        if not all(self.low - 1e-6 <= v <= self.high + 1e-6 for v in values):
            return None
        drawn = tuple(float(min(self.high, max(self.low, v))) for v in values)
        if not self.is_distribution:
            return drawn
        total = sum(drawn)
        return tuple(v / total for v in drawn) if abs(total - 1.0) < 0.01 else None

    def gap(self, drawn: Sequence[float], truth: Sequence[float]) -> Gap:
        """Return the distance between the drawn values and the truth."""
        if self.is_distribution:
            return total_variation(drawn, truth)
        return mean_difference(drawn, truth, self.low, self.high)


class Prediction(Written, kw_only=True, tag_field="kind"):
    """A prediction that a lesson asks for.

    Attributes:
        key: its name within its step.
        prompt: the text to predict from.
        more_prompts: prompts offered for further attempts.
    """

    key: str
    prompt: Prompt
    more_prompts: tuple[Prompt, ...] = ()

    @property
    def prompts(self) -> tuple[str, ...]:
        """All prompts, its own first."""
        return self.prompt, *self.more_prompts

    @abstractmethod
    def bars(self, model: LanguageModel, prompt: str) -> Bars:
        """Return the bars to draw; raises `DecodingError` if the model allows none."""

    @abstractmethod
    def truth(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[float, ...]:
        """Compute the model's own values.

        Args:
            model: the loaded model.
            prompt: the prompt to continue from.
            bars: the output of `bars` for them.

        Raises:
            DecodingError: the model cannot compute them.
        """

    def revealed_labels(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[str, ...]:
        """Return the bars' labels after the reveal; raises `DecodingError`, as `truth` does."""
        return bars.labels


class PredictionError(DecodingError):
    """Error for a prediction that this model cannot make."""
