"""A figure of the next token against a setting, from the same logits.

kind = "against_setting"
prompt = "Once upon a time, there was a"
figure = "entropy"                           # see figures.py
setting = "temperature"
values = [0.5, 1.0, 1.5, 2.0]
high = 14                                    # end of the scale
settings = { top_p = 0.9 }                   # the others
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from engine.decoder import Decoder
from engine.errors import SettingError
from engine.model import LanguageModel
from engine.sampling import STAGES
from ui.learn.prediction.figures import FIGURES
from ui.learn.prediction.prediction import (
    Bars,
    StepPrediction,
    read_beginning,
    read_scale,
    read_values,
)
from ui.learn.source import Table
from ui.texts.settings import is_one_number
from ui.words.catalogue import setting_name
from ui.words.language import with_figures


@dataclass(frozen=True)
class AgainstSetting(StepPrediction):
    """See the module.

    Attributes, besides those of `StepPrediction`:
        figure: a key of `FIGURES`.
        setting: a sampler of one number.
        values: of that.
        low, high: the ends of the scale.
    """

    kind: ClassVar[str] = "against_setting"

    figure: str
    setting: str
    values: tuple[float, ...]
    low: float
    high: float

    @classmethod
    def read(cls, table: Table) -> Self:
        known = [name for name, figure in FIGURES.items() if figure.follows_settings]
        figure = table.chosen("figure", known)
        setting = table.chosen("setting", [name for name in STAGES if is_one_number(name)])
        beginning = read_beginning(table)
        values = read_values(table)
        off = STAGES[setting].off
        values = tuple(int(value) if isinstance(off, int) else value for value in values)
        try:
            for value in values:
                beginning["settings"].replace(**{setting: value})
        except SettingError as error:
            table.wrong(
                "values", f"has one that is refused: {str(error).rstrip('.')}", "mend that value"
            )
        low, high = read_scale(table, 0.0, FIGURES[figure].high)
        return cls(**beginning, figure=figure, setting=setting, values=values, low=low, high=high)

    def bars(self, model: LanguageModel, prompt: str) -> Bars:
        figure = FIGURES[self.figure]
        labels = tuple(with_figures(f"{value:g}") for value in self.values)
        name = setting_name(self.setting)
        return Bars(labels, name, figure.label, figure.unit, self.low, self.high, is_curve=True)

    def truth(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[float, ...]:
        decoder = Decoder(model, prompt, self.settings)
        step = decoder.step()
        of = FIGURES[self.figure].of
        rows = (
            decoder.distribution(0, self.settings.replace(**{self.setting: value}))
            for value in self.values
        )
        return tuple(of(step, row, model) for row in rows)
