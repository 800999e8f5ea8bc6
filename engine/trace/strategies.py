"""The ways of choosing tokens that a trace may hold, by name; each has a file of its own."""

from __future__ import annotations

from engine.trace.beam import Beam
from engine.trace.contrastive import Contrastive
from engine.trace.diffusion import Filling
from engine.trace.sampling import Sampling
from engine.trace.speculative import Speculative
from engine.trace.strategy import Strategy

STRATEGIES: dict[str, Strategy] = {
    "sampling": Sampling(),
    "guidance": Sampling(),
    "contrastive": Contrastive(),
    "diffusion": Filling(),
    "beam": Beam(),
    "speculative": Speculative(),
}
