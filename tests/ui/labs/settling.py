"""A decoder page's state looked at as its page does, until it stands still."""

from typing import TypeVar

from ui.labs.lab import Lab

AnyLab = TypeVar("AnyLab", bound=Lab)


def settled(lab: AnyLab) -> AnyLab:
    """The lab, once nothing grows any more."""
    assert lab.player.settle(30)
    return lab
