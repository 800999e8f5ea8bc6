"""The keys, or the values, of one layer and one row, as a quantised cache stores them."""

from __future__ import annotations

import torch

from engine.model.quantised.codes import Codes, decode, encode
from engine.model.quantised.settings import PER_CHANNEL, Quantisation


class QuantisedStates:
    """Keys or values of a row: the older positions quantised, the newest exact.

    A position is quantised once, when it leaves the residual; per channel, when its whole group has
    left it. So the number of passes in which a text was read does not matter.

    Args:
        how: bits, groups and residual.
        axis: axis along which the groups lie.
    """

    def __init__(self, how: Quantisation, axis: str) -> None:
        self._how = how
        self._options = {"bits": how.bits, "group": how.group, "axis": axis}
        self._unit = how.group if axis == PER_CHANNEL else 1  # positions quantised at once
        self._codes: Codes | None = None
        self._newest: torch.Tensor | None = None  # (heads, positions, channels)

    @property
    def bytes(self) -> int:
        """Bytes of the quantised and the exact positions."""
        newest = 0 if self._newest is None else self._newest.numel() * self._newest.element_size()
        return newest + (0 if self._codes is None else self._codes.bytes)

    @property
    def positions(self) -> int:
        """Number of positions."""
        return self._coded + (0 if self._newest is None else self._newest.shape[1])

    @property
    def _coded(self) -> int:
        return 0 if self._codes is None else self._codes.packed.shape[1]

    def append(self, states: torch.Tensor) -> None:
        """Append the states of new positions: (heads, new positions, channels)."""
        newest = states if self._newest is None else torch.cat([self._newest, states], dim=1)
        leaving = max(0, newest.shape[1] - self._how.residual) // self._unit * self._unit
        if leaving:
            codes = encode(newest[:, :leaving], **self._options)
            self._codes = codes if self._codes is None else self._codes.then(codes)
        # A copy: a view would keep the memory of the coded positions, or of all rows of a pass.
        self._newest = newest[:, leaving:].clone()

    def read(self) -> torch.Tensor:
        """Return all states, in their own dtype: (heads, positions, channels)."""
        if self._codes is None:
            return self._newest
        older = decode(self._codes, **self._options).to(self._newest.dtype)
        return torch.cat([older, self._newest], dim=1)

    def keep_last(self, positions: int) -> None:
        """Drop positions before the last `positions`, in whole groups, for a sliding window."""
        surplus = min(self.positions - positions, self._coded) // self._unit
        if surplus > 0:
            self._codes = self._codes.without(surplus * self._unit, surplus)
