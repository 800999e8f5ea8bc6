"""Bytes of a model's cache: counted in its tensors, and computed from its configuration.

The model reads random tokens up to several lengths. At each length, a separate step reads the last
token, as in decoding, and then every layer's tensors are counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.cache_formula import TENSORS, Layer, in_numbers
from engine.checks import at_least_one
from engine.errors import NotAModelError, SettingError, msg
from engine.measure.measurement import MOST_POSITIONS, Measurement
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.model import cache as caches
from engine.model.cache_layers import formula_of
from engine.model.cache_size import CacheSize, cache_size, layer_sizes
from engine.runner.budget import budget_of
from engine.runner.turns import timed_read, timed_rows, timed_step
from engine.values import Name, Positive, Row, Text, Whole

MOST_BATCH = 256
_FIRST = 10  # the shortest length; each further one is twice as long, and few fill whole blocks


@dataclass(frozen=True)
class LayerBytes:
    """Bytes of one layer at the last length, for the whole batch.

    Attributes:
        kind: kind of layer, in the field's words.
        formula: the formula for one text, with its numbers; empty if none is known.
        computed: bytes by the formula, 0 if none is known.
        measured: bytes of the layer's tensors.
        held: bytes of the memory held for them.
    """

    kind: Name
    formula: Text
    computed: Whole
    measured: Whole
    held: Whole

    @property
    def is_equal(self) -> bool:
        """True if formula and tensors agree to the byte."""
        return bool(self.formula) and self.computed == self.measured


@dataclass(frozen=True)
class Point:
    """Bytes of all layers at one number of positions, for the whole batch."""

    positions: Positive
    computed: Whole
    measured: Whole
    held: Whole


@dataclass(frozen=True)
class CacheBytes:
    """Bytes of a cache at the lengths measured so far.

    Attributes:
        batch: number of texts at once.
        dtype: dtype in which keys and values are stored.
        points: by length, ascending.
        layers: bytes of each layer at the last length, in the order of the model.
        is_known: whether there is a formula for this configuration.
        problem: why there is no formula; empty if there is one.
    """

    batch: Positive
    dtype: Name
    points: Row[Point]
    layers: Row[LayerBytes]
    is_known: bool
    problem: Name

    @property
    def unequal(self) -> list[int]:
        """Layers, counted from 1, whose tensors differ from the formula."""
        return [n for n, layer in enumerate(self.layers, start=1) if not layer.is_equal]


class CacheBytesMeasurement(Measurement[CacheBytes]):
    """Counts the bytes of a cache at several lengths.

    Args:
        model: the model whose cache is counted.
        positions: tokens of the longest text.
        batch: number of texts at once.

    Raises:
        SettingError: more positions than the model supports, a batch that its cache does not
            support, or too little memory.
    """

    noun = "length"

    def __init__(self, model: LanguageModel, positions: int, batch: int) -> None:
        check(model, positions, batch)
        self._lengths = lengths(positions)
        super().__init__(self._lengths)
        self._model = model
        self._batch = batch
        self._points: list[Point] = []
        self._layers: tuple[LayerBytes, ...] = ()
        self._problem, self._formula = "", None
        try:
            self._formula = formula_of(model.hf.config, model.dtype)
        except NotAModelError as error:
            self._problem = error.message

    @staticmethod
    def estimated_seconds(model: LanguageModel, positions: int, batch: int, pace: Pace) -> float:
        """Estimate the duration of the measurement; raises the same errors."""
        check(model, positions, batch)
        read = sum(pace.read_seconds(length) for length in lengths(positions))
        return read + pace.step_seconds(len(lengths(positions)) * batch)

    def _measure(self, part: int) -> None:
        positions, model = self._lengths[part], self._model
        rng = np.random.Generator(np.random.PCG64(0))
        ids = rng.integers(0, model.vocab_size, positions).tolist()
        cache = timed_read(model, ids[:-1]).cache
        if self._batch > 1:
            _repeat(model, cache, self._batch)
            timed_rows(model, [ids[-1]] * self._batch, cache, positions - 1)
        else:
            timed_step(model, ids[-1], cache, positions - 1)
        layers = tuple(self._layer(n, size, positions) for n, size in self._sizes(cache))
        total = cache_size(cache)
        computed = sum(layer.computed for layer in layers)
        point = Point(positions, computed, total.logical, total.held)
        self._points[part:], self._layers = [point], layers

    def _sizes(self, cache: caches.Cache) -> list[tuple[int, CacheSize]]:
        return list(enumerate(layer_sizes(cache)))

    def _layer(self, place: int, size: CacheSize, positions: int) -> LayerBytes:
        formula = self._formula
        if formula is None:
            return LayerBytes("of a kind that is not known", "", 0, size.logical, size.held)
        layer: Layer = formula.layers[place]
        one = formula.of_layer(layer, positions, TENSORS)
        said = in_numbers(formula, layer, positions, TENSORS)
        return LayerBytes(layer.kind, said, int(one * self._batch), size.logical, size.held)

    @property
    def result(self) -> CacheBytes | None:
        """The bytes at the lengths measured so far; None before the first."""
        if not self._points:
            return None
        return CacheBytes(
            batch=self._batch,
            dtype=str(self._model.dtype).removeprefix("torch."),
            points=tuple(self._points),
            layers=self._layers,
            is_known=self._formula is not None,
            problem=self._problem,
        )


def lengths(positions: int) -> list[int]:
    """Return the lengths at which the cache is counted: doubled each time, up to `positions`."""
    found = [_FIRST]
    while found[-1] * 2 < positions:
        found.append(found[-1] * 2)
    return sorted({min(length, positions) for length in (*found, positions)})


def check(model: LanguageModel, positions: int, batch: int) -> None:
    """Raise `SettingError` if this model cannot be measured with these values."""
    most = min(model.context_length or MOST_POSITIONS, MOST_POSITIONS)
    remedy = msg("use 2 to {most:,}", most)
    if not 2 <= at_least_one(msg("Positions"), positions) <= most:
        raise SettingError(msg("Positions"), positions, msg("must fit {name}", model.name), remedy)
    if not at_least_one(msg("Batch"), batch) <= MOST_BATCH:
        raise SettingError(
            msg("Batch"), batch, "is too large", msg("use 1 to {most_batch}", MOST_BATCH)
        )
    limit = budget_of(model.device).limit
    try:
        formula = formula_of(model.hf.config, model.dtype)
    except NotAModelError:
        return
    needed = 3 * formula.bytes_at(positions, batch=batch)  # old, new and spare
    if needed > limit:
        raise SettingError(
            msg("Batch"),
            batch,
            msg(
                "needs {needed:,.1f} GiB with working memory, but only {limit:,.1f} GiB are "
                "available",
                (needed / 2**30, limit / 2**30),
            ),
            "use fewer texts or fewer positions",
        )


def _repeat(model: LanguageModel, cache: caches.Cache, batch: int) -> None:
    if not caches.can_repeat(cache):
        raise SettingError(
            msg("Batch"),
            batch,
            msg("does not work with {name}: its states cannot be duplicated", model.name),
            "use 1",
        )
    cache.batch_repeat_interleave(batch)
