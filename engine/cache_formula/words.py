"""A formula spelled out: in symbols, and with the numbers put in."""

from __future__ import annotations

from collections.abc import Callable

from engine.cache_formula.formula import CacheFormula
from engine.cache_formula.kept import ALL, ONCE, Kept, Last, Layer, Once, OneIn, RestOf
from engine.cache_formula.layouts import Layout

NOTHING = "keeps nothing"


def in_symbols(layer: Layer) -> str:
    """Values of one layer: ``2 x h x d x n``."""
    return _joined(layer, lambda kept: _product(kept, [one.symbol for one in kept.factors]))


def _product(kept: Kept, factors: list[str]) -> str:
    return " x ".join([*factors, *([] if isinstance(kept.span, Once) else [kept.span.symbol])])


def in_numbers(formula: CacheFormula, layer: Layer, positions: int, layout: Layout) -> str:
    """Bytes of one layer of one text: ``2 x 8 KV heads x 128 per head x 4,096 positions x 2 B``."""

    def part(kept: Kept) -> str:
        factors = [f"{one.value:,} {one.words}" for one in kept.factors]
        bits = formula.stored_in(kept).bits_per_value
        stored = f"{bits // 8} B" if bits % 8 == 0 else f"{float(bits):g} bits"
        return " x ".join([*factors, *_often(kept, positions, layout), stored])

    return _joined(layer, part)


def _often(kept: Kept, positions: int, layout: Layout) -> list[str]:
    count = kept.span.count(positions, layout)
    if kept.span == ALL:
        return [f"{count:,} positions"]
    if isinstance(kept.span, Last):
        return [f"{count:,} positions (window {kept.span.window.value:,})"]
    if isinstance(kept.span, RestOf):
        return [f"{count:,} of {kept.span.rate.value:,} positions"]
    if isinstance(kept.span, OneIn):
        return [f"{count:,} entries"]
    return [] if kept.span == ONCE or count else ["0"]


def _joined(layer: Layer, part: Callable[[Kept], str]) -> str:
    """The parts with a plus between; keys and values of one shape are written once."""
    kept = list(layer.kept)
    words = []
    first = [(one.name, one.factors) for one in kept[:2]]
    if [name for name, _ in first] == ["keys", "values"] and first[0][1] == first[1][1]:
        words.append(f"2 x {part(kept[0])}")
        kept = kept[2:]
    words += [f"{one.name} {part(one)}" for one in kept]
    return " + ".join(words) or NOTHING
