"""Waiting for other threads."""

import threading
from collections.abc import Callable

PATIENCE_S = 60


def until(holds: Callable[[], bool]) -> None:
    """Wait for a condition."""
    waited = threading.Event()
    for _ in range(PATIENCE_S * 100):
        if holds():
            return
        waited.wait(0.01)
    raise AssertionError("it never came to that")
