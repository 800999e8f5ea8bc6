"""Time of the layers of a decode step, and the number of PyTorch calls in it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch

from engine.measure.reference import synchronize
from engine.measure.roofline.operations import counted_calls
from engine.measure.roofline.results import Layers
from engine.measure.samples import median
from engine.model import LanguageModel
from engine.model.preemption import layers_of
from engine.runner.turns import exclusive, timed_read, timed_step

STEPS = 16
PROMPT = 16
SMALL_CALLS = 2_000


def measured_layers(model: LanguageModel) -> Layers | None:
    """Time the layers of a decode step; returns None if the model has no list of layers.

    On a GPU the step is launched kernel by kernel, and takes longer than a captured one. Raises as
    `timed_read` does.
    """
    layers, head = layers_of(model.hf), model.hf.get_output_embeddings()
    if not layers:
        return None
    # A captured graph runs no module; on a GPU, layers are launched one by one as in parity mode.
    cache = timed_read(model, [0] * PROMPT).cache
    step_of = partial(timed_step, model, 0, cache, parity=model.device.type == "cuda")
    times, heads, around, steps = [], [], [], []
    for step in range(STEPS + 1):
        with (
            exclusive(),
            _watched(layers, model.device) as of_layers,
            _watched([head] if head is not None else [], model.device) as of_head,
        ):
            _, ms = step_of(PROMPT + step)
        if step:  # the first one is slower than the others
            times += of_layers
            heads += of_head
            around.append(max(0.0, ms - sum(of_layers) - sum(of_head)))
            steps.append(ms)
    return Layers(
        count=len(layers),
        layer_ms=median(times),
        layer_bytes=_bytes(layers[0]),
        head_ms=median(heads) if heads else 0.0,
        head_bytes=_bytes(head) if head is not None else 0,
        around_ms=median(around),
        step_ms=median(steps),
        calls=counted_calls(partial(step_of, PROMPT + STEPS + 1)),
        call_us=_small_call_us(model),
    )


def _bytes(module: torch.nn.Module) -> int:
    return sum(one.numel() * one.element_size() for one in module.parameters())


@contextmanager
def _watched(modules: list[torch.nn.Module], device: torch.device) -> Iterator[list[float]]:
    """Yield a list that contains the milliseconds of every module call once the block ends."""
    clock = _Events() if device.type == "cuda" else _Clock()
    handles = [one.register_forward_pre_hook(clock.begin) for one in modules]
    handles += [one.register_forward_hook(clock.end) for one in modules]
    found: list[float] = []
    try:
        yield found
        synchronize(device)
        found += clock.times()
    finally:
        for handle in handles:
            handle.remove()


class _Clock:
    """Times modules by the clock of the processor that runs them."""

    def __init__(self) -> None:
        self._begun = 0.0
        self._times: list[float] = []

    def begin(self, *_: object) -> None:
        self._begun = time.perf_counter()

    def end(self, *_: object) -> None:
        self._times.append((time.perf_counter() - self._begun) * 1e3)

    def times(self) -> list[float]:
        return self._times


class _Events:
    """Times modules by a GPU's clock, from event to event, gaps between kernels included."""

    def __init__(self) -> None:
        self._events: list[torch.cuda.Event] = []

    def begin(self, *_: object) -> None:
        self._note()

    def end(self, *_: object) -> None:
        self._note()

    def _note(self) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self._events.append(event)

    def times(self) -> list[float]:
        pairs = zip(self._events[::2], self._events[1::2], strict=True)
        return [begin.elapsed_time(end) for begin, end in pairs]


def _small_call_us(model: LanguageModel) -> float:
    """Return the time of one operator call that adds a single number, in microseconds."""
    number = torch.ones(1, device=model.device)
    with exclusive():
        synchronize(model.device)
        start = time.perf_counter()
        for _ in range(SMALL_CALLS):
            torch.add(number, number)
        synchronize(model.device)
        return (time.perf_counter() - start) * 1e6 / SMALL_CALLS
