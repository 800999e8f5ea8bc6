"""exp of many numbers at once, which is most of the time that a large vocabulary takes.

NumPy's own is fast on CPUs with AVX-512 and several times slower on others. A caller with a
faster one may hand it over; the results agree to the last digit or so. Weights of single tokens are
always NumPy's, so that a token's weight is the same number wherever it is computed.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Exponentials(Protocol):
    """Writes exp(values) into an array of the same shape; both are float64."""

    def __call__(self, values: np.ndarray, *, out: np.ndarray) -> object: ...


_compute: Exponentials = np.exp


def compute_by(function: Exponentials) -> None:
    """Have `fill_exponentials` done by another function than `np.exp`, for the whole process."""
    global _compute
    _compute = function


def fill_exponentials(values: np.ndarray, out: np.ndarray) -> None:
    """Write exp(values) into `out`; (n,) float64 both, and perhaps the same array."""
    _compute(values, out=out)
