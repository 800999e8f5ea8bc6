"""What a value is stored in, with its share of the scales."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Storage:
    """What a value is stored in.

    Attributes:
        name: for the screen.
        bits: of a value itself.
        group: how many values share a scale; 0 where no scales are counted.
        scale_bits: of a group's scale, and of its zero point where it has one.
        about: what is assumed.
    """

    name: str
    bits: int
    group: int = 0
    scale_bits: int = 0
    about: str = ""

    @property
    def bits_per_value(self) -> Fraction:
        """Bits with the value's share of the scales."""
        return self.bits + (Fraction(self.scale_bits, self.group) if self.group else Fraction(0))

    def bytes(self, values: int) -> Fraction:
        """Bytes of so many values."""
        return values * self.bits_per_value / 8
