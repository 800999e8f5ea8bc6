"""Kinds of predictions, by the name that lessons write; each with its table as an example."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from engine.decoder import Decoder
from engine.decoding import UNGUIDED
from engine.errors import SettingError
from engine.model import LanguageModel
from engine.sampling import STAGES, Distribution, SamplingSettings
from ui.learn.panels import read_panel
from ui.learn.panels.lab.panel import LabPanel, play, settle
from ui.learn.prediction.figures import FIGURES, SHARE, TOKENS
from ui.learn.prediction.prediction import FEWEST, MOST, Bars, Prediction, PredictionError, Unit
from ui.learn.source import Table
from ui.texts.settings import is_one_number, named_settings
from ui.texts.texts import Beginning, checked_scale, new_text
from ui.visits.records import BrokenRecord
from ui.words.catalogue import setting_name
from ui.words.labels import token_label
from ui.words.language import marked, say, with_figures
from ui.words.token_labels import labels_of


@dataclass(frozen=True)
class StepPrediction(Prediction):
    """One about steps of a text that is drawn token by token.

    Attributes, besides those of `Prediction`:
        settings: how tokens are chosen.
    """

    settings: SamplingSettings


@dataclass(frozen=True)
class CurvePrediction(StepPrediction):
    """One about a figure of those steps.

    Attributes, besides those of `StepPrediction`:
        figure: a key of `FIGURES`.
        low, high: the ends of the scale.
    """

    figure: str
    low: float
    high: float

    def curve(self, labels: tuple[str, ...], axis: str) -> Bars:
        """Bars of the figure over these labels."""
        figure = FIGURES[self.figure]
        return Bars(labels, axis, figure.label, figure.unit, self.low, self.high, is_curve=True)


def _read_beginning(table: Table) -> dict[str, Any]:
    """Prompts and settings, as every `StepPrediction` has them."""
    settings = table.get("settings", dict, {})
    try:
        checked = named_settings({"seed": 0, **settings})
    except SettingError as error:
        table.wrong("settings", f"is refused: {str(error).rstrip('.')}", "mend that value")
    return {"prompts": _read_prompts(table), "settings": checked}


def _read_prompts(table: Table) -> tuple[str, ...]:
    """The prompt, then those that are offered to predict again."""
    prompts = (table.get("prompt", str), *table.get("more_prompts", tuple[str, ...], ()))
    for prompt in prompts:
        if not prompt:
            table.wrong("prompt", "is empty", "write the text that the model goes on from")
    return prompts


def _read_values(table: Table) -> tuple[float, ...]:
    """The values on the axis of a curve."""
    values = table.get("values", tuple[float, ...])
    if not FEWEST <= len(values) <= MOST:
        table.wrong("values", f"has {len(values)} values", f"list {FEWEST} to {MOST}")
    return values


def _read_scale(table: Table, high: float | None) -> tuple[float, float]:
    """The ends of the scale; `high` may be left out where the figure has an end of its own."""
    low = table.get("low", float, 0.0)
    high = table.get("high", float) if high is None else table.get("high", float, high)
    if not low < high:
        table.wrong("high", f"is {high:g}, not above low, {low:g}", "write a larger number")
    return float(low), float(high)


OTHERS = marked("All other tokens")
LEADING = 4  # tokens of the model's own choice


@dataclass(frozen=True)
class NextToken(StepPrediction):
    """The probabilities of some tokens as the next one, and of all others together.

        kind = "next_token"
        prompt = "The capital of France is"
        tokens = [" Paris", " London", " the"]       # none: the model's own leading tokens
        settings = { temperature = 1.0 }
        negative_prompt = "There was a"              # with guidance away from it
        guidance_scale = 2.0

    Attributes, besides those of `StepPrediction`:
        tokens: their texts; for the first prompt alone, as others have leading tokens of their own.
        negative_prompt: what guidance leads away from; None without guidance.
        guidance_scale: how strongly.
    """

    kind: ClassVar[str] = "next_token"

    tokens: tuple[str, ...] = ()
    negative_prompt: str | None = None
    guidance_scale: float = UNGUIDED

    @classmethod
    def read(cls, table: Table) -> Self:
        tokens = table.get("tokens", tuple[str, ...], ())
        if len(set(tokens)) < len(tokens) or len(tokens) > MOST - 1:
            table.wrong("tokens", "has a token twice, or too many", f"list at most {MOST - 1}")
        scale = table.get("guidance_scale", float, UNGUIDED)
        try:
            checked_scale(scale)
        except SettingError as error:
            table.wrong("guidance_scale", f"is refused: {str(error).rstrip('.')}", "mend it")
        negative = table.get("negative_prompt", str, None)
        return cls(
            **_read_beginning(table), tokens=tokens, negative_prompt=negative, guidance_scale=scale
        )

    def bars(self, model: LanguageModel, prompt: str) -> Bars:
        labels = labels_of(model.vocabulary)
        named = tuple(labels[token_id] for token_id in self._ids(model, prompt))
        figure = marked("Probability as the next token")
        return Bars((*named, say(OTHERS)), "", figure, SHARE, is_distribution=True)

    def truth(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[float, ...]:
        row = self._row(model, prompt)
        named = [row.probability(token_id) for token_id in self._ids(model, prompt)]
        return (*named, max(0.0, 1.0 - sum(named)))

    def _row(self, model: LanguageModel, prompt: str) -> Distribution:
        beginning = Beginning(
            prompt, negative_prompt=self.negative_prompt, scale=self.guidance_scale
        )
        return new_text(model, beginning, self.settings).next_distribution()

    def _ids(self, model: LanguageModel, prompt: str) -> list[int]:
        if self.tokens and prompt == self.prompts[0]:
            return [_id(model, text) for text in self.tokens]
        found = self._row(model, prompt).candidates(LEADING)
        # By their letters, as their order would give their probabilities away.
        return sorted((one.token_id for one in found), key=model.vocabulary.label)


def _id(model: LanguageModel, text: str) -> int:
    ids = model.vocabulary.encode(text)
    if len(ids) != 1:
        raise PredictionError(
            say(
                "{token} is {count} tokens in {model}, and this prediction needs one; "
                "predict with the bundled model, or with another prompt.",
                token=token_label(text),
                count=len(ids),
                model=model.name,
            )
        )
    return ids[0]


@dataclass(frozen=True)
class AgainstSetting(CurvePrediction):
    """A figure of the next token against a setting, from the same logits.

        kind = "against_setting"
        prompt = "Once upon a time, there was a"
        figure = "entropy"                           # see figures.py
        setting = "temperature"
        values = [0.5, 1.0, 1.5, 2.0]
        high = 14                                    # end of the scale
        settings = { top_p = 0.9 }                   # the others

    Attributes, besides those of `CurvePrediction`:
        setting: a sampler of one number.
        values: of that.
    """

    kind: ClassVar[str] = "against_setting"

    setting: str
    values: tuple[float, ...]

    @classmethod
    def read(cls, table: Table) -> Self:
        known = [name for name, figure in FIGURES.items() if figure.follows_settings]
        figure = table.chosen("figure", known)
        setting = table.chosen("setting", [name for name in STAGES if is_one_number(name)])
        beginning = _read_beginning(table)
        values = _read_values(table)
        off = STAGES[setting].off
        values = tuple(int(value) if isinstance(off, int) else value for value in values)
        try:
            for value in values:
                beginning["settings"].replace(**{setting: value})
        except SettingError as error:
            table.wrong(
                "values", f"has one that is refused: {str(error).rstrip('.')}", "mend that value"
            )
        low, high = _read_scale(table, FIGURES[figure].high)
        return cls(**beginning, figure=figure, setting=setting, values=values, low=low, high=high)

    def bars(self, model: LanguageModel, prompt: str) -> Bars:
        labels = tuple(with_figures(f"{value:g}") for value in self.values)
        return self.curve(labels, setting_name(self.setting))

    def truth(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[float, ...]:
        decoder = Decoder(model, prompt, self.settings)
        step = decoder.step()
        of = FIGURES[self.figure].of
        rows = (
            decoder.distribution(0, self.settings.replace(**{self.setting: value}))
            for value in self.values
        )
        return tuple(of(step, row, model) for row in rows)


@dataclass(frozen=True)
class PerStep(CurvePrediction):
    """A figure of every step of a text, computed or measured as the text is generated.

        kind = "per_step"
        prompt = "Once upon a time, there was a"
        figure = "tokens_kept"                       # see figures.py
        steps = 12
        high = 60                                    # end of the scale
        settings = { top_p = 0.9, seed = 3 }

    Attributes, besides those of `CurvePrediction`:
        steps: how many.
    """

    kind: ClassVar[str] = "per_step"

    steps: int

    @classmethod
    def read(cls, table: Table) -> Self:
        figure = table.chosen("figure", FIGURES)
        beginning = _read_beginning(table)
        steps = table.get("steps", int)
        if not FEWEST <= steps <= MOST:
            table.wrong("steps", f"is {steps}", f"use {FEWEST} to {MOST}")
        low, high = _read_scale(table, FIGURES[figure].high)
        return cls(**beginning, figure=figure, steps=steps, low=low, high=high)

    def bars(self, model: LanguageModel, prompt: str) -> Bars:
        labels = tuple(str(number) for number in range(1, self.steps + 1))
        return self.curve(labels, marked("Step"))

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
    """A figure of a whole text on a decoder page, against one of the page's inputs.

        kind = "against_input"
        prompt = "At the end of the day,"
        panel = { kind = "beam", inputs = { max_new_tokens = 8 } }
        input = "width"
        values = [1, 2, 4, 8]
        figure = "logprob"                           # see `OF_TEXTS`: checks of that panel
        low = -12
        high = 0

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
        values = tuple(kind(value) for value in _read_values(table))
        try:
            for value in values:
                type(panel.inputs).restored(record | {name: value})
        except BrokenRecord as error:
            table.wrong("values", f"has one that is refused ({error})", "mend that value")
        figure = table.chosen("figure", [key for key in OF_TEXTS if key in panel.measures])
        low, high = _read_scale(table, 1.0 if OF_TEXTS[figure][1] is SHARE else None)
        return cls(_read_prompts(table), panel, name, values, figure, low, high)

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


