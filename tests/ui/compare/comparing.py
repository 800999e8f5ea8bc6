"""A comparison of texts that do not end on their own, and helpers for tests."""

from ui.compare.column import Column
from ui.compare.comparison import Comparison

PROMPT = "w1|w2|w3"


def settle(comparison: Comparison) -> None:
    """Let all texts reach their full length."""
    assert comparison.player.settle(30)
    comparison.look()


def ids(column: Column) -> list[int]:
    return column.text.token_ids
