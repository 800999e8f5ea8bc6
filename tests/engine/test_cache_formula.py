"""The arithmetic of a cache's bytes, on figures that can be checked mentally."""

import pytest

from engine.cache_formula import (
    IDEAL,
    TENSORS,
    CacheFormula,
    Last,
    Layer,
    Number,
    Paged,
    Storage,
    keys_and_values,
)
from engine.errors import SettingError

HEADS, SIZE = Number(2, "KV heads", "h", "a"), Number(4, "per head", "d", "b")
WINDOW = Last(Number(10, "positions of the window", "W", "c"))
HALF = Storage("bfloat16", 16)
ONE = 2 * 2 * 4 * 2  # K and V, heads, size, bytes
FULL = Layer("full attention", keys_and_values(HEADS, SIZE, SIZE))
SLIDING = Layer("sliding-window attention", keys_and_values(HEADS, SIZE, SIZE, WINDOW))


def test_bytes_are_the_product_of_all_factors():
    formula = CacheFormula((FULL, FULL), HALF, HALF)
    assert formula.bytes_at(7) == 2 * 7 * ONE
    assert formula.bytes_at(7, batch=3) == 3 * 2 * 7 * ONE
    assert formula.bytes_per_token == 2 * ONE
    assert formula.bytes_at(0) == 0
    assert str(formula) == "2 (K and V) x 2 layers x 2 KV heads x 4 per head x 2 bytes x positions"


def test_window_size_depends_on_the_layout():
    formula = CacheFormula((SLIDING,), HALF, HALF)
    for layout, positions, kept in (
        (IDEAL, 9, 9),
        (IDEAL, 99, 10),
        (TENSORS, 9, 9),
        (TENSORS, 99, 9),
        (Paged(4), 3, 4),
        (Paged(4), 9, 12),
        (Paged(4), 99, 16),  # nine positions fill three blocks, and may touch a fourth
        (Paged(1), 99, 10),
    ):
        assert formula.bytes_at(positions, layout) == kept * ONE


@pytest.mark.parametrize(("window", "block"), [(2, 1), (5, 4), (16, 16), (17, 4)])
def test_window_stays_within_its_reserved_blocks(window, block):
    layout = Paged(block)
    touched = [((n - 1) // block - max(0, n - window) // block + 1) * block for n in range(1, 200)]
    set_aside = [layout.last(n, window) for n in range(1, 200)]
    assert all(a <= b for a, b in zip(touched, set_aside, strict=True))
    assert max(touched) == max(set_aside)


def test_bytes_include_quantisation_scales():
    formula = CacheFormula((FULL,), Storage("int8", 8, 32, 16), HALF)
    assert formula.storage.bits_per_value == 8.5
    assert formula.bytes_at(64) == 64 * 16 * 8.5 / 8


@pytest.mark.parametrize("block", [0, 2.5])
def test_invalid_block_size_is_refused(block):
    with pytest.raises(SettingError, match="block size must be"):
        Paged(block)
