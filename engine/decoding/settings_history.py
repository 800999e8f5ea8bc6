"""History of settings, by the step from which they hold."""

from __future__ import annotations

from typing import Generic, TypeVar

AnySettings = TypeVar("AnySettings")


class SettingsHistory(Generic[AnySettings]):
    """Settings by the step from which they hold.

    Args:
        settings: those of the first step.

    Attributes:
        runs: (first step, settings), in order: each holds until the next; neighbours differ.
    """

    def __init__(self, settings: AnySettings) -> None:
        self.runs: list[tuple[int, AnySettings]] = [(0, settings)]

    @property
    def latest(self) -> AnySettings:
        """The settings in force."""
        return self.runs[-1][1]

    def at(self, index: int) -> AnySettings:
        """The settings that a step is taken with."""
        return next(settings for first, settings in reversed(self.runs) if first <= index)

    def set_from(self, index: int, settings: AnySettings) -> None:
        """Let settings hold from a step on, which is the next one to be taken."""
        if self.runs and self.runs[-1][0] == index:
            self.runs.pop()
        if not self.runs or self.runs[-1][1] != settings:
            self.runs.append((index, settings))

    def rewind(self, length: int) -> None:
        """Keep those of the first `length` steps; the settings in force stay in force."""
        latest = self.latest
        self.runs = [run for run in self.runs if run[0] < length]
        self.set_from(length, latest)

    def fork(self) -> SettingsHistory[AnySettings]:
        """An independent copy."""
        twin = SettingsHistory(self.latest)
        twin.runs = list(self.runs)
        return twin
