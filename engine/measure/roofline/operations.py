"""Operations of a forward pass, counted by PyTorch from the shapes given to its operators.

Matrix products, convolutions and attention count, an addition and a multiplication each as two
operations. Sums, norms, softmax and activations do not; they are few in comparison. Attention
counts all present positions, including those that the causal mask leaves out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from engine.model.kernels import has_onednn_float32


def _attention(
    query: tuple[int, ...],
    key: tuple[int, ...],
    value: tuple[int, ...],
    *_: Any,
    out_shape: Any = None,
    **__: Any,
) -> int:
    """Count the operations of attention from the shapes (rows, heads, tokens, size)."""
    rows, heads, tokens, size = query
    return 2 * rows * heads * tokens * key[2] * (size + value[3])


def _grouped(
    tokens: tuple[int, ...], experts: tuple[int, ...], *_: Any, out_shape: Any = None, **__: Any
) -> int:
    """Count the operations of (tokens, in) with (experts, in, out), one expert per token."""
    return 2 * tokens[0] * tokens[1] * experts[2]


def _linear(
    rows: tuple[int, ...], weight: tuple[int, ...], *_: Any, out_shape: Any = None, **__: Any
) -> int:
    """Count the operations of rows of (..., in) with weights of (out, in)."""
    return 2 * math.prod(rows) * weight[0]


# PyTorch's own table lacks the CPU's and the experts' operators, and refuses grouped queries.
_ATEN = torch.ops.aten
_MORE = {
    _ATEN._scaled_dot_product_flash_attention_for_cpu: _attention,
    _ATEN._scaled_dot_product_flash_attention: _attention,
    _ATEN._scaled_dot_product_efficient_attention: _attention,
    _ATEN._scaled_dot_product_cudnn_attention: _attention,
    _ATEN._grouped_mm: _grouped,
}
if has_onednn_float32():
    _MORE[torch.ops.mkldnn._linear_pointwise] = _linear


class _AllAlike:
    """A replacement for the counter's module tracker.

    That tracker hooks all modules of the process, so no other pass could run at the same time.
    """

    parents = ("Global",)

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


def counted_operations(run: Callable[[], object]) -> int:
    """Count the operations of `run`'s passes in this thread; raises what `run` raises."""
    counter = FlopCounterMode(display=False, custom_mapping=_MORE)
    counter.mod_tracker = _AllAlike()
    with counter:
        run()
    return int(counter.get_total_flops())


class _Calls(TorchDispatchMode):
    """Counts the operators that are called, and calls them."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def counted_calls(run: Callable[[], object]) -> int:
    """Count the PyTorch operator calls that `run` makes; raises what it raises."""
    counter = _Calls()
    with counter:
        run()
    return counter.count
