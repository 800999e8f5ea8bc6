"""The claim that time grows with output tokens, hardly with prompt tokens."""

from __future__ import annotations

from dataclasses import dataclass

from engine.claims.experiment import Experiment
from engine.claims.experiments.output_time import OutputTime, output_time_experiment
from engine.measure.prefill_and_decode import MOST_ROUNDS
from engine.model import LanguageModel
from ui.cache.prefill_and_decode.charts import time_figure
from ui.claims.claim import claim
from ui.claims.inputs import ClaimInputs, wholes
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart
from ui.measurements.section import Shown, Table
from ui.words.language import say


@dataclass(frozen=True)
class TimeInputs(ClaimInputs):
    """What is timed.

    Attributes, besides the prediction:
        prompts, outputs: lengths in tokens, with commas between them.
        rounds: how often each pair is measured.
        hardly: a prompt token hardly adds time below this share of an output token's.
    """

    prompts: str = "8, 64, 256"
    outputs: str = "4, 16, 32"
    rounds: int = 5
    hardly: float = 0.1


def _experiment(model: LanguageModel, inputs: TimeInputs) -> Experiment[OutputTime]:
    prompts = wholes(say("Prompt tokens"), inputs.prompts)
    outputs = wholes(say("Output tokens"), inputs.outputs)
    return output_time_experiment(model, prompts, outputs, inputs.rounds, inputs.hardly)


def _fields(held: Held) -> None:
    with fields.row():
        fields.line(held, "prompts", say("Prompt tokens"))
        fields.line(held, "outputs", say("Output tokens"))
        fields.whole(held, "rounds", say("Rounds"), 1, MOST_ROUNDS)
        about = say("A prompt token hardly adds time below this share of an output token's.")
        fields.real(held, "hardly", say("Hardly, below"), step=0.05, help=about)


def _picture(result: OutputTime, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            f"{shown.name}_time",
            say("Time in all"),
            say(
                "How far the lines rise is what output tokens add; how far apart they lie, prompts."
            ),
            time_figure(result.measured, shown.dark),
        )


def _cells(result: OutputTime) -> Table:
    rows = [
        (one.prompt, one.output, one.first, one.total, len(one.first_ms))
        for one in result.measured.cells
    ]
    head = (
        say("prompt tokens"),
        say("output tokens"),
        say("first token, ms"),
        say("in all, ms"),
        say("rounds"),
    )
    return Table(say("Cells"), head, rows)


SECTION = claim(
    "output_time",
    inputs=TimeInputs,
    result=OutputTime,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (_cells(result),),
)
