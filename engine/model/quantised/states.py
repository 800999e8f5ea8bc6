"""The keys, or the values, of one layer and one row, as a quantised cache holds them."""

from __future__ import annotations

import torch

from engine.model.quantised.codes import Codes, decode, encode
from engine.model.quantised.settings import PER_CHANNEL, Quantisation


class QuantisedStates:
    """Codes of the older positions, and the newest ones as they are.

    A position becomes codes once and for all when it leaves the residual; per channel, when its
    whole group has left it. So the number of passes in which a text was read does not matter.

    Args:
        how: bits, groups and residual.
        axis: axis along which the groups lie.
    """

    def __init__(self, how: Quantisation, axis: str) -> None:
        self._how = how
        self._options = {"bits": how.bits, "group": how.group, "axis": axis}
        self._unit = how.group if axis == PER_CHANNEL else 1  # positions that become codes together
        self._codes: Codes | None = None
        self._newest: torch.Tensor | None = None  # (heads, positions, channels)

    @property
    def bytes(self) -> int:
        """Bytes of all that is held."""
        newest = 0 if self._newest is None else self._newest.numel() * self._newest.element_size()
        return newest + (0 if self._codes is None else self._codes.bytes)

    @property
    def positions(self) -> int:
        """Positions held."""
        return self._coded + (0 if self._newest is None else self._newest.shape[1])

    @property
    def _coded(self) -> int:
        return 0 if self._codes is None else self._codes.packed.shape[1]

    def append(self, states: torch.Tensor) -> None:
        """Append (heads, new positions, channels)."""
        newest = states if self._newest is None else torch.cat([self._newest, states], dim=1)
        leaving = max(0, newest.shape[1] - self._how.residual) // self._unit * self._unit
        if leaving:
            codes = encode(newest[:, :leaving], **self._options)
            self._codes = codes if self._codes is None else self._codes.then(codes)
        # A copy: a view would keep the memory of the coded positions, or of all rows of a pass.
        self._newest = newest[:, leaving:].clone()

    def read(self) -> torch.Tensor:
        """States as attention reads them, in their own dtype: (heads, positions, channels)."""
        if self._codes is None:
            return self._newest
        older = decode(self._codes, **self._options).to(self._newest.dtype)
        return torch.cat([older, self._newest], dim=1)

    def keep_last(self, positions: int) -> None:
        """Forget older positions, in whole groups: a sliding window does not read them again."""
        surplus = min(self.positions - positions, self._coded) // self._unit
        if surplus > 0:
            self._codes = self._codes.without(surplus * self._unit, surplus)
