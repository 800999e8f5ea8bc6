"""The attention weights of one head over the tokens of a text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import plotly.graph_objects as go

from engine.model import LanguageModel
from engine.study import attention_weights
from ui.charts.figure import show_figure
from ui.charts.template import palette, template
from ui.labs import fields
from ui.labs.inputs import PlainInputs
from ui.learn.panels.inside.loss import labels
from ui.measurements.section import Section, Shown
from ui.measurements.section_state import SectionState
from ui.words.language import marked, say
from ui.words.metrics import percent


@dataclass(frozen=True)
class AttentionInputs(PlainInputs):
    """A text, and a head by its layer and its number in it, both from 1."""

    text: str = "The dog saw the cat, and the dog"
    layer: int = 1
    head: int = 1


@dataclass(frozen=True)
class Attention:
    """The attention weights of one head over a text.

    Attributes:
        tokens: labels of the text's n tokens.
        weights: (n, n), in each row the share that a token takes from each token.
    """

    tokens: tuple[str, ...]
    weights: np.ndarray


@lru_cache(maxsize=64)
def _all_heads(model: LanguageModel, text: str) -> np.ndarray:
    return attention_weights(model, text)


def _computed(model: LanguageModel, inputs: AttentionInputs) -> Attention:
    weights = _all_heads(model, inputs.text)
    return Attention(labels(model, inputs.text), weights[inputs.layer - 1, inputs.head - 1])


def _fields(held: SectionState) -> None:
    config = held.model.config
    fields.text(held, "text", say("Text"))
    with fields.row():
        fields.whole(held, "layer", say("Layer"), 1, config.num_hidden_layers)
        fields.whole(held, "head", say("Head"), 1, config.num_attention_heads)


def _picture(result: Attention, shown: Shown) -> None:
    show_figure(attention_figure(result, shown.dark), "learn_attention", _notice(result))


def attention_figure(result: Attention, dark: bool = False) -> go.Figure:
    """Draw a row for each token, with its attention to itself and to each token before it."""
    count = len(result.tokens)
    later = np.triu(np.ones((count, count), bool), 1)  # not yet written, so empty
    names = [f"{place + 1} {token}" for place, token in enumerate(result.tokens)]
    figure = go.Figure(
        go.Heatmap(
            z=np.where(later, np.nan, 100 * result.weights),
            x=names,
            y=names,
            zmin=0,
            zmax=100,
            colorscale=list(palette(dark).scale),
            xgap=1,
            ygap=1,
            texttemplate="%{z:.0f}" if count <= 12 else "",
            colorbar={"ticksuffix": " %", "thickness": 12},
            hovertemplate=say("%{y} takes %{z:.1f} % from %{x}<extra></extra>"),
        )
    )
    figure.update_layout(
        template=template(dark),
        height=max(320, min(560, 120 + 26 * count)),
        xaxis={"title": say("attended"), "type": "category", "showgrid": False},
        yaxis={
            "title": say("attends"),
            "type": "category",
            "autorange": "reversed",
            "showgrid": False,
        },
        plot_bgcolor=palette(dark).ground,
    )
    return figure


def _notice(result: Attention) -> str:
    last = result.weights[-1]
    most = int(last.argmax())
    return say(
        "The last token, {token}, takes most from token {number}, {other}: {share}.",
        token=result.tokens[-1],
        number=most + 1,
        other=result.tokens[most],
        share=percent(float(last[most])),
    )


SECTION = Section(
    key="attention",
    name=marked("Attention"),
    about=marked(
        "Each row is a token: the share it takes from itself and from each earlier token."
    ),
    inputs=AttentionInputs,
    result=Attention,
    fields=_fields,
    picture=_picture,
    notice=_notice,
    computed=_computed,
    is_timed=False,
)
