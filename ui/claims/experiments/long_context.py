"""The claim that long context costs memory."""

from __future__ import annotations

from dataclasses import dataclass

from engine.claims.experiment import Experiment
from engine.claims.experiments.long_context import LongContext, long_context_experiment
from engine.measure.cache_bytes import MOST_BATCH, MOST_POSITIONS
from engine.model import LanguageModel
from ui.cache.bytes.charts import bytes_figure
from ui.claims.claim import claim
from ui.claims.inputs import ClaimInputs
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart
from ui.measurements.section import Shown, Table
from ui.words.language import say


@dataclass(frozen=True)
class LengthInputs(ClaimInputs):
    """What is counted.

    Attributes, besides the prediction:
        positions: tokens of the longest text.
        batch: texts at once.
    """

    positions: int = 1024
    batch: int = 1


def _experiment(model: LanguageModel, inputs: LengthInputs) -> Experiment[LongContext]:
    return long_context_experiment(model, inputs.positions, inputs.batch)


def _fields(held: Held) -> None:
    with fields.row():
        fields.whole(held, "positions", say("Positions"), 2, MOST_POSITIONS)
        fields.whole(held, "batch", say("Batch"), 1, MOST_BATCH, help=say("Texts at once."))


def _picture(result: LongContext, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            f"{shown.name}_bytes",
            say("Bytes of the cache"),
            say("Each dot is counted in memory; the line is computed from the configuration."),
            bytes_figure(result.measured, (), shown.dark),
        )


def _lengths(result: LongContext) -> Table:
    rows = [
        (one.positions, one.measured, one.computed if result.measured.is_known else None)
        for one in result.measured.points
    ]
    return Table(
        say("Lengths"), (say("positions"), say("bytes, counted"), say("bytes by the formula")), rows
    )


SECTION = claim(
    "long_context",
    inputs=LengthInputs,
    result=LongContext,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (_lengths(result),),
)
