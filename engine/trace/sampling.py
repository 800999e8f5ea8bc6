"""Sampling, with and without guidance, as a trace holds it; its step is in `engine.trace.steps`."""

from __future__ import annotations

from typing import Any

from engine.trace.steps import Step
from engine.trace.strategy import Strategy, check_sampling


class Sampling(Strategy):
    """A draw from what the sampling chain leaves, also under classifier-free guidance."""

    step = Step

    def check(self, settings: dict[str, Any], vocab_size: int) -> None:
        check_sampling(settings, vocab_size)
