"""Layouts: how much memory is reserved for a cache's contents."""

from __future__ import annotations

from engine.checks import at_least_one
from engine.errors import msg


class Layout:
    """A way to reserve memory; this base class reserves only the positions that a step reads.

    A sliding window of W positions covers the W positions that a token attends to, itself included.
    """

    name = "ideal"
    rule = "exactly the positions that attention reads"

    def all(self, positions: int) -> int:
        """Return how many positions are reserved in a layer that keeps all of them."""
        return positions

    def last(self, positions: int, window: int) -> int:
        """Return how many positions are reserved in a layer that keeps the last `window` ones."""
        return min(positions, window)


class Tensors(Layout):
    """The values in transformers' tensors between two steps.

    A window contains one position fewer than its size: the next token adds that position.
    """

    name = "tensors"
    rule = "the tensors of transformers' DynamicCache between two steps"

    def last(self, positions: int, window: int) -> int:
        """Return at most one less than the window."""
        return min(positions, window - 1)


class Paged(Layout):
    """Whole blocks of positions, as engines with paged attention reserve them.

    Every layer has its own blocks. A window seldom begins where a block does, so it has one block
    more than its positions fill. Data kept once per text takes no blocks.

    Kwon et al. 2023, Efficient Memory Management for Large Language Model Serving with
    PagedAttention, arXiv:2309.06180.

    Args:
        block: positions per block.
    """

    name = "paged"
    rule = "whole blocks of positions, as an engine with paged attention sets them aside"

    def __init__(self, block: int = 16) -> None:
        self.block = at_least_one(msg("block size"), block)

    def all(self, positions: int) -> int:
        """Return the number of positions in whole blocks."""
        return self._blocks(positions) * self.block

    def last(self, positions: int, window: int) -> int:
        """Return the number of positions in the most blocks that the last positions can span."""
        return min(self._blocks(positions), self._blocks(window - 1) + 1) * self.block

    def _blocks(self, positions: int) -> int:
        return -(-positions // self.block)


IDEAL, TENSORS = Layout(), Tensors()
