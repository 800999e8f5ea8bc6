"""Pauses between two layers of a pass, so that a more urgent pass goes first.

A pass of a large model on a CPU is long enough to hold up another user noticeably. Its layers are
not: each takes a fraction of that. The caller that runs the pass decides, for its thread, which
passes go first.

    with allowed(pause):                 # the scheduler, around every pass
        model.forward(...)               # asks `pause` before every layer

The results stay the same, bit for bit: the layers of one pass are only further apart in time.
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
    """Protocol of an object that pauses a pass for more urgent ones.

    Attributes:
        seconds: total time of the pauses so far.
    """

    seconds: float

    @property
    def is_wished(self) -> bool:
        """True if a more urgent pass is waiting; checked before every layer, so keep it cheap."""

    def take(self) -> None:
        """Let more urgent passes go first. Must not raise, since the pass is half done."""


_PAUSE: ContextVar[Pause | None] = ContextVar("pause", default=None)


@contextmanager
def allowed(pause: Pause) -> Iterator[None]:
    """Let this thread's passes in the block pause between two layers."""
    token = _PAUSE.set(pause)
    try:
        yield
    finally:
        _PAUSE.reset(token)


def seconds_paused() -> float:
    """Return how many seconds this thread has paused within `allowed`; 0 outside."""
    pause = _PAUSE.get()
    return 0.0 if pause is None else pause.seconds


def layers_of(hf: PreTrainedModel) -> list[torch.nn.Module]:
    """Return the layers that every token passes through; empty if they are not in a list."""
    count = getattr(hf.config.get_text_config(decoder=True), "num_hidden_layers", None)
    lists = (one for one in hf.base_model.modules() if isinstance(one, torch.nn.ModuleList))
    return list(next((one for one in lists if len(one) == count), []))


def pause_between_layers(hf: PreTrainedModel) -> None:
    """Allow a pause before every layer of a model, except on a GPU, whose passes are short."""
    if hf.device.type == "cpu":
        for layer in layers_of(hf):
            layer.register_forward_pre_hook(_stand_still)


def _stand_still(module: torch.nn.Module, inputs: tuple) -> None:
    pause = _PAUSE.get()
    if pause is not None and pause.is_wished and can_set_aside():
        with set_aside():
            pause.take()
