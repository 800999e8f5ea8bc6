"""Repeated time measurements: their median, their spread, and their outliers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FAR = 3.5  # modified z-score above which a value is an outlier
LEAST_SHARE = 0.1  # of the median, by which an outlier must differ from it
_NORMAL = 0.6745  # of a normal distribution: median absolute deviation / standard deviation


def median(values: Sequence[float]) -> float:
    """Return the median."""
    return float(np.median(values))


def p95(values: Sequence[float]) -> float:
    """Return the 95th percentile, interpolated."""
    return float(np.percentile(values, 95))


def outliers(values: Sequence[float], near: int | None = None) -> list[int]:
    """Return the indices of outliers.

    An outlier's modified z-score, 0.6745 (x - median) / MAD, is above 3.5 (Iglewicz and Hoaglin,
    "How to Detect and Handle Outliers", 1993). It also differs from the median by at least a tenth,
    because almost equal times have no outliers worth marking.

    Args:
        values: values in the order of measuring.
        near: number of neighbours on either side to compare with, if the values follow a curve;
            None compares with all.
    """
    values = np.asarray(values, float)
    if len(values) < 5:
        return []
    found = []
    for place, value in enumerate(values):
        others = values
        if near is not None:
            first = max(0, min(place - near, len(values) - 2 * near - 1))
            others = values[first : first + 2 * near + 1]
        middle = np.median(others)
        deviation = np.median(np.abs(others - middle))
        far = FAR * max(deviation, 1e-12) / _NORMAL
        if abs(value - middle) > max(far, LEAST_SHARE * abs(middle)):
            found.append(place)
    return found
