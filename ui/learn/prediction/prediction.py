"""What a person predicts, and how the truth is computed from the loaded model."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from engine.errors import DecodingError, SettingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from ui.learn.prediction.gap import Gap, mean_difference, total_variation
from ui.learn.source import Table
from ui.texts.settings import named_settings
from ui.words.labels import with_minus
from ui.words.language import say, say_counted, with_figures

FEWEST, MOST = 2, 32  # bars


@dataclass(frozen=True)
class Unit:
    """How values are shown.

    Attributes:
        name: behind a number, marked: ``bits``; ``%`` for probabilities, which are 0 to 1.
        digits: behind the decimal point.
        one: the name behind 1, where that differs: ``token``.
    """

    name: str
    digits: int = 0
    one: str = ""

    def text(self, value: float) -> str:
        """A value for reading: ``3.1 bits``, ``40 %``."""
        if self.name == "%":
            return say("below 1 %") if 0 < value < 0.005 else f"{100 * value:.0f} %"
        figure = with_minus(f"{value:,.{self.digits}f}")
        name = self.one if figure == "1" and self.one else self.name
        return with_figures(f"{figure} {say(name)}")

    def difference(self, value: float) -> str:
        """A difference of two values: ``40 percentage points`` of probabilities."""
        if self.name != "%":
            return self.text(value)
        if 0 < value < 0.005:
            return say("less than 1 percentage point")
        return say_counted(
            round(100 * value), "{count} percentage point", "{count} percentage points"
        )


@dataclass(frozen=True)
class Bars:
    """What there is to draw.

    Attributes:
        labels: one a bar.
        axis: what the labels are: ``Temperature``; empty for tokens.
        figure: what the values are: ``Uncertainty (entropy)``.
        unit: of the values.
        low, high: the ends of the scale.
        is_curve: whether the bars stand side by side and are drawn by sweeping across.
        is_distribution: whether the values are probabilities of all that can happen, so that their
            sum is kept at 1.
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
        """What the bars show at first: everything equally likely, or the middle of the scale."""
        count = len(self.labels)
        value = 1.0 / count if self.is_distribution else (self.low + self.high) / 2
        return (value,) * count

    def taken(self, values: Any) -> tuple[float, ...] | None:
        """Values as a browser says them, if they can have been drawn on these bars."""
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
        """How far what was drawn is from the truth."""
        if self.is_distribution:
            return total_variation(drawn, truth)
        return mean_difference(drawn, truth, self.low, self.high)


@dataclass(frozen=True)
class Prediction(ABC):
    """Something to predict.

    Class attributes:
        kind: its name in files.

    Attributes:
        prompts: the text that it is about, then others that are offered to predict again.
    """

    kind: ClassVar[str]

    prompts: tuple[str, ...]

    @classmethod
    @abstractmethod
    def read(cls, table: Table) -> Self:
        """What a table describes; raises `LessonError`."""

    @abstractmethod
    def bars(self, model: LanguageModel, prompt: str) -> Bars:
        """What there is to draw; raises `DecodingError` where the model allows none of it."""

    @abstractmethod
    def truth(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[float, ...]:
        """The model's own values, computed now.

        Args:
            model: the loaded model.
            prompt: what it goes on from.
            bars: what `bars` gave for them.

        Raises:
            DecodingError: the model cannot compute them.
        """

    def revealed_labels(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[str, ...]:
        """The labels of the bars once they are revealed; raises `DecodingError`, as `truth`."""
        return bars.labels


@dataclass(frozen=True)
class StepPrediction(Prediction):
    """One about steps of a text that is drawn token by token.

    Attributes, besides those of `Prediction`:
        settings: how tokens are chosen.
    """

    settings: SamplingSettings


def read_beginning(table: Table) -> dict[str, Any]:
    """Prompts and settings, as every `StepPrediction` has them."""
    settings = table.get("settings", dict, {})
    try:
        checked = named_settings({"seed": 0, **settings})
    except SettingError as error:
        table.wrong("settings", f"is refused: {str(error).rstrip('.')}", "mend that value")
    return {"prompts": read_prompts(table), "settings": checked}


def read_prompts(table: Table) -> tuple[str, ...]:
    """The prompt, then those that are offered to predict again."""
    prompts = (table.get("prompt", str), *table.get("more_prompts", tuple[str, ...], ()))
    for prompt in prompts:
        if not prompt:
            table.wrong("prompt", "is empty", "write the text that the model goes on from")
    return prompts


def read_values(table: Table) -> tuple[float, ...]:
    """The values on the axis of a curve."""
    values = table.get("values", tuple[float, ...])
    if not FEWEST <= len(values) <= MOST:
        table.wrong("values", f"has {len(values)} values", f"list {FEWEST} to {MOST}")
    return values


def read_scale(table: Table, low: float, high: float | None) -> tuple[float, float]:
    """The ends of the scale; `high` may be left out where the figure has an end of its own."""
    low = table.get("low", float, low)
    high = table.get("high", float) if high is None else table.get("high", float, high)
    if not low < high:
        table.wrong("high", f"is {high:g}, not above low, {low:g}", "write a larger number")
    return float(low), float(high)


class PredictionError(DecodingError):
    """A prediction that this model cannot be asked for."""
