"""Exponentials of many numbers at once, which take most of the time with a large vocabulary.

NumPy's own `exp` is fast on CPUs with AVX-512 and several times slower on others. A caller with a
faster one may supply it; the results agree to about the last digit. The weight of a single token
always comes from NumPy, so that it is the same number wherever it is computed.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Exponentials(Protocol):
    """A function that writes exp(values) into an array of the same shape, both float64."""

    def __call__(self, values: np.ndarray, *, out: np.ndarray) -> object: ...


_compute: Exponentials = np.exp


def compute_by(function: Exponentials) -> None:
    """Make `fill_exponentials` use this function instead of `np.exp`, in the whole process."""
    global _compute
    _compute = function


def fill_exponentials(values: np.ndarray, out: np.ndarray) -> None:
    """Write exp(values) into `out`; both (n,) float64, possibly the same array."""
    _compute(values, out=out)
