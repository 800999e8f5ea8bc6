"""The loss while the bundled model was trained, from its log."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import plotly.graph_objects as go

from engine.model import BUNDLED_FOLDER, LanguageModel
from models.training.curves import read_log
from ui.charts.figure import show_figure
from ui.charts.template import palette, template
from ui.labs import fields
from ui.labs.inputs import PlainInputs
from ui.measurements.section import Section, Shown
from ui.measurements.section_state import SectionState
from ui.words.language import marked, say
from ui.words.metrics import number


@dataclass(frozen=True)
class TrainingInputs(PlainInputs):
    """The moment of the training to show, in millions of tokens read."""

    read: int = 1


@dataclass(frozen=True)
class Training:
    """The course of the model's training.

    Attributes:
        tokens: tokens read until each entry of the log.
        bits: mean loss on the texts of that entry, bits per token.
        place: the index of the entry that is shown.
    """

    tokens: np.ndarray
    bits: np.ndarray
    place: int

    @property
    def mean(self) -> float:
        """The mean loss of the entry that is shown, bits per token."""
        return float(self.bits[self.place])


@cache
def _log() -> tuple[np.ndarray, np.ndarray]:
    tokens, nats, _ = read_log(BUNDLED_FOLDER / "training_log.jsonl")
    return tokens, nats / math.log(2)


def _computed(model: LanguageModel, inputs: TrainingInputs) -> Training:
    tokens, bits = _log()
    before = int(np.searchsorted(tokens, inputs.read * 1e6, side="right")) - 1
    return Training(tokens, bits, max(0, before))


def _fields(held: SectionState) -> None:
    tokens, _ = _log()
    most = round(tokens[-1] / 1e6)
    fields.whole(held, "read", say("Tokens read, in millions"), 1, most, width=200)


def _picture(result: Training, shown: Shown) -> None:
    show_figure(training_figure(result, shown.dark), "learn_training", _notice(result))


def training_figure(result: Training, dark: bool = False) -> go.Figure:
    """Plot the loss over the tokens read, with a mark at the chosen entry."""
    colours = palette(dark)
    millions = result.tokens / 1e6
    figure = go.Figure(
        go.Scatter(
            x=millions,
            y=result.bits,
            mode="lines",
            line={"color": colours.series[0], "width": 1.8},
            hovertemplate=say("%{x:.0f} million tokens: %{y:.2f} bits<extra></extra>"),
            showlegend=False,
        )
    )
    figure.add_scatter(
        x=[millions[result.place]],
        y=[result.mean],
        mode="markers",
        marker={"symbol": "diamond", "size": 12, "color": colours.text},
        hoverinfo="skip",
        cliponaxis=False,
        showlegend=False,
    )
    figure.update_layout(
        template=template(dark),
        height=340,
        xaxis={"title": say("million tokens read"), "rangemode": "tozero"},
        yaxis={"title": say("loss, bits per token"), "rangemode": "tozero"},
    )
    return figure


def _notice(result: Training) -> str:
    return say(
        "After {read} million tokens: {bits} bits per token.",
        read=number(result.tokens[result.place] / 1e6, 1),
        bits=number(result.mean, 2),
    )


SECTION = Section(
    key="training",
    name=marked("Training"),
    about=marked("From the log of the bundled model's training: the loss on the texts just read."),
    inputs=TrainingInputs,
    result=Training,
    fields=_fields,
    picture=_picture,
    notice=_notice,
    computed=_computed,
    is_timed=False,
)
