"""The claim that speculative decoding is two to three times as fast."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from engine.claims.experiments.speculative import MOST_TOKENS, SpeculativeExperiment, Speedups
from engine.model import BUNDLED_DRAFT, LanguageModel
from ui.claims.charts import dots_figure
from ui.claims.claim import claim
from ui.claims.inputs import PromptsInputs, lines, numbers
from ui.labs import fields
from ui.labs.speculative.lab import ITSELF, LOOKUP, PROPOSERS
from ui.measurements.held import Held
from ui.measurements.measured import chart, sheet
from ui.measurements.section import Shown, Table
from ui.models.chooser import Choice, shared_model
from ui.words.language import Literal, say

PROMPTS = """Once upon a time, there was a little
The old house stood
The most important thing is
In the middle of the forest
The history of
I would like to"""


@dataclass(frozen=True)
class SpeculativeInputs(PromptsInputs):
    """What is written.

    Attributes, besides prediction and prompts:
        proposer: a key of `PROPOSERS`.
        lengths: draft lengths, with commas between them.
        tokens: of each text, at most.
        temperature: of both models.
        bound: the speed-up that the claim promises.
    """

    prompts: str = PROMPTS
    proposer: str = BUNDLED_DRAFT
    lengths: str = "2, 4, 8"
    tokens: int = 32
    temperature: float = 0.0
    bound: float = 2.0


def _experiment(model: LanguageModel, inputs: SpeculativeInputs) -> SpeculativeExperiment:
    return SpeculativeExperiment(
        model,
        lines(inputs.prompts),
        lambda: _draft(model, inputs.proposer),
        numbers(say("Draft lengths"), inputs.lengths),
        inputs.tokens,
        inputs.temperature,
        inputs.bound,
    )


def _draft(model: LanguageModel, proposer: str) -> LanguageModel | None:
    """The draft; None for prompt lookup, also if the bundled one has another tokenizer."""
    if proposer == LOOKUP:
        return None
    if proposer == ITSELF:
        return model
    draft = shared_model(Choice.parse(proposer))
    return draft if draft.vocabulary.has_tokens_of(model.vocabulary) else None


def _fields(held: Held) -> None:
    fields.text(held, "prompts", say("Prompts, one a line"), height=150)
    with fields.row():
        fields.choice(held, "proposer", say("Proposer"), fields.said(PROPOSERS))
        fields.line(held, "lengths", say("Draft lengths"))
        fields.whole(held, "tokens", say("Tokens of a text"), 8, MOST_TOKENS)
    with fields.row():
        fields.real(held, "temperature", say("Temperature"), step=0.1)
        fields.real(held, "bound", say("Speed-up that the claim promises"), step=0.5)


def _picture(result: Speedups, shown: Shown) -> None:
    if not result.has_draft:
        st.caption(say("Prompt lookup proposed. A draft model must have the target’s tokenizer."))
    if not shown.is_running:
        chart(
            f"{shown.name}_speedup",
            say("Speed-up"),
            say("A dot is a prompt and a draft length. Left of 1, plain decoding is faster."),
            dots_figure(
                {
                    f"g = {length}": [(one.prompt, one.speedup) for one in result.at(length)]
                    for length in result.lengths
                },
                say("times as fast as plain decoding"),
                shown.dark,
                shares=False,
            ),
        )
    sheet(_trials(result))


def _trials(result: Speedups) -> Table:
    rows = [
        (
            Literal(one.prompt),
            one.length,
            one.accepted / one.looked_at if one.looked_at else None,
            one.tokens / one.rounds,
            one.cost,
            one.speedup,
        )
        for one in result.trials
    ]
    head = (
        say("prompt"),
        say("draft length"),
        say("acceptance rate"),
        say("tokens of a round"),
        say("time of a round, plain steps"),
        say("speed-up"),
    )
    return Table(say("Trials"), head, rows)


SECTION = claim(
    "speculative",
    inputs=SpeculativeInputs,
    result=Speedups,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (_trials(result),),
)
