"""Linear layers that use oneDNN for float32 products if the pass' `Kernels` ask for it.

PyTorch uses MKL for float32 products, which does not split a single row among threads, and does not
use AVX-512 on AMD. PyTorch also comes with oneDNN, which does both. With it, a step takes half to
nine tenths of the time, a prompt half (docs/speed.md). There is no switch for it. The operation
used here is the one that PyTorch's own compiler substitutes for linear layers.
"""

from __future__ import annotations

import torch
from torch.nn import functional

from engine.model.kernels import has_onednn_float32, multiplies_float32_by_onednn

# A call takes 10 us longer than MKL's: that pays off from this many weights on.
_LARGE = 2**18


def linear(
    rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """Compute `torch.nn.functional.linear` with the kernels of the running pass."""
    is_float32 = rows.dtype == weight.dtype == torch.float32
    if multiplies_float32_by_onednn() and is_float32 and rows.is_cpu:
        return torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")
    return functional.linear(rows, weight, bias)


class OneDnnLinear(torch.nn.Linear):
    """A linear layer that multiplies with the kernels of the running pass."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Apply the layer to rows of shape (..., in): (..., out)."""
        return linear(rows, self.weight, self.bias)


def ask_kernels(model: torch.nn.Module) -> None:
    """Make the large linear layers of a model use the kernels of each pass.

    They keep their weights and hooks; only the multiplication changes. Quantised layers and those
    of other libraries are left alone.
    """
    if not has_onednn_float32():
        return
    for layer in model.modules():
        if type(layer) is torch.nn.Linear and layer.weight.numel() >= _LARGE:
            layer.__class__ = OneDnnLinear
