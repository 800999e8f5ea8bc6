"""The claim that the same settings give different texts, and the same seed the same text."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from engine.claims.experiments.same_seed import MOST_RUNS, MOST_TOKENS, SameSeed, SameSeedExperiment
from engine.claims.uncertainty import Figure, share
from engine.model import LanguageModel
from ui.claims.charts import intervals_figure
from ui.claims.claim import claim
from ui.claims.inputs import PromptsInputs, lines, numbers
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart
from ui.measurements.section import Shown, Table
from ui.skeleton.tables import text_list
from ui.texts.limits import LARGEST_SEED
from ui.words.language import Literal, say, with_figures

PROMPTS = """Once upon a time
The capital of France is
Yesterday I met a"""


@dataclass(frozen=True)
class SeedInputs(PromptsInputs):
    """What is written.

    Attributes, besides prediction and prompts:
        temperatures: with commas between them.
        runs: texts of each kind.
        tokens: of each text.
        seed: the same one.
    """

    prompts: str = PROMPTS
    temperatures: str = "0, 0.8"
    runs: int = 4
    tokens: int = 20
    seed: int = 1


def _experiment(model: LanguageModel, inputs: SeedInputs) -> SameSeedExperiment:
    temperatures = numbers(say("Temperatures"), inputs.temperatures)
    return SameSeedExperiment(
        model, lines(inputs.prompts), temperatures, inputs.runs, inputs.tokens, inputs.seed
    )


def _fields(held: Held) -> None:
    fields.text(held, "prompts", say("Prompts, one a line"), height=100)
    with fields.row():
        fields.line(held, "temperatures", say("Temperatures"))
        fields.whole(held, "runs", say("Texts of each kind"), 2, MOST_RUNS)
        fields.whole(held, "tokens", say("Tokens of a text"), 1, MOST_TOKENS)
        fields.whole(held, "seed", say("The same seed"), 0, LARGEST_SEED)


def _others(result: SameSeed) -> dict[str, list[tuple[str, Figure]]]:
    """By kind of seed: temperature, and the share of texts that are other than the first."""
    kinds = {
        say("fresh seeds"): result.other,
        say("the same seed"): lambda temperature: [not same for same in result.same(temperature)],
    }
    return {
        name: [(with_figures(f"T = {one:g}"), share(flags(one))) for one in result.temperatures]
        for name, flags in kinds.items()
    }


def _picture(result: SameSeed, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            f"{shown.name}_others",
            say("Texts that differ from the first"),
            say("With the same seed no bar may rise. Whiskers are 95 %."),
            intervals_figure(_others(result), say("other than the first text"), shown.dark),
        )
    with st.expander(say("The texts")):
        for run in result.runs:
            fresh = [((say("fresh seed"),), text) for text in run.unseeded]
            same = [((say("seed {seed}", seed=run.seed),), text) for text in run.seeded]
            name = f"{run.prompt}, {with_figures(f'T = {run.temperature:g}')}"
            st.html(text_list(say("Texts of {name}", name=name), run.prompt, [*fresh, *same]))


def _texts(result: SameSeed) -> Table:
    rows = [
        (Literal(run.prompt), run.temperature, kind, Literal(text))
        for run in result.runs
        for kind, texts in ((say("fresh"), run.unseeded), (str(run.seed), run.seeded))
        for text in texts
    ]
    return Table(say("Texts"), (say("prompt"), say("temperature"), say("seed"), say("text")), rows)


SECTION = claim(
    "same_seed",
    inputs=SeedInputs,
    result=SameSeed,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (_texts(result),),
)
