"""Progress by person, on disk.

A person is identified by a secret that their browser keeps (`ui.visits.tab.this_person`). All tabs
of that browser write to the same progress, and simultaneous changes are merged. Progress is written
at once: there are few entries, and none may be lost.

Progress that cannot be read, as after a downgrade, is refused with a sentence and stays as it is.
Progress for which there is no room is refused too. If the file cannot be reached, new entries wait
in memory.
"""

from __future__ import annotations

import atexit
import threading
import time

from ui.learn.progress.entries import Entry
from ui.learn.progress.progress import NOTHING, Progress, ProgressError
from ui.visits.quota import DAY, Terms
from ui.visits.store import Keeper, Owner, keeper_here
from ui.words.language import say

FILE = "progress.sqlite3"
KEPT_DAYS = 365  # after the last change
# All lessons with every task, prediction and question take some 17 kB.
TERMS = Terms(seconds=KEPT_DAYS * DAY, safe=30 * DAY, of_person=200 * 2**10)
MOST_UNWRITTEN = 100  # persons whose progress waits in memory
_RECORD = "progress"


class ProgressStore:
    """The progress of all persons.

    Args:
        keeper: keeps the records.
    """

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._lock = threading.Lock()
        self._unwritten: dict[str, Progress] = {}  # while the file cannot be reached

    def of(self, person: str) -> Progress:
        """Return the progress of a person; empty for an unknown person.

        Raises:
            ProgressError: it cannot be read.
        """
        with self._lock:
            return self._read(person)

    def add(self, person: str, *entries: Entry, address: str = "") -> Progress:
        """Record a person's entries; return all of their progress.

        Args:
            person: their secret.
            entries: the new entries.
            address: the address that they came from; see `ui.visits.store.Owner`.

        Raises:
            ProgressError: the old progress cannot be read, or the new one is more than is kept.
        """
        with self._lock:
            before = self._read(person)
            after = before.joined(entries)
            if not self._keeper.reaches_file():
                if len(self._unwritten) >= MOST_UNWRITTEN and person not in self._unwritten:
                    raise _no_room()
                self._unwritten[person] = after
            elif after != before or person in self._unwritten:
                owner = Owner(person, address)
                too_large = self._keeper.put(person, _RECORD, after.record(), owner)
                if too_large or (person, _RECORD) in self._keeper.write():
                    raise _no_room()
                self._unwritten.pop(person, None)
            return after

    def forget(self, person: str) -> None:
        """Delete a person's progress.

        Raises:
            ProgressError: the file cannot be written at present.
        """
        with self._lock:
            if not self._keeper.forget(person):
                raise ProgressError(
                    say(
                        "Your progress cannot be deleted, as its file cannot be written; try "
                        "again in a minute."
                    )
                )
            self._unwritten.pop(person, None)

    def _read(self, person: str) -> Progress:
        waiting = self._unwritten.get(person, NOTHING)
        if not self._keeper.reaches_file():
            return waiting
        records, problems = self._keeper.records(person)
        if problems:
            raise ProgressError(
                say(
                    "Your saved progress is damaged; choose Forget my progress to start over, "
                    "and import an export if you have one."
                )
            )
        return Progress.restored(records[_RECORD]).joined(waiting) if records else waiting

    @property
    def problem(self) -> str:
        """The reason that nothing can be kept now, for a person to read; empty if it can."""
        return self._keeper.problem

    @property
    def outlives_app(self) -> bool:
        """True if progress is kept when the app ends."""
        return self._keeper.is_on_disk

    def close(self) -> None:
        """Write waiting progress."""
        self._keeper.close()


def _no_room() -> ProgressError:
    return ProgressError(
        say("There is no room to keep more of your progress; what was kept before stays.")
    )


def now() -> int:
    """Return the time of a new entry, in seconds since 1970."""
    return int(time.time())


STORE = ProgressStore(keeper_here(FILE, TERMS))
atexit.register(STORE.close)
