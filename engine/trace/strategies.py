"""All decoding strategies that a trace can record, by name; each has its own file."""

from __future__ import annotations

from typing import Any

from engine.trace.beam import Beam
from engine.trace.contrastive import Contrastive
from engine.trace.diffusion import Filling
from engine.trace.speculative import Speculative
from engine.trace.steps import Step
from engine.trace.strategy import Strategy, check_sampling


class Sampling(Strategy):
    """Sampling from the survivors of a chain, with or without classifier-free guidance."""

    step = Step
    decoder = "engine.decoding.decoder:Decoder"

    def check(self, settings: dict[str, Any], vocab_size: int) -> None:
        check_sampling(settings, vocab_size)


STRATEGIES: dict[str, Strategy] = {
    "sampling": Sampling(),
    "guidance": Sampling(),
    "contrastive": Contrastive(),
    "diffusion": Filling(),
    "beam": Beam(),
    "speculative": Speculative(),
}
