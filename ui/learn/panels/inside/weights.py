"""The weights: their number in each part of the model, and a corner of one matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.model import LanguageModel
from ui.labs import fields
from ui.labs.inputs import PlainInputs
from ui.measurements.drawing import sheet
from ui.measurements.section import Section, Shown, Table
from ui.measurements.section_state import SectionState
from ui.words.language import marked, say
from ui.words.metrics import number, percent

PARTS = {  # by a part of their weights' names
    "norm": marked("Norms"),
    "embed_tokens": marked("Embedding, also the output layer"),
    "self_attn": marked("Attention"),
    "mlp": marked("Feed-forward"),
}
CORNER = 6  # rows and columns shown of a matrix


@dataclass(frozen=True)
class WeightsInputs(PlainInputs):
    """The part to show, a key of `PARTS`."""

    part: str = "norm"


@dataclass(frozen=True)
class Weights:
    """The weights of the model by part.

    Attributes:
        counts: number of weights by part, in the order of `PARTS`.
        name: the name of a tensor of the chosen part.
        shape: the shape of that tensor.
        corner: its first rows and columns.
    """

    counts: dict[str, int]
    name: str
    shape: tuple[int, ...]
    corner: np.ndarray


def _part_of(name: str) -> str:
    """Return the part that a tensor belongs to; a norm within attention counts as a norm."""
    return next(part for part in PARTS if part in name)


def _computed(model: LanguageModel, inputs: WeightsInputs) -> Weights:
    counts = dict.fromkeys(PARTS, 0)
    chosen = None
    for name, tensor in model.hf.named_parameters():
        part = _part_of(name)
        counts[part] += tensor.numel()
        if part == inputs.part and chosen is None:
            chosen = name, tensor
    name, tensor = chosen
    corner = tensor.detach().reshape(-1, tensor.shape[-1])[:CORNER, :CORNER]
    return Weights(counts, name, tuple(tensor.shape), corner.float().cpu().numpy())


def _fields(held: SectionState) -> None:
    names = {part: say(name) for part, name in PARTS.items()}
    fields.choice(held, "part", say("Part"), names, width=320)


def _picture(result: Weights, shown: Shown) -> None:
    whole = sum(result.counts.values())
    rows = [
        (say(PARTS[part]), f"{count:,}", percent(count / whole))
        for part, count in result.counts.items()
    ]
    head = (say("Part"), say("weights"), say("of all"))
    sheet(Table(say("{count} weights", count=f"{whole:,}"), head, rows))
    shape = " × ".join(f"{size:,}" for size in result.shape)
    values = [[number(float(value), 3) for value in row] for row in result.corner]
    name = say("Its first weights, from {name} ({shape})", name=result.name, shape=shape)
    sheet(Table(name, _numbers(result.corner.shape[1]), values))


def _numbers(count: int) -> Sequence[str]:
    return [str(place + 1) for place in range(count)]


SECTION = Section(
    key="weights",
    name=marked("Weights"),
    about=marked("All numbers set by training, by the part of the model they belong to."),
    inputs=WeightsInputs,
    result=Weights,
    fields=_fields,
    picture=_picture,
    notice=lambda result: "",
    computed=_computed,
    is_timed=False,
)
