"""A decoder page's state, polled as its page does until it stops changing."""

from typing import TypeVar

from ui.labs.lab import Lab

AnyLab = TypeVar("AnyLab", bound=Lab)


def settled(lab: AnyLab) -> AnyLab:
    """Return the lab once it no longer grows."""
    assert lab.player.settle(30)
    return lab
