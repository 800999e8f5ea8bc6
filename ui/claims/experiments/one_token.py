"""The claim that one other token changes what follows."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from engine.claims.experiments.one_token import MOST_TOKENS, Fork, OneToken, OneTokenExperiment
from engine.model import LanguageModel
from ui.charts.template import palette, template
from ui.claims.claim import claim
from ui.claims.inputs import STORY_PROMPTS, PromptsInputs, lines, wholes
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart
from ui.measurements.section import Shown, Table
from ui.skeleton.tables import text_list
from ui.words.labels import token_label
from ui.words.language import Literal, say
from ui.words.metrics import percent


@dataclass(frozen=True)
class ForkInputs(PromptsInputs):
    """The texts that are forked.

    Attributes, besides prediction and prompts:
        tokens: of each text.
        places: tokens before each fork, with commas between them.
        temperature: of the draws; 0 for greedy decoding.
    """

    prompts: str = STORY_PROMPTS
    tokens: int = 32
    places: str = "4, 12"
    temperature: float = 0.0


def _experiment(model: LanguageModel, inputs: ForkInputs) -> OneTokenExperiment:
    places = wholes(say("Tokens before the fork"), inputs.places)
    prompts = lines(inputs.prompts)
    return OneTokenExperiment(model, prompts, inputs.tokens, places, inputs.temperature)


def _fields(held: Held) -> None:
    fields.text(held, "prompts", say("Prompts, one a line"), height=150)
    with fields.row():
        fields.whole(held, "tokens", say("Tokens of a text"), 8, MOST_TOKENS)
        fields.line(held, "places", say("Tokens before the fork"))
        fields.real(held, "temperature", say("Temperature"), help=say("0 is greedy decoding."))


def changed_figure(result: OneToken, dark: bool = False) -> go.Figure:
    """Share of the forks whose new text lacks the old token, by its distance from the fork."""
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
        hovertemplate=say(
            "{count} tokens after: {share} of {forks} forks",
            count="%{x}",
            share="%{y:.0%}",
            forks="%{customdata}",
        )
        + "<extra></extra>",
    )
    figure.update_layout(
        template=template(dark),
        height=300,
        xaxis={"title": say("tokens after the replaced one")},
        yaxis={"title": say("forks that lack the token"), "range": [0, 1.05], "tickformat": ".0%"},
    )
    return figure


def _picture(result: OneToken, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            f"{shown.name}_changed",
            say("After the fork"),
            say(
                "How many of the new texts lack the old token. A text that came back to the same "
                "words would let the curve fall."
            ),
            changed_figure(result, shown.dark),
        )
    with st.expander(say("The texts")):
        for fork in result.forks:
            pair = [((say("as written"),), fork.old), (_facts(fork), fork.new)]
            name = say("Texts of {name}", name=Literal(fork.prompt))
            st.html(text_list(name, fork.prompt + fork.before, pair))


def _facts(fork: Fork) -> tuple[str, ...]:
    return (
        say("{new} instead of {old}", new=token_label(fork.forced), old=token_label(fork.taken)),
        say("it had {share}", share=percent(fork.share)),
        say("the new text lacks {share} of the later tokens", share=f"{fork.changed_share:.0%}"),
    )


def _forks(result: OneToken) -> Table:
    rows = [
        (f.prompt, f.before, f.taken, f.forced, f.share, f.changed_share, f.old, f.new)
        for f in result.forks
    ]
    head = (
        say("prompt"),
        say("before the fork"),
        say("token"),
        say("replaced by"),
        say("its probability"),
        say("later tokens that the new text lacks"),
        say("text as written"),
        say("text after the fork"),
    )
    return Table(say("Forks"), head, rows)


SECTION = claim(
    "one_token",
    inputs=ForkInputs,
    result=OneToken,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (_forks(result),),
)
