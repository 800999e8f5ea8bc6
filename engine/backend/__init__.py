"""The seam to a model: `Backend`, `Sequence`, `Reading`, and what each model can do."""

from engine.backend.base import Backend, Reading, Sequence
from engine.backend.capabilities import CAPABILITIES, fitted, limits, require

__all__ = [
    "CAPABILITIES",
    "Backend",
    "Reading",
    "Sequence",
    "fitted",
    "lacking",
    "limits",
    "require",
]
