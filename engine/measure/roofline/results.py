"""Parts of a roofline, and the figures that follow from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from engine.measure.reference import changed
from engine.measure.samples import median
from engine.values import Amount, Name, Positive, Row, Whole

READ, READ_SMALL, COPY, PRODUCT = "read", "read small", "copy", "product"
PREFILL, DECODE, BATCH = "prefill", "decode", "batch"


@dataclass(frozen=True)
class Ceiling:
    """The rates of one kind of work, the fastest of which is a ceiling of the machine.

    Attributes:
        kind: ``read``: memory far above the processor's caches; ``read small``: as much memory as
            the model's weights, repeatedly; ``copy``; ``product`` of matrices.
        way: the method, in a few words.
        dtype: dtype of the values.
        threads: CPU threads; 0 on a GPU.
        size: bytes of the memory, or rows and columns of the matrices.
        rates: rate of every repetition: bytes per second, or operations per second for products.
    """

    kind: Literal[READ, READ_SMALL, COPY, PRODUCT]
    way: Name
    dtype: Name
    threads: Whole
    size: Positive
    rates: Row[Amount]

    @property
    def best(self) -> float:
        """The fastest repetition: a ceiling is the best that can be reached."""
        return max(self.rates)

    @property
    def spread(self) -> float:
        """Fastest over slowest repetition."""
        return max(self.rates) / min(self.rates)


@dataclass(frozen=True)
class Pass:
    """A kind of forward pass, timed several times.

    Attributes:
        kind: ``prefill``, ``decode`` or ``batch``.
        rows: texts read at once.
        tokens: new tokens of each text.
        positions: tokens of each text that were cached before.
        operations: additions and multiplications of its matrix products and attention, counted.
        weight_bytes: bytes of weights that it reads, computed.
        cache_bytes: bytes of cache that it reads and writes, computed from the cached tensors.
        ms: time of every repetition.
    """

    kind: Literal[PREFILL, DECODE, BATCH]
    rows: Positive
    tokens: Positive
    positions: Whole
    operations: Whole
    weight_bytes: Whole
    cache_bytes: Whole
    ms: Row[Amount]

    @property
    def seconds(self) -> float:
        """Median time, in seconds."""
        return median(self.ms) / 1e3

    @property
    def bytes(self) -> int:
        """Bytes of weights and cache together."""
        return self.weight_bytes + self.cache_bytes

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: operations per byte."""
        return self.operations / self.bytes

    @property
    def rate(self) -> float:
        """Operations per second."""
        return self.operations / self.seconds

    @property
    def byte_rate(self) -> float:
        """Bytes per second."""
        return self.bytes / self.seconds

    @property
    def per_second(self) -> float:
        """Tokens per second, over all rows."""
        return self.rows * self.tokens / self.seconds


@dataclass(frozen=True)
class Layers:
    """Time and memory of the layers of a decode step.

    Attributes:
        count: number of layers.
        layer_ms: median time of one layer.
        layer_bytes: bytes of a layer's weights.
        head_ms: median time of the output layer; 0 if the model has no separate one.
        head_bytes: bytes of the output layer's weights.
        around_ms: median time of a step outside these: look-up, masks, moving the logits.
        step_ms: median time of the whole step.
        calls: PyTorch operator calls in a step, inside and around its layers.
        call_us: time of one such call that adds a single number.
    """

    count: Positive
    layer_ms: Amount
    layer_bytes: Whole
    head_ms: Amount
    head_bytes: Whole
    around_ms: Amount
    step_ms: Amount
    calls: Whole
    call_us: Amount

    def reading_ms(self, bandwidth: float) -> float:
        """Return the time to read a layer's weights at `bandwidth` bytes per second."""
        return self.layer_bytes / bandwidth * 1e3

    def overhead_ms(self, bandwidth: float) -> float:
        """Return a layer's time beyond that of reading its weights."""
        return max(0.0, self.layer_ms - self.reading_ms(bandwidth))


@dataclass(frozen=True)
class Roofline:
    """A machine's ceilings and a model's passes, as far as measured.

    Attributes:
        ceilings: ceilings of this machine.
        passes: passes of the model.
        layers: layers of a decode step; None until measured, or if the model has no list of
            them.
        reference_ms: time of the reference product before each part.
        dtype: dtype of the model.
        threads: CPU threads of the model's single steps, 0 on a GPU.
        prefill_threads: CPU threads of its long passes.
    """

    ceilings: Row[Ceiling]
    passes: Row[Pass]
    layers: Layers | None
    reference_ms: Row[Amount]
    dtype: Name
    threads: Whole
    prefill_threads: Whole

    def of_kind(self, kind: str) -> list[Pass]:
        """Return the passes of a kind, in the order of measuring."""
        return [one for one in self.passes if one.kind == kind]

    @property
    def bandwidth(self) -> Ceiling | None:
        """The fastest way to read memory with a single step's threads; None before measuring."""
        return _best(one for one in self._of(READ) if one.threads == self.threads)

    @property
    def small_bandwidth(self) -> Ceiling | None:
        """The fastest way to read as much memory as the weights repeatedly."""
        return _best(self._of(READ_SMALL))

    @property
    def peak(self) -> Ceiling | None:
        """The fastest product in the model's dtype."""
        return _best(one for one in self._of(PRODUCT) if one.dtype == self.dtype)

    @property
    def ridge(self) -> float | None:
        """The intensity from which arithmetic is the ceiling; None before both are measured."""
        if self.peak is None or self.bandwidth is None:
            return None
        return self.peak.best / self.bandwidth.best

    def roof(self, intensity: float) -> float | None:
        """Return the operations per second that an intensity allows; None without both ceilings."""
        if self.peak is None or self.bandwidth is None:
            return None
        return min(self.peak.best, intensity * self.bandwidth.best)

    def predicted_per_second(self, step: Pass) -> float | None:
        """Return the steps per second that the decode law predicts: bandwidth / bytes of a step.

        None before the bandwidth is measured.
        """
        return None if self.bandwidth is None else self.bandwidth.best / step.bytes

    @property
    def changed_parts(self) -> list[int]:
        """Indices of the parts before which the machine's speed differed from its usual speed."""
        return changed(self.reference_ms)

    def _of(self, kind: str) -> Iterable[Ceiling]:
        return (one for one in self.ceilings if one.kind == kind)


def _best(ceilings: Iterable[Ceiling]) -> Ceiling | None:
    return max(ceilings, key=lambda one: one.best, default=None)
