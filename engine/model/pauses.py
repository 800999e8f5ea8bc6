"""Between two layers a pass may stand still, so that a more urgent one goes first.

A pass of a large model on a CPU takes as long as somebody who steps beside it notices. Its layers
do not: each is over in a fraction. Who goes first is not known here: whoever runs the pass says so,
for the thread that runs it.

    with allowed(pause):                 # the scheduler, around every pass
        model.forward(...)               # asks `pause` before every layer

What is computed stays the same, bit for bit: the layers of one pass are only further apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import torch
from transformers import PreTrainedModel

from engine.model.kernels import can_set_aside, set_aside


class Pause(Protocol):
    """Whoever may let others go first.

    Attributes:
        seconds: that this took so far.
    """

    seconds: float

    @property
    def is_wished(self) -> bool:
        """Whether somebody more urgent waits; asked before every layer, so it must be cheap."""

    def take(self) -> None:
        """Let them go first. Raises nothing: the pass is half done."""


_PAUSE: ContextVar[Pause | None] = ContextVar("pause", default=None)


@contextmanager
def allowed(pause: Pause) -> Iterator[None]:
    """Let the passes that this thread runs within stand still between two layers."""
    token = _PAUSE.set(pause)
    try:
        yield
    finally:
        _PAUSE.reset(token)


def seconds_paused() -> float:
    """How long this thread has stood still within `allowed`; 0 outside."""
    pause = _PAUSE.get()
    return 0.0 if pause is None else pause.seconds


def layers_of(hf: PreTrainedModel) -> list[torch.nn.Module]:
    """The layers that every token goes through; empty where the model keeps no list of them."""
    count = getattr(hf.config.get_text_config(decoder=True), "num_hidden_layers", None)
    lists = (one for one in hf.base_model.modules() if isinstance(one, torch.nn.ModuleList))
    return list(next((one for one in lists if len(one) == count), []))


def pause_between_layers(hf: PreTrainedModel) -> None:
    """Ask before every layer of a model; on a GPU its passes are short, and nobody is asked."""
    if hf.device.type == "cpu":
        for layer in layers_of(hf):
            layer.register_forward_pre_hook(_stand_still)


def _stand_still(module: torch.nn.Module, inputs: tuple) -> None:
    pause = _PAUSE.get()
    if pause is not None and pause.is_wished and can_set_aside():
        with set_aside():
            pause.take()
