"""The loss of a text: how little probability the model gave to each token that came."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import plotly.graph_objects as go

from engine.decoding import encode_prompt
from engine.errors import PromptError
from engine.model import LanguageModel
from engine.study import token_logprobs
from ui.charts.figure import show_figure
from ui.charts.template import palette, template
from ui.labs import fields
from ui.labs.inputs import PlainInputs
from ui.measurements.section import Section, Shown
from ui.measurements.section_state import SectionState
from ui.words.labels import token_label
from ui.words.language import marked, say, say_counted
from ui.words.metrics import number


def labels(model: LanguageModel, text: str) -> tuple[str, ...]:
    """Return the labels of a text's tokens; raises `PromptError` if there are none."""
    return tuple(token_label(model.vocabulary.label(one)) for one in encode_prompt(model, text))


MOST_TOKENS = 48


@dataclass(frozen=True)
class LossInputs(PlainInputs):
    """The text to compute the loss of."""

    text: str = "The green idea sleeps in a spoon."


@dataclass(frozen=True)
class Loss:
    """The loss of a text.

    Attributes:
        tokens: labels of all tokens except the first, which the model cannot predict.
        bits: loss of each token: -log2 of the probability that the model gave it.
    """

    tokens: tuple[str, ...]
    bits: np.ndarray

    @property
    def mean(self) -> float:
        """The mean over the tokens, bits."""
        return float(self.bits.mean())


@lru_cache(maxsize=64)
def _loss(model: LanguageModel, text: str) -> Loss:
    ids = encode_prompt(model, text)
    if not 2 <= len(ids) <= MOST_TOKENS:
        raise PromptError(
            say(
                "This text has {count} tokens; write 2 to {most}.",
                count=len(ids),
                most=MOST_TOKENS,
            )
        )
    bits = -token_logprobs(model, ids[:1], ids[1:]) / math.log(2)
    return Loss(labels(model, text)[1:], bits)


def _computed(model: LanguageModel, inputs: LossInputs) -> Loss:
    return _loss(model, inputs.text)


def _fields(held: SectionState) -> None:
    fields.text(held, "text", say("Text"))


def _picture(result: Loss, shown: Shown) -> None:
    show_figure(loss_figure(result, shown.dark), "learn_loss", _notice(result))


def loss_figure(result: Loss, dark: bool = False) -> go.Figure:
    """Draw a bar for the loss of each token."""
    colours = palette(dark)
    names = [f"{place + 2} {token}" for place, token in enumerate(result.tokens)]
    figure = go.Figure(
        go.Bar(
            x=names,
            y=result.bits,
            marker_color=colours.series[0],
            texttemplate="%{y:.1f}" if len(names) <= 16 else "",
            hovertemplate=say("%{x}: %{y:.2f} bits<extra></extra>"),
        )
    )
    figure.add_hline(y=result.mean, line={"color": colours.text, "dash": "dash"})
    figure.update_layout(
        template=template(dark),
        height=340,
        xaxis={"type": "category"},
        yaxis={"title": say("loss, bits"), "rangemode": "tozero"},
    )
    return figure


def _notice(result: Loss) -> str:
    worst = int(result.bits.argmax())
    return say_counted(
        len(result.tokens),
        "The mean over {count} token is {mean} bits. {token} was expected least, with {bits}.",
        "The mean over {count} tokens is {mean} bits. {token} was expected least, with {bits}.",
        mean=number(result.mean, 2),
        token=result.tokens[worst],
        bits=number(float(result.bits[worst]), 1),
    )


SECTION = Section(
    key="loss",
    name=marked("Loss"),
    about=marked("The loss of each token: −log₂ of the probability that the model gave to it."),
    inputs=LossInputs,
    result=Loss,
    fields=_fields,
    picture=_picture,
    notice=_notice,
    computed=_computed,
    is_timed=False,
)
