"""Live panels of lessons: real parts of the app, set up by a lesson.

    panel.py     what a panel is
    step/        the step page, with the parts that a lesson chooses
    lab/         the decoder pages, with their transport and picture
    measurement/ sections of the cache page, and claims
    inside/      the inside of the model: weights, attention, loss, training
    inputs.py    inputs of those pages, as lessons give them and ask for them

To add a kind: a folder with a `Panel`, its measures and its actions, and one line in `PANELS`.
"""

from __future__ import annotations

from ui.learn.panels.inside.panel import InsidePanel
from ui.learn.panels.lab.beam import BeamPanel
from ui.learn.panels.lab.constrained import ConstrainedPanel
from ui.learn.panels.lab.diffusion import DiffusionPanel
from ui.learn.panels.lab.speculative import SpeculativePanel
from ui.learn.panels.measurement.pages import CachePanel, ClaimPanel
from ui.learn.panels.panel import Panel
from ui.learn.panels.step.panel import StepPanel
from ui.learn.source import Table

PANELS: dict[str, type[Panel]] = {
    "step": StepPanel,
    "beam": BeamPanel,
    "speculative": SpeculativePanel,
    "constrained": ConstrainedPanel,
    "diffusion": DiffusionPanel,
    "cache": CachePanel,
    "claim": ClaimPanel,
    "inside": InsidePanel,
}
SAME = "same"  # the kind of a panel that goes on with that of the step before


def read_panel(table: Table, before: Panel | None) -> Panel:
    """The panel that a table of lesson.toml describes; raises `LessonError`.

    Args:
        table: the table.
        before: the panel of the step before.
    """
    kind = table.chosen("kind", PANELS if before is None else [*PANELS, SAME])
    panel = before.continued(table) if kind == SAME else PANELS[kind].read(table)
    table.end()
    return panel