WORD = re.compile(r"\s?\S+")


@dataclass(frozen=True)
class TokensPerWord(Prediction):
    """Into how many tokens each word of a text is cut, together with the space before it.

        kind = "tokens_per_word"
        prompt = "The quokka likes 1234567"
        high = 12                                    # end of the scale

    Attributes, besides those of `Prediction`:
        low, high: the ends of the scale.
    """

    kind: ClassVar[str] = "tokens_per_word"

    low: float
    high: float

    @classmethod
    def read(cls, table: Table) -> Self:
        low, high = _read_scale(table, None)
        return cls(_read_prompts(table), low, high)

    def bars(self, model: LanguageModel, prompt: str) -> Bars:
        words = WORD.findall(prompt)
        if not FEWEST <= len(words) <= MOST:
            raise PredictionError(
                say(
                    "The text has {count} words, and this prediction needs {fewest} to {most}; "
                    "write another text.",
                    count=len(words),
                    fewest=FEWEST,
                    most=MOST,
                )
            )
        labels = tuple(map(token_label, words))
        figure = marked("Tokens of the word")
        return Bars(labels, "", figure, TOKENS, self.low, self.high)

    def truth(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[float, ...]:
        return tuple(float(len(model.vocabulary.encode(word))) for word in WORD.findall(prompt))


KINDS: dict[str, type[Prediction]] = {
    kind.kind: kind for kind in (NextToken, AgainstSetting, PerStep, AgainstInput, TokensPerWord)
}


def read_prediction(table: Table) -> Prediction:
    """The prediction that a table describes; raises `LessonError`."""
    return KINDS[table.chosen("kind", KINDS)].read(table)
