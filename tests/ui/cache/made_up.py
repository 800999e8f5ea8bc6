"""Results with round numbers, for drawing."""

from engine.measure.prefill_and_decode import Cell, PrefillAndDecode
from engine.measure.roofline.results import (
    BATCH,
    COPY,
    DECODE,
    PREFILL,
    PRODUCT,
    READ,
    READ_SMALL,
    Ceiling,
    Layers,
    Pass,
    Roofline,
)
from engine.measure.with_and_without import Difference, WithAndWithout


def text(**changes) -> WithAndWithout:
    """Twelve steps after four tokens: 2 ms with the cache, 10 ms without; one slow step in each."""
    cached = [8.0] + [2.0] * 11
    cached[5] = 9.0
    uncached = [10.0] * 12
    uncached[7] = 40.0
    values = {
        "prompt_tokens": 4,
        "text": " there was",
        "cached_ms": tuple(cached),
        "cached_bytes": (0, *range(400, 1500, 100)),
        "positions": tuple(range(4, 16)),
        "uncached_ms": tuple(uncached),
        "passes": (1,) * 12,
        "weight_bytes": 2048,
        "difference": None,
        "is_state": False,
        "reference_ms": (1.0, 1.1),
        "empty_ms": (2.0, 2.2),
        "block": 8,
    }
    return WithAndWithout(**values | changes)


DIFFERENCE = Difference(9, " a", "\u202e<b>", 0.0)


def grid(*cells: Cell) -> PrefillAndDecode:
    """A grid of 10 and 100 prompt tokens, 1 and 11 output tokens; all cells measured except one."""
    cells = cells or (
        Cell(10, 1, (20.0, 22.0), (0.0, 0.0), (0.0, 0.0)),
        Cell(10, 11, (20.0, 24.0), (100.0, 100.0), (11.0, 12.0)),
        Cell(100, 11, (50.0, 50.0), (100.0, 100.0), (11.0, 12.0)),
    )
    return PrefillAndDecode((10, 100), (1, 11), cells, (1.0,) * 4, 4096)


LAYERS = Layers(6, 0.5, 10_000_000, 1.0, 20_000_000, 0.4, 4.4, 500, 1.0)


def roofline(**changes) -> Roofline:
    """10 GB/s, 100 GFLOP/s; a decode step of 2 ms with a bound of 1 ms."""
    values = {
        "ceilings": (
            Ceiling(READ, "sum of all values", "float32", 1, 2**28, (9e9, 10e9)),
            Ceiling(COPY, "copy", "float32", 1, 2**28, (8e9,)),
            Ceiling(READ_SMALL, "sum of all values", "float32", 1, 2**20, (40e9,)),
            Ceiling(PRODUCT, "product", "float32", 1, 64, (100e9,)),
        ),
        "passes": (
            Pass(PREFILL, 1, 64, 0, 640_000_000, 9_000_000, 1_000_000, (10.0, 11.0, 12.0)),
            Pass(DECODE, 1, 1, 16, 10_000_000, 9_000_000, 1_000_000, (2.0,) * 8),
            Pass(BATCH, 1, 1, 64, 10_000_000, 9_000_000, 1_000_000, (2.0,) * 5),
            Pass(BATCH, 8, 1, 64, 80_000_000, 9_000_000, 8_000_000, (4.0,) * 5),
        ),
        "layers": LAYERS,
        "reference_ms": (1.0, 1.0, 3.0),
        "dtype": "float32",
        "threads": 1,
        "prefill_threads": 1,
    }
    return Roofline(**values | changes)
