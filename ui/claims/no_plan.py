"""The claim that generation has no plan."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from engine.claims.experiments.no_plan import MOST_TOKENS, Fork, NoPlan, NoPlanExperiment
from engine.model import LanguageModel
from ui.charts.template import palette, template
from ui.claims.claim import claim
from ui.claims.inputs import PromptsInputs, lines, wholes
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart
from ui.measurements.section import Shown, Table
from ui.skeleton.tables import text_list
from ui.words.labels import token_label
from ui.words.metrics import percent

PROMPTS = """Once upon a time, there was a little
The old house stood
In the middle of the forest
One day, the king
The girl opened the box and found
My favourite thing in the world is"""


@dataclass(frozen=True)
class ForkInputs(PromptsInputs):
    """What is forked.

    Attributes, besides prediction and prompts:
        tokens: of each text.
        places: tokens before each fork, with commas between them.
        temperature: of the draws; 0 for greedy decoding.
    """

    prompts: str = PROMPTS
    tokens: int = 32
    places: str = "4, 12"
    temperature: float = 0.0


def _experiment(model: LanguageModel, inputs: ForkInputs) -> NoPlanExperiment:
    places = wholes("Tokens before the fork", inputs.places)
    return NoPlanExperiment(model, lines(inputs.prompts), inputs.tokens, places, inputs.temperature)


def _fields(held: Held) -> None:
    fields.text(held, "prompts", "Prompts, one a line", height=150)
    with fields.row():
        fields.whole(held, "tokens", "Tokens of a text", 8, MOST_TOKENS)
        fields.line(held, "places", "Tokens before the fork")
        fields.real(held, "temperature", "Temperature", help="0 is greedy decoding.")


def changed_figure(result: NoPlan, dark: bool = False) -> go.Figure:
    """Share of the forks whose token is another one, by the distance from the fork."""
    colours = palette(dark)
    longest = max(len(fork.changed) for fork in result.forks)
    counts = [[f.changed[n] for f in result.forks if n < len(f.changed)] for n in range(longest)]
    figure = go.Figure()
    figure.add_scatter(
        x=list(range(1, longest + 1)),
        y=[sum(flags) / len(flags) for flags in counts],
        customdata=[len(flags) for flags in counts],
        mode="lines+markers",
        marker={"size": 7, "color": colours.series[0]},
        line={"color": colours.series[0]},
        hovertemplate="%{x} tokens after: %{y:.0%} of %{customdata} forks<extra></extra>",
    )
    figure.update_layout(
        template=template(dark),
        height=300,
        xaxis={"title": "tokens after the replaced one"},
        yaxis={"title": "forks with another token", "range": [0, 1.05], "tickformat": ".0%"},
    )
    return figure


def _picture(result: NoPlan, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            f"{shown.name}_changed",
            "After the fork",
            "A text that came back to a plan would let the curve fall.",
            changed_figure(result, shown.dark),
        )
    with st.expander("The texts"):
        for fork in result.forks:
            pair = [(("as written",), fork.old), (_facts(fork), fork.new)]
            st.html(text_list(f"Texts of {fork.prompt}", fork.prompt + fork.before, pair))


def _facts(fork: Fork) -> tuple[str, ...]:
    return (
        f"{token_label(fork.forced)} instead of {token_label(fork.taken)}",
        f"it had {percent(fork.share)}",
        f"{fork.changed_share:.0%} of the later tokens changed",
    )


def _forks(result: NoPlan) -> Table:
    rows = [
        (f.prompt, f.before, f.taken, f.forced, f.share, f.changed_share, f.old, f.new)
        for f in result.forks
    ]
    head = (
        *("prompt", "before the fork", "token", "replaced by", "its probability"),
        *("later tokens that changed", "text as written", "text after the fork"),
    )
    return Table("Forks", head, rows)


SECTION = claim(
    "no_plan",
    inputs=ForkInputs,
    result=NoPlan,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (_forks(result),),
)
