"""A figure of every step of a text, computed or measured as the text is generated.

kind = "per_step"
prompt = "Once upon a time, there was a"
figure = "tokens_kept"                       # see figures.py
steps = 12
high = 60                                    # end of the scale
settings = { top_p = 0.9, seed = 3 }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from engine.decoder import Decoder
from engine.model import LanguageModel
from ui.learn.prediction.figures import FIGURES
from ui.learn.prediction.prediction import (
    FEWEST,
    MOST,
    Bars,
    StepPrediction,
    read_beginning,
    read_scale,
)
from ui.learn.source import Table
from ui.words.labels import token_label
from ui.words.language import marked


@dataclass(frozen=True)
class PerStep(StepPrediction):
    """See the module.

    Attributes, besides those of `StepPrediction`:
        figure: a key of `FIGURES`.
        steps: how many.
        low, high: the ends of the scale.
    """

    kind: ClassVar[str] = "per_step"

    figure: str
    steps: int
    low: float
    high: float

    @classmethod
    def read(cls, table: Table) -> Self:
        figure = table.chosen("figure", FIGURES)
        beginning = read_beginning(table)
        steps = table.get("steps", int)
        if not FEWEST <= steps <= MOST:
            table.wrong("steps", f"is {steps}", f"use {FEWEST} to {MOST}")
        low, high = read_scale(table, 0.0, FIGURES[figure].high)
        return cls(**beginning, figure=figure, steps=steps, low=low, high=high)

    def bars(self, model: LanguageModel, prompt: str) -> Bars:
        figure = FIGURES[self.figure]
        labels = tuple(str(number) for number in range(1, self.steps + 1))
        return Bars(
            labels, marked("Step"), figure.label, figure.unit, self.low, self.high, is_curve=True
        )

    def revealed_labels(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[str, ...]:
        """Each step with the token that it appended."""
        decoder = Decoder(model, prompt, self.settings)
        label = model.vocabulary.label
        return tuple(f"{bar} {token_label(label(decoder.step().token_id))}" for bar in bars.labels)

    def truth(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[float, ...]:
        decoder = Decoder(model, prompt, self.settings)
        of = FIGURES[self.figure].of
        values = []
        for index in range(self.steps):
            step = decoder.step()  # an end of text is a step like any other
            values.append(of(step, decoder.distribution(index), model))
        return tuple(values)
