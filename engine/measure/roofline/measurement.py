"""The roofline, part by part: ceilings of the machine, passes of the model, layers of a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from engine.errors import SettingError, msg
from engine.measure.measurement import Measurement
from engine.measure.pace import Pace
from engine.measure.reference import Reference
from engine.measure.roofline.ceilings import (
    GPU_MEMORY,
    GPU_PRODUCTS,
    MEMORY,
    PRODUCTS,
    Way,
    bandwidths,
    products,
    takes_long,
)
from engine.measure.roofline.layers import measured_layers
from engine.measure.roofline.operations import counted_operations
from engine.measure.roofline.results import (
    BATCH,
    DECODE,
    PREFILL,
    Ceiling,
    Layers,
    Pass,
    Roofline,
)
from engine.model import LanguageModel
from engine.model import cache as caches
from engine.model.cache_size import cache_size
from engine.model.preemption import layers_of
from engine.runner.turns import at_once, is_small, timed_read, timed_rows, timed_step

READS = 3
STEPS = 8
BATCH_STEPS = 5
BATCH_POSITIONS = 64  # cached in each row of a batch
MOST_ROWS = 256
CEILING_SECONDS = 0.5  # of each ceiling, for the time left


@dataclass(frozen=True)
class Plan:
    """Passes and ceilings to measure.

    Attributes:
        prefills: tokens of each prefill.
        decodes: positions cached before each decode step.
        batches: rows of each batch.
        memory: bytes read and copied for the ceilings.
        products: rows and columns of the matrices to multiply, ascending.
    """

    prefills: tuple[int, ...]
    decodes: tuple[int, ...]
    batches: tuple[int, ...]
    memory: int
    products: tuple[int, ...]

    @classmethod
    def usual(cls, model: LanguageModel, batches: Sequence[int]) -> Plan:
        """Return a model's usual plan: short passes, up to the length of its context.

        Raises:
            SettingError: the rows are out of range.
        """
        for rows in batches:
            if not 1 <= rows <= MOST_ROWS:
                remedy = msg("use 1 to {most_rows}", MOST_ROWS)
                raise SettingError(msg("Rows of a batch"), rows, "is out of range", remedy)
        longest = (model.context_length or 2**31) - STEPS - 2
        whole = min(at_once(model), 1024 if is_small(model) else 256, longest)
        prefills = sorted({n for n in (16, 64, 256, 1024) if n < whole} | {max(1, whole)})
        decodes = sorted({max(1, min(n, longest)) for n in (16, 256, 960)})
        is_cpu = model.device.type == "cpu"
        return cls(
            tuple(prefills),
            tuple(decodes),
            tuple(sorted(set(batches))),
            MEMORY if is_cpu else GPU_MEMORY,
            PRODUCTS if is_cpu else GPU_PRODUCTS,
        )


class RooflineMeasurement(Measurement[Roofline]):
    """Measures the machine, then the model.

    Args:
        model: the model.
        plan: the passes and ceilings to measure.
    """

    noun = "part"

    def __init__(self, model: LanguageModel, plan: Plan) -> None:
        self._model = model
        self._ceilings: list[Ceiling] = []
        self._passes: list[Pass] = []
        self._layers: Layers | None = None
        self._references: list[float] = []
        self._reference = Reference(model)
        ways = ways_of(model, plan)
        steps: list[Callable[[], None]] = [lambda way=way: self._ceiling(way) for way in ways]
        steps += [lambda n=n: self._prefill(n) for n in plan.prefills]
        steps += [lambda n=n: self._decode(n) for n in plan.decodes]
        if self.can_batch:
            steps += [lambda n=n: self._batch(n) for n in plan.batches]
        if layers_of(model.hf):
            steps.append(self._measure_layers)
        self._steps = steps
        passes = len(steps) - len(ways)
        super().__init__([CEILING_SECONDS] * len(ways) + [1.0] * passes)

    @staticmethod
    def estimated_seconds(model: LanguageModel, plan: Plan, pace: Pace) -> float:
        """Estimate the duration of the roofline measurement."""
        prefills = sum((READS + 2) * pace.read_seconds(n) for n in plan.prefills)
        decodes = sum(pace.read_seconds(n) + pace.step_seconds(STEPS + 2) for n in plan.decodes)
        batches = sum((BATCH_STEPS + 2) * pace.read_seconds(max(4, n)) for n in plan.batches)
        layers = pace.step_seconds(20)
        return prefills + decodes + batches + layers + CEILING_SECONDS * len(ways_of(model, plan))

    @property
    def can_batch(self) -> bool:
        """True if one pass can decode several texts."""
        cache = self._model.new_cache()
        return caches.is_attention(cache)

    def _measure(self, part: int) -> None:
        self._references[part:] = [self._reference.ms()]
        self._steps[part]()

    def _ceiling(self, way: Way) -> None:
        if not takes_long(way, self._ceilings):
            self._ceilings = [*self._ceilings, way.measured(self._model.device)]

    def _prefill(self, tokens: int) -> None:
        model, ids = self._model, self._tokens(tokens)
        reads = [timed_read(model, ids) for _ in range(READS)]
        operations = counted_operations(lambda: timed_read(model, ids))
        written = cache_size(reads[-1].cache).logical
        times = tuple(read.ms for read in reads)
        self._took(PREFILL, (1, tokens, 0), operations, written, times)

    def _decode(self, positions: int) -> None:
        model = self._model
        cache = timed_read(model, self._tokens(positions)).cache
        before = cache_size(cache).logical
        times = [timed_step(model, 0, cache, positions + n)[1] for n in range(STEPS + 1)][1:]
        written = (cache_size(cache).logical - before) // (STEPS + 1)
        at = positions + STEPS + 1
        # A captured graph calls no operators, so on a GPU the pass is counted kernel by kernel.
        is_gpu = model.device.type == "cuda"
        operations = counted_operations(partial(timed_step, model, 0, cache, at, parity=is_gpu))
        self._took(DECODE, (1, 1, positions), operations, before + written, tuple(times))

    def _batch(self, rows: int) -> None:
        model = self._model
        positions = min(BATCH_POSITIONS, max(1, (model.context_length or 2**31) - BATCH_STEPS - 3))
        cache = timed_read(model, self._tokens(positions)).cache
        with torch.inference_mode():
            cache.batch_select_indices(torch.zeros(rows, dtype=torch.long, device=model.device))
        before = cache_size(cache).logical
        ids = [0] * rows
        rows_of = partial(timed_rows, model, ids, cache)
        times = [rows_of(positions + n)[1] for n in range(BATCH_STEPS + 1)][1:]
        written = (cache_size(cache).logical - before) // (BATCH_STEPS + 1)
        operations = counted_operations(partial(rows_of, positions + BATCH_STEPS + 1))
        self._took(BATCH, (rows, 1, positions), operations, before + written, tuple(times))

    def _took(
        self,
        kind: str,
        shape: tuple[int, int, int],
        operations: int,
        cache_bytes: int,
        times: tuple[float, ...],
    ) -> None:
        weights = self._model.read_bytes
        one = Pass(kind, *shape, operations, weights, cache_bytes, times)
        self._passes = [*self._passes, one]

    def _measure_layers(self) -> None:
        self._layers = measured_layers(self._model)

    def _tokens(self, count: int) -> list[int]:
        return np.random.default_rng(0).integers(0, self._model.input_size, count).tolist()

    @property
    def result(self) -> Roofline | None:
        """The result so far."""
        if not self._ceilings:
            return None
        model = self._model
        usual = torch.get_num_threads()
        is_cpu = model.device.type == "cpu"
        return Roofline(
            tuple(self._ceilings),
            tuple(self._passes),
            self._layers,
            tuple(self._references),
            str(model.dtype).removeprefix("torch."),
            (model.kernels.threads or usual) if is_cpu else 0,
            (model.kernels.prefill_threads or usual) if is_cpu else 0,
        )


def ways_of(model: LanguageModel, plan: Plan) -> list[Way]:
    """Return all operations that are timed for a ceiling."""
    return [*bandwidths(model, plan.memory), *products(model, plan.products)]
