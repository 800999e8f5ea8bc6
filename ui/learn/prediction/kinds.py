"""The kinds of predictions, by their names in lessons; each has the fields of its table."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Literal

from msgspec import Meta, field
from msgspec.structs import force_setattr

from engine.decoder import Decoder
from engine.decoding import UNGUIDED
from engine.model import LanguageModel
from engine.sampling import STAGES, Distribution, SamplingSettings
from ui.labs.inputs import Inputs
from ui.learn.panels import DecoderPanel
from ui.learn.panels.lab.panel import play, settle
from ui.learn.prediction.figures import FIGURES, SHARE, TOKENS, Figure
from ui.learn.prediction.prediction import FEWEST, MOST, Bars, Prediction, PredictionError, Unit
from ui.learn.source import WithSettings, check_known, check_once, refuse, refusing
from ui.texts.settings import is_one_number
from ui.texts.texts import Beginning, checked_scale, new_text
from ui.words.catalogue import setting_name
from ui.words.labels import token_label
from ui.words.language import marked, say, with_figures
from ui.words.token_labels import labels_of

Values = Annotated[tuple[float, ...], Meta(min_length=FEWEST, max_length=MOST)]


class ScaledPrediction(Prediction, kw_only=True):
    """A prediction of values on a scale.

    Attributes in addition to those of `Prediction`:
        low, high: the ends of the scale; `high` may be left out if the unit has its own end.
    """

    low: float = 0.0
    high: float | None = None

    def check_scale(self, usual: float | None = None) -> None:
        """Let the scale end at the usual value if there is no `high`; raises `Refused`."""
        if self.high is None:
            if usual is None:
                refuse("high", "is missing", "give the end of the scale")
            force_setattr(self, "high", usual)
        if not self.low < self.high:
            refuse("high", f"is {self.high:g}, not above low, {self.low:g}", "use a larger number")


class FigurePrediction(WithSettings, ScaledPrediction, kw_only=True):
    """A prediction of a figure of a text's steps; subclasses add `figure`, a key of `FIGURES`."""

    named: dict[str, Any] = field(name="settings", default_factory=dict)

    @property
    def measured(self) -> Figure:
        """The figure to predict."""
        return FIGURES[self.figure]

    def __post_init__(self) -> None:
        self.check_scale(self.measured.high)
        _ = self.settings  # refuses wrong settings at once

    def curve(self, labels: tuple[str, ...], axis: str) -> Bars:
        """Return bars of the figure over these labels."""
        of = self.measured
        return Bars(labels, axis, of.label, of.unit, self.low, self.high, is_curve=True)


OTHERS = marked("All other tokens")
LEADING = 4  # tokens that the model chooses itself


class NextToken(WithSettings, Prediction, kw_only=True, tag="next_token"):
    """The probabilities of some tokens as the next one, and of all others together.

    Attributes in addition to those of `Prediction`:
        named: the settings by name.
        tokens: their texts; only for the first prompt, as other prompts have their own leading
        tokens.
        negative_prompt: the prompt that guidance leads away from; None without guidance.
        guidance_scale: the strength of guidance.
    """

    named: dict[str, Any] = field(name="settings", default_factory=dict)
    tokens: Annotated[tuple[str, ...], Meta(max_length=MOST - 1)] = ()
    negative_prompt: str | None = None
    guidance_scale: float = UNGUIDED

    def __post_init__(self) -> None:
        check_once("tokens", self.tokens)
        _ = self.settings  # refuses wrong settings at once
        with refusing("guidance_scale"):
            checked_scale(self.guidance_scale)

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
        if self.tokens and prompt == self.prompt:
            return [_id(model, text) for text in self.tokens]
        found = self._row(model, prompt).candidates(LEADING)
        # In alphabetical order, as their rank would give their probabilities away.
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


