"""Live panels of lessons: real parts of the app, set up by a lesson.

    panel.py     the base class of panels
    step/        the step page, with the parts that a lesson chooses
    lab/         the decoder pages, with their transport and picture
    measurement/ sections of the cache page, and claims
    inside/      the inside of the model: weights, attention, loss, training
    inputs.py    inputs of those pages, given and checked by lessons

A new kind needs a folder with a `Panel`, its measures and its actions, and its name in `AnyPanel`.
"""

from __future__ import annotations

from typing import get_args

from ui.learn.panels.inside.panel import InsidePanel
from ui.learn.panels.lab.beam import BeamPanel
from ui.learn.panels.lab.constrained import ConstrainedPanel
from ui.learn.panels.lab.diffusion import DiffusionPanel
from ui.learn.panels.lab.speculative import SpeculativePanel
from ui.learn.panels.measurement.pages import CachePanel, ClaimPanel
from ui.learn.panels.panel import Panel
from ui.learn.panels.step.panel import StepPanel
from ui.learn.source import Written

DecoderPanel = BeamPanel | SpeculativePanel | ConstrainedPanel | DiffusionPanel
AnyPanel = StepPanel | DecoderPanel | CachePanel | ClaimPanel | InsidePanel
PANELS: dict[str, type[Panel]] = {
    panel.__struct_config__.tag: panel for panel in get_args(AnyPanel)
}


class Same(Written, tag_field="kind", tag="same"):
    """The panel continued from the step before, as a table of lesson.toml.

    Attributes:
        parts: the parts shown from here on; None for those shown before.
    """

    parts: tuple[str, ...] | None = None
