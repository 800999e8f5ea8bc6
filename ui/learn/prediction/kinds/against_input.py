"""A figure of a whole text on a decoder page, against one of the page's inputs.

kind = "against_input"
prompt = "At the end of the day,"
panel = { kind = "beam", inputs = { max_new_tokens = 8 } }
input = "width"
values = [1, 2, 4, 8]
figure = "logprob"                           # see `OF_TEXTS`: checks of that panel
low = -12
high = 0
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from engine.model import LanguageModel
from ui.learn.panels import read_panel
from ui.learn.panels.lab.panel import LabPanel, play, settle
from ui.learn.prediction.figures import SHARE
from ui.learn.prediction.prediction import (
    Bars,
    Prediction,
    PredictionError,
    Unit,
    read_prompts,
    read_scale,
    read_values,
)
from ui.learn.source import Table
from ui.visits.records import BrokenRecord
from ui.words.language import marked, say, with_figures

OF_TEXTS: dict[str, tuple[str, Unit]] = {  # check of a panel: its label and its unit
    "logprob": (marked("Log-probability of the best text"), Unit(marked("nats"), 1)),
    "tokens_per_pass": (marked("Tokens per pass of the target"), Unit(marked("tokens"), 1)),
    "accepted": (marked("Share of proposed tokens that are accepted"), SHARE),
    "price": (marked("Price of the constraint"), Unit(marked("bits"), 1)),
    "mean_confidence": (marked("Mean confidence of the tokens when they are kept"), SHARE),
}
INPUTS = {  # those that lessons use; another one is called as it is written
    "width": marked("Width"),
    "draft_length": marked("Draft length g"),
    "steps": marked("Steps"),
    "temperature": marked("Temperature"),
}


@dataclass(frozen=True)
class AgainstInput(Prediction):
    """See the module.

    Attributes, besides those of `Prediction`:
        panel: the page and its inputs.
        input: name of the one that changes.
        values: of that.
        figure: a key of `OF_TEXTS`.
        low, high: the ends of the scale.
    """

    kind: ClassVar[str] = "against_input"

    panel: LabPanel
    input: str
    values: tuple[float, ...]
    figure: str
    low: float
    high: float

    @classmethod
    def read(cls, table: Table) -> Self:
        own = table.table("panel")
        panel = read_panel(own, None)
        if not isinstance(panel, LabPanel):
            own.wrong("kind", "is no decoder page", "use beam, speculative or another of them")
        own.end()
        record = panel.inputs.record()
        numbers = [name for name, value in record.items() if type(value) in (int, float)]
        name = table.chosen("input", numbers)
        kind = type(record[name])
        values = tuple(kind(value) for value in read_values(table))
        try:
            for value in values:
                type(panel.inputs).restored(record | {name: value})
        except BrokenRecord as error:
            table.wrong("values", f"has one that is refused ({error})", "mend that value")
        figure = table.chosen("figure", [key for key in OF_TEXTS if key in panel.measures])
        low, high = read_scale(table, 0.0, 1.0 if OF_TEXTS[figure][1] is SHARE else None)
        return cls(read_prompts(table), panel, name, values, figure, low, high)

    def bars(self, model: LanguageModel, prompt: str) -> Bars:
        label, unit = OF_TEXTS[self.figure]
        labels = tuple(with_figures(f"{value:g}") for value in self.values)
        axis = INPUTS.get(self.input, self.input)
        return Bars(labels, axis, label, unit, self.low, self.high, is_curve=True)

    def truth(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[float, ...]:
        return tuple(self._measured(model, prompt, value) for value in self.values)

    def _measured(self, model: LanguageModel, prompt: str, value: float) -> float:
        inputs = replace(self.panel.inputs, prompt=prompt, **{self.input: value})
        panel = replace(self.panel, inputs=inputs, steps=0)
        lab = panel.begun(model)
        try:
            settle(lab)
            play(lab)
            settle(lab)
            measured = panel.measures[self.figure](lab)
        finally:
            lab.release()
        if measured is None:
            raise PredictionError(say("This text has nothing to measure; use another prompt."))
        return float(measured)
