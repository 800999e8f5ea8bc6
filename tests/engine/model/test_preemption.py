"""A pass that pauses between its layers while other passes run."""

import threading

import numpy as np
import pytest
import torch

from engine.model.kernels import ENGINE_LOCK
from engine.model.preemption import allowed, layers_of, seconds_paused
from tests.engine.tiny_models import shared

TEXT, OTHER = [1, 2, 3, 4, 5, 6], [9, 8, 7]


class Interrupted:
    """A turn that lets another thread run a pass before every layer."""

    def __init__(self, model) -> None:
        self.model = model
        self.is_wished = True
        self.seconds = 0.0
        self.others = []

    def take(self) -> None:
        """Run another thread's whole pass; this clock counts a hundred seconds for it."""
        thread = threading.Thread(target=self._other)
        thread.start()
        thread.join(30)
        assert not thread.is_alive(), "the other one cannot run"
        self.seconds += 100.0

    def _other(self) -> None:
        assert seconds_paused() == 0, "a pause belongs to its thread"
        self.others.append(self.model.forward(OTHER, self.model.new_cache(), 0).logits)


@pytest.mark.parametrize("architecture", ["llama", "mixtral", "mamba"])
def test_interrupted_pass_keeps_its_logits_time_and_threads(architecture):
    model, seen = shared(architecture), []
    other = model.forward(OTHER, model.new_cache(), 0).logits
    whole = model.forward(TEXT, model.new_cache(), 0).logits
    pause = Interrupted(model)
    look = layers_of(model.hf)[-1].register_forward_hook(
        lambda *_: seen.append(torch.get_num_threads())
    )
    try:
        with allowed(pause):
            forward = model.forward(TEXT, model.new_cache(), 0)
    finally:
        look.remove()
    assert np.array_equal(forward.logits, whole)
    assert forward.ms < 0, "hundreds of seconds were taken off"
    assert set(seen) == {model.kernels.threads or torch.get_num_threads()}
    assert len(pause.others) == len(layers_of(model.hf))
    assert all(np.array_equal(one, other) for one in pause.others)


def test_pass_holding_the_lock_is_not_interrupted():
    model = shared("llama")
    pause = Interrupted(model)
    with ENGINE_LOCK, allowed(pause):
        model.forward(TEXT, model.new_cache(), 0)
    assert not pause.others
    pause.is_wished = False
    with allowed(pause):
        model.forward(TEXT, model.new_cache(), 0)
    assert not pause.others and ENGINE_LOCK.depth == 0
