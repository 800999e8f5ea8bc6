"""What a person has done, as a page works with it: read once a drawing, added to at once."""

from __future__ import annotations

from ui.learn.progress.entries import Entry
from ui.learn.progress.mine import my_progress, note
from ui.learn.progress.progress import NOTHING, Progress


class Done:
    """Progress in memory alone, as where no person is.

    Attributes:
        progress: all of it, as it was looked at last.
    """

    def __init__(self) -> None:
        self.progress = NOTHING

    def look(self) -> Progress:
        """Look at it anew: other tabs may have added to it."""
        return self.progress

    def note(self, *entries: Entry) -> None:
        """Take down what was done."""
        self.progress = self.progress.joined(entries)


class MyDone(Done):
    """The progress of whoever looks at the page; `my_problem` says where it cannot be kept."""

    def __init__(self) -> None:
        super().__init__()
        self._refused: list[Entry] = []  # shown on this page all the same

    def look(self) -> Progress:
        self.progress = my_progress().joined(self._refused)
        return self.progress

    def note(self, *entries: Entry) -> None:
        if not note(*entries):
            self._refused += entries
        self.look()
