"""Quantise numbers to codes of a few bits, with a minimum and a step for each group."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch

from engine.model.quantised.settings import PER_CHANNEL


@dataclass(frozen=True)
class Codes:
    """Quantised keys or values of consecutive positions.

    Attributes:
        packed: (heads, positions, channels * bits / 8) uint8; the first code of a byte is in its
            lowest bits.
        low, step: float16, one of each for every group: (heads, positions, channels / group) per
            token, (heads, positions / group, channels) per channel.
    """

    packed: torch.Tensor
    low: torch.Tensor
    step: torch.Tensor

    @property
    def bytes(self) -> int:
        """Bytes of all codes, minima and steps."""
        tensors = (getattr(self, field.name) for field in fields(self))
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors)

    def then(self, other: Codes) -> Codes:
        """Return these positions, followed by those of `other`."""
        return Codes(
            *(
                torch.cat([getattr(self, field.name), getattr(other, field.name)], dim=1)
                for field in fields(self)
            )
        )

    def without(self, positions: int, groups: int) -> Codes:
        """Return all except the first `positions`, which are `groups` groups along that axis."""
        return Codes(self.packed[:, positions:], self.low[:, groups:], self.step[:, groups:])


def encode(states: torch.Tensor, *, bits: int, group: int, axis: str) -> Codes:
    """Quantise keys or values.

    Args:
        states: (heads, positions, channels) of any floating dtype; per channel the positions are a
            multiple of `group`, per token the channels are.
    """
    grouped, dim = _grouped(states.float(), group, axis)
    levels = 2**bits - 1
    low = grouped.amin(dim, keepdim=True).half()
    step = ((grouped.amax(dim, keepdim=True) - low.float()) / levels).half()
    codes = (grouped - low.float()) / _divisor(step.float())
    codes = codes.round_().clamp_(0, levels).to(torch.uint8).reshape(states.shape)
    return Codes(_packed(codes, bits), low.squeeze(dim), step.squeeze(dim))


def decode(codes: Codes, *, bits: int, group: int, axis: str) -> torch.Tensor:
    """Return the dequantised numbers: (heads, positions, channels) float32."""
    numbers = _unpacked(codes.packed, bits)
    grouped, dim = _grouped(numbers.float(), group, axis)
    low, step = (part.float().unsqueeze(dim) for part in (codes.low, codes.step))
    return (low + grouped * step).reshape(numbers.shape)


def _grouped(states: torch.Tensor, group: int, axis: str) -> tuple[torch.Tensor, int]:
    """Return the states with a dimension for the members of a group, and its index."""
    heads, positions, channels = states.shape
    if axis == PER_CHANNEL:
        return states.reshape(heads, positions // group, group, channels), 2
    return states.reshape(heads, positions, channels // group, group), 3


def _divisor(step: torch.Tensor) -> torch.Tensor:
    """Return the steps, with 1 for groups of equal numbers, so that none is 0."""
    return torch.where(step > 0, step, 1.0)


def _packed(codes: torch.Tensor, bits: int) -> torch.Tensor:
    parts = codes.unflatten(-1, (-1, 8 // bits))
    packed = parts[..., 0].clone()
    for place in range(1, 8 // bits):
        packed |= parts[..., place] << (bits * place)
    return packed


def _unpacked(packed: torch.Tensor, bits: int) -> torch.Tensor:
    if bits == 8:
        return packed
    parts = [(packed >> shift) & (2**bits - 1) for shift in range(0, 8, bits)]
    return torch.stack(parts, dim=-1).flatten(-2)
