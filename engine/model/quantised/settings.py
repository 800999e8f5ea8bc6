"""Settings of a quantised cache."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.checks import is_whole
from engine.errors import SettingError, msg

BITS = (8, 4, 2)
PER_CHANNEL, PER_TOKEN = msg("per channel"), msg("per token")
AXES = (PER_CHANNEL, PER_TOKEN)
LARGEST_GROUP = 1024
LONGEST_RESIDUAL = 1_000_000


@dataclass(frozen=True)
class Quantisation:
    """Settings that decide how keys and values are stored in fewer bits.

    Numbers are quantised in groups. A group stores its minimum and its step in float16, and a code
    of `bits` bits for each number: minimum + code x step. Per token, a group is `group` channels of
    one position. Per channel, it is one channel of `group` consecutive positions.

    KIVI (Liu et al. 2024, arXiv:2402.02750) found a few channels of the keys to be far larger than
    the others, but no such channels of the values. So it quantises keys per channel and values per
    token, which are the defaults here.

    Attributes:
        bits: bits of a code: 8, 4 or 2.
        group: numbers that share a minimum and a step.
        keys, values: axis along which they are grouped.
        residual: newest positions that stay exact. Per channel, up to `group` - 1 more do, until
            their group is complete. At 0, a pass reads even its own token from codes.

    Raises:
        SettingError: a value outside its range.
    """

    bits: int = 4
    group: int = 32
    keys: str = PER_CHANNEL
    values: str = PER_TOKEN
    residual: int = 32

    def __post_init__(self) -> None:
        if self.bits not in BITS:
            raise SettingError("bits", self.bits, "cannot be stored", "use 8, 4 or 2")
        for name, low, high in (
            ("group", 2, LARGEST_GROUP),
            ("residual", 0, LONGEST_RESIDUAL),
        ):
            value, remedy = (
                getattr(self, name),
                msg("use a whole number from {low:,} to {high:,}", (low, high)),
            )
            if not is_whole(value):
                raise SettingError(name, value, "must be a whole number", remedy)
            if not low <= value <= high:
                raise SettingError(name, value, "is out of range", remedy)
        for name in ("keys", "values"):
            if getattr(self, name) not in AXES:
                remedy = msg(
                    "use {per_channel} or {per_token}", (repr(PER_CHANNEL), repr(PER_TOKEN))
                )
                raise SettingError(name, getattr(self, name), "is not an axis", remedy)

    @property
    def name(self) -> str:
        """Name that lists the settings: ``4 bits, groups of 32, keys per channel, ...``."""
        return f"{self.bits} bits, groups of {self.group}, keys {self.keys}, values {self.values}"

    @property
    def exact_positions(self) -> int:
        """Length of the longest text without a quantised position."""
        whole = min(self.group if axis == PER_CHANNEL else 1 for axis in (self.keys, self.values))
        return self.residual + whole - 1

    @property
    def bits_per_number(self) -> float:
        """Bits per quantised number, including its share of minimum and step; computed."""
        return self.bits + 32 / self.group

    def check_head_dims(self, head_dims: Iterable[int]) -> None:
        """Raise `SettingError` if the channels of a head cannot be grouped or packed."""
        packed = 8 // self.bits
        for dim in head_dims:
            if PER_TOKEN in (self.keys, self.values) and dim % self.group:
                fitting = [str(size) for size in (16, 32, 64, 128) if dim % size == 0] or [str(dim)]
                raise SettingError(
                    "group",
                    self.group,
                    msg("must divide the {dim} channels of a head when grouping per token", dim),
                    msg(
                        "use {fitting}, or group keys and values per channel", " or ".join(fitting)
                    ),
                )
            if dim % packed:
                raise SettingError(
                    "bits",
                    self.bits,
                    msg(
                        "packs {packed} codes into a byte, which does not fit heads of {dim} "
                        "channels",
                        (packed, dim),
                    ),
                    "use 8 bits",
                )

    def check_length(self, positions: int) -> None:
        """Raise `SettingError` if no position of a text of this length would be quantised."""
        if self.exact_positions >= positions:
            most = positions - 1 - (self.exact_positions - self.residual)
            shorter = (
                msg("use at most {most:,}, or a longer text", most)
                if most >= 0
                else msg("use a longer text")
            )
            raise SettingError(
                "residual",
                self.residual,
                msg(
                    "keeps all {positions:,} positions of the text exact, so nothing is quantised",
                    positions,
                ),
                shorter,
            )
