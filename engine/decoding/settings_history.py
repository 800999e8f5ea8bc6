"""History of settings, each with the first step that it applies to."""

from __future__ import annotations

from typing import Generic, TypeVar

AnySettings = TypeVar("AnySettings")


class SettingsHistory(Generic[AnySettings]):
    """Settings, each with the first step that it applies to.

    Args:
        settings: settings of the first step.

    Attributes:
        runs: (first step, settings), in order: each applies until the next; neighbours differ.
    """

    def __init__(self, settings: AnySettings) -> None:
        self.runs: list[tuple[int, AnySettings]] = [(0, settings)]

    @property
    def latest(self) -> AnySettings:
        """The current settings."""
        return self.runs[-1][1]

    def at(self, index: int) -> AnySettings:
        """Return the settings that apply to a step."""
        return next(settings for first, settings in reversed(self.runs) if first <= index)

    def set_from(self, index: int, settings: AnySettings) -> None:
        """Apply settings from a step on, which must be the next one to be taken."""
        if self.runs and self.runs[-1][0] == index:
            self.runs.pop()
        if not self.runs or self.runs[-1][1] != settings:
            self.runs.append((index, settings))

    def rewind(self, length: int) -> None:
        """Keep the settings of the first `length` steps; the current ones apply to the next."""
        latest = self.latest
        self.runs = [run for run in self.runs if run[0] < length]
        self.set_from(length, latest)

    def fork(self) -> SettingsHistory[AnySettings]:
        """Return an independent copy."""
        twin = SettingsHistory(self.latest)
        twin.runs = list(self.runs)
        return twin