class AgainstSetting(FigurePrediction, kw_only=True, tag="against_setting"):
    """A figure of the next token against a setting, from the same logits.

    Attributes in addition to those of `FigurePrediction`:
        setting: a sampler of one number.
        values: its values.
    """

    figure: Literal[tuple(name for name, each in FIGURES.items() if each.follows_settings)]
    setting: Literal[tuple(filter(is_one_number, STAGES))]
    values: Values

    def __post_init__(self) -> None:
        super().__post_init__()
        with refusing("values"):
            _ = self.all_settings

    @cached_property
    def all_settings(self) -> list[SamplingSettings]:
        """The settings for each of the values; raises `SettingError`."""
        kind = int if isinstance(STAGES[self.setting].off, int) else float
        return [self.settings.replace(**{self.setting: kind(value)}) for value in self.values]

    def bars(self, model: LanguageModel, prompt: str) -> Bars:
        labels = tuple(with_figures(f"{value:g}") for value in self.values)
        return self.curve(labels, setting_name(self.setting))

    def truth(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[float, ...]:
        decoder = Decoder(model, prompt, self.settings)
        step = decoder.step()
        rows = (decoder.distribution(0, settings) for settings in self.all_settings)
        return tuple(self.measured.of(step, row, model) for row in rows)


class PerStep(FigurePrediction, kw_only=True, tag="per_step"):
    """A figure of every step of a text, computed or measured as the text is generated.

    Attributes in addition to those of `FigurePrediction`:
        steps: the number of steps.
    """

    figure: Literal[tuple(FIGURES)]
    steps: Annotated[int, Meta(ge=FEWEST, le=MOST)]

    def bars(self, model: LanguageModel, prompt: str) -> Bars:
        labels = tuple(str(number) for number in range(1, self.steps + 1))
        return self.curve(labels, marked("Step"))

    def revealed_labels(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[str, ...]:
        """Return a label for each step, with the token that it appended."""
        decoder = Decoder(model, prompt, self.settings)
        label = model.vocabulary.label
        return tuple(f"{bar} {token_label(label(decoder.step().token_id))}" for bar in bars.labels)

    def truth(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[float, ...]:
        decoder = Decoder(model, prompt, self.settings)
        values = []
        for index in range(self.steps):
            step = decoder.step()  # an end of text is a step like any other
            values.append(self.measured.of(step, decoder.distribution(index), model))
        return tuple(values)


OF_TEXTS: dict[str, tuple[str, Unit]] = {  # check of a panel: its label and its unit
    "logprob": (marked("Log-probability of the best text"), Unit(marked("nats"), 1)),
    "tokens_per_pass": (marked("Tokens per pass of the target"), Unit(marked("tokens"), 1)),
    "accepted": (marked("Share of proposed tokens that are accepted"), SHARE),
    "price": (marked("Price of the constraint"), Unit(marked("bits"), 1)),
    "mean_confidence": (marked("Mean confidence of the tokens when they are kept"), SHARE),
}
INPUTS = {  # inputs that lessons use; any other goes by its name in the code
    "width": marked("Width"),
    "draft_length": marked("Draft length g"),
    "steps": marked("Steps"),
    "temperature": marked("Temperature"),
}


class AgainstInput(ScaledPrediction, kw_only=True, tag="against_input"):
    """A figure of a whole text on a decoder page, against one of the page's inputs.

    Attributes in addition to those of `ScaledPrediction`:
        panel: the page and its inputs.
        input: name of the input that changes.
        values: its values.
        figure: a key of `OF_TEXTS`.
    """

    panel: DecoderPanel
    input: str
    values: Values
    figure: Literal[tuple(OF_TEXTS)]

    def __post_init__(self) -> None:
        check_known("figure", [self.figure], filter(self.panel.measures.__contains__, OF_TEXTS))
        record = self.panel.inputs.record()
        numbers = [name for name, value in record.items() if type(value) in (int, float)]
        check_known("input", [self.input], numbers)
        with refusing("values"):
            _ = self.all_inputs
        self.check_scale(1.0 if OF_TEXTS[self.figure][1] is SHARE else None)

    @cached_property
    def all_inputs(self) -> list[Inputs]:
        """The inputs for each of the values; raises `BrokenRecord`."""
        usual = self.panel.inputs
        record, kind = usual.record(), type(getattr(usual, self.input))
        return [usual.restored(record | {self.input: kind(value)}) for value in self.values]

    def bars(self, model: LanguageModel, prompt: str) -> Bars:
        label, unit = OF_TEXTS[self.figure]
        labels = tuple(with_figures(f"{value:g}") for value in self.values)
        axis = INPUTS.get(self.input, self.input)
        return Bars(labels, axis, label, unit, self.low, self.high, is_curve=True)

    def truth(self, model: LanguageModel, prompt: str, bars: Bars) -> tuple[float, ...]:
        return tuple(self._measured(model, prompt, inputs) for inputs in self.all_inputs)

    def _measured(self, model: LanguageModel, prompt: str, inputs: Inputs) -> float:
        lab = self.panel.lab_page.lab(model, replace(inputs, prompt=prompt), steps=0)
        try:
            settle(lab)
            play(lab)
            settle(lab)
            measured = self.panel.measures[self.figure](lab)
        finally:
            lab.release()
        if measured is None:
            raise PredictionError(say("This text has nothing to measure; use another prompt."))
        return float(measured)


WORD = re.compile(r"\s?\S+")


class TokensPerWord(ScaledPrediction, kw_only=True, tag="tokens_per_word"):
    """The number of tokens in each word of a text, together with the space before it."""

    def __post_init__(self) -> None:
        self.check_scale()

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


AnyPrediction = NextToken | AgainstSetting | PerStep | AgainstInput | TokensPerWord
