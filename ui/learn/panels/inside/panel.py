"""The inside of the model as a panel of a lesson."""

from __future__ import annotations

from typing import ClassVar

from ui.learn.checks import bits, percent, shown_as
from ui.learn.functions import Functions
from ui.learn.panels.inside import attention as attention_section
from ui.learn.panels.inside import loss as loss_section
from ui.learn.panels.inside import training as training_section
from ui.learn.panels.inside import weights as weights_section
from ui.learn.panels.inside.attention import Attention
from ui.learn.panels.inside.loss import Loss
from ui.learn.panels.inside.training import Training
from ui.learn.panels.measurement.panel import MEASURES as ANY
from ui.learn.panels.measurement.panel import MeasurementPanel
from ui.measurements.page import MeasurementPage
from ui.measurements.state import MeasurementState

SECTIONS = (
    weights_section.SECTION,
    attention_section.SECTION,
    loss_section.SECTION,
    training_section.SECTION,
)
MEASURES = Functions(ANY)


@MEASURES.add
@shown_as(percent)
def attention(state: MeasurementState, to: int) -> float | None:
    """The attention weight that the last token gives to the token of this number, 0 to 1."""
    result = state.held.result()
    if not isinstance(result, Attention) or not 1 <= to <= len(result.tokens):
        return None
    return float(result.weights[-1, to - 1])


@MEASURES.add
@shown_as(bits)
def loss(state: MeasurementState) -> float | None:
    """The mean loss of the text, or of the training at the chosen entry, in bits per token."""
    result = state.held.result()
    return result.mean if isinstance(result, (Loss, Training)) else None


@MEASURES.add
def tokens_predicted(state: MeasurementState) -> float | None:
    """The number of tokens that have a loss: all but the first."""
    result = state.held.result()
    return len(result.bits) if isinstance(result, Loss) else None


class InsidePanel(MeasurementPanel, tag="inside"):
    """A picture of the model's inside; it has no page."""

    measures: ClassVar[Functions] = MEASURES
    measured_on: ClassVar[MeasurementPage] = MeasurementPage("inside", "", SECTIONS)

    @property
    def page(self) -> str:
        return ""
