"""The claim that cached decoding is flat, and uncached decoding grows."""

from __future__ import annotations

from dataclasses import dataclass

from engine.claims.experiment import Experiment
from engine.claims.experiments.cached_flat import CachedFlat, cached_flat_experiment
from engine.measure.with_and_without import MOST_POSITIONS
from engine.model import LanguageModel
from ui.cache.with_and_without.charts import latency_figure
from ui.claims.claim import claim
from ui.claims.inputs import ClaimInputs
from ui.labs import fields
from ui.measurements.held import Held
from ui.measurements.measured import chart
from ui.measurements.section import Shown, Table
from ui.words.language import say


@dataclass(frozen=True)
class StepsInputs(ClaimInputs):
    """What is decoded.

    Attributes, besides the prediction:
        prompt: what the text goes on from.
        positions: tokens of the text at its last step.
        every: without the cache, every so many steps are measured.
        flat: growth below which a time counts as flat.
    """

    prompt: str = "Once upon a time, there was a little"
    positions: int = 256
    every: int = 4
    flat: float = 1.25


def _experiment(model: LanguageModel, inputs: StepsInputs) -> Experiment[CachedFlat]:
    return cached_flat_experiment(model, inputs.prompt, inputs.positions, inputs.every, inputs.flat)


def _fields(held: Held) -> None:
    fields.line(held, "prompt", say("Prompt"))
    with fields.row():
        fields.whole(held, "positions", say("Positions"), 2, MOST_POSITIONS)
        about = say("1 measures every step without the cache, 4 one in four.")
        fields.whole(
            held, "every", say("Without the cache, every"), 1, 10_000, width=190, help=about
        )
        about = say(
            "A time is flat where steps of the later half take less than so many times as long."
        )
        fields.real(held, "flat", say("Flat, below"), step=0.1, help=about)


def _picture(result: CachedFlat, shown: Shown) -> None:
    if not shown.is_running:
        chart(
            f"{shown.name}_steps",
            say("Time per step"),
            say("A cross marks a step that stands out among its neighbours."),
            latency_figure(result.measured, shown.dark),
        )


def _steps(result: CachedFlat) -> Table:
    found = result.measured
    without = dict(zip(found.positions, found.uncached_ms, strict=True))
    rows = [
        (position, ms, without.get(position))
        for position, ms in zip(found.cached_positions, found.cached_ms, strict=True)
    ]
    return Table(
        say("Steps"), (say("position"), say("with the cache, ms"), say("without, ms")), rows
    )


SECTION = claim(
    "cached_flat",
    inputs=StepsInputs,
    result=CachedFlat,
    experiment=_experiment,
    fields=_fields,
    picture=_picture,
    tables=lambda result: (_steps(result),),
)
