"""A comparison of texts that do not end by themselves, and what tests ask of one."""

from ui.compare.column import Column
from ui.compare.comparison import Comparison

PROMPT = "w1|w2|w3"


def settle(comparison: Comparison) -> None:
    """Let all texts become as long as they are to be."""
    player = comparison.player
    while player.is_growing or player.is_busy:
        if player.is_busy:
            player.job.wait(30)
        comparison.look()
    comparison.look()


def ids(column: Column) -> list[int]:
    return column.text.token_ids
