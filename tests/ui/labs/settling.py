"""A decoder page's state looked at as its page does, until it stands still."""

from typing import TypeVar

from ui.labs.lab import Lab

AnyLab = TypeVar("AnyLab", bound=Lab)


def settled(lab: AnyLab) -> AnyLab:
    """The lab, once nothing grows any more."""
    while lab.player.is_growing or lab.player.is_busy:
        if lab.player.is_busy:
            lab.player.job.wait(30)
        lab.player.look()
    lab.player.look()
    return lab
