"""Visits: a tab's state on all pages, in memory while it is connected and on disk for a while.

A tab is identified by a token that it makes itself (`ui/components/js/wire/visit.js`), and by the
document that shows it: a duplicated tab has the same token in another document, and gets a copy.

A page keeps its state here under its name. A state needs

    version     anything that compares unequal once the record would differ
    record()    all of it as plain values for JSON; None while it is busy
    release()   releases data that can be made again
    copy()      optional: an independent copy; without it, one is made from the record

After `LEAVE_SECONDS` without a connection, states leave memory. Their records stay, and a state is
restored from its record when the visitor returns. Nothing here imports PyTorch.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import logging
import re
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from engine.errors import msg
from ui.server.problems import AtMost
from ui.server.shares import has_share
from ui.visits.in_hand import PromptInHand, holders_of
from ui.visits.store import Keeper, Owner, keeper_here
from ui.words.language import marked

LEAVE_SECONDS = 120.0  # covers a lost network, or a lid that was closed for a moment
LOOK_SECONDS = 1.0  # between two looks for changes and departures
MOST_IN_MEMORY = 256  # visits; at most half for one address
_SECRET = re.compile(r"[0-9a-f]{32}")
_log = logging.getLogger(__name__)
_log.addFilter(AtMost(30))


class PageState(Protocol):
    """State that a page keeps in a visit; see the module's docstring."""

    @property
    def version(self) -> object:
        """A value that compares unequal once the record would differ."""

    def record(self) -> dict[str, Any] | None:
        """Return the state as plain values; None while it is busy."""

    def release(self) -> None:
        """Release data that can be made again."""


State = TypeVar("State", bound=PageState)


class Abandoned(Exception):
    """Raised if no page is waiting for a state that is being made; its record stays as it was."""


FULL = marked(
    "More tabs are open than this app has room for, in all or from your network; close some, or "
    "try again in a minute."
)
NO_ROOM = marked(
    "There is no room to keep the changes on the page {page}, so they are lost when this tab "
    "is closed or the app is started again."
)


class TooManyVisits(Exception):
    """Raised if there is no room for a new visit at present."""


def is_secret(text: object) -> bool:
    """Return whether a value has the form of a tab's token: 128 bits in hexadecimal."""
    return isinstance(text, str) and _SECRET.fullmatch(text) is not None


@dataclass
class _Held:
    """A page's state in memory, and its version on disk."""

    state: PageState
    kept: object = None
    has_no_room: bool = False  # reported only once


@dataclass
class Visit:
    """The state of one tab on all pages.

    Attributes:
        token: identifies the tab.
        copied_from: the token of the original; the tab may still identify itself by it.
        handed: data that one page has left for another, by the name of the page that receives it.
        notices: sentences still to be shown, such as on a record that could not be used.
        in_hand: the prompt that a person typed last.
        person: the secret that all tabs of the browser share; empty until a page was drawn, or if
            the browser keeps none.
        address: the address that it was last used from.
    """

    token: str
    copied_from: str = ""
    handed: dict[str, Any] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    in_hand: PromptInHand = field(default_factory=PromptInHand)
    person: str = ""
    address: str = ""
    _pages: dict[str, _Held] = field(default_factory=dict)
    _originals: dict[str, PageState] = field(default_factory=dict)  # to be copied on demand
    _records: dict[str, dict[str, Any]] = field(default_factory=dict)
    _users: dict[str, dict[Hashable, Callable[[], bool]]] = field(default_factory=dict)
    _locks: dict[str, threading.Lock] = field(default_factory=dict)
    _seen: float = field(default_factory=time.monotonic)

    # --- its pages --------------------------------------------------------------------------------

    def page(
        self,
        name: str,
        make: Callable[[], State],
        restore: Callable[[dict[str, Any]], State] | None = None,
    ) -> State:
        """Return a page's state: the one in memory, else restored from its record, else a new one.

        Concurrent callers wait. Errors of `make` and `restore` propagate, and nothing is kept.
        """
        with self._locks.setdefault(name, threading.Lock()):
            held = self._pages.get(name)
            if held is None:
                held = self._pages[name] = _Held(self._made(name, make, restore))
                self._records.pop(name, None)
                self._originals.pop(name, None)
            return held.state

    def _made(
        self,
        name: str,
        make: Callable[[], State],
        restore: Callable[[dict[str, Any]], State] | None,
    ) -> State:
        original, record = self._originals.get(name), self._records.get(name)
        copy = getattr(original, "copy", None)
        if copy is not None:
            return copy()
        return restore(record) if record is not None and restore is not None else make()

    def present(self, name: str) -> PageState | None:
        """Return a page's state if it is in memory, else None."""
        held = self._pages.get(name)
        return held.state if held else None

    def has(self, name: str) -> bool:
        """Return whether a page has a state, in memory or as a record."""
        return name in self._pages or name in self._originals or name in self._records

    def record_of(self, name: str) -> dict[str, Any] | None:
        """Return a page's record, from its state if that is in memory; None if there is none."""
        held = self._pages.get(name)
        state = held.state if held else self._originals.get(name)
        record = state.record() if state else None
        return record or self._records.get(name)

    def put(self, name: str, state: PageState) -> None:
        """Replace a page's state."""
        self._pages[name] = _Held(state)
        self._records.pop(name, None)

    def follow(self, state: PageState) -> bool:
        """Let a page adopt the prompt that was typed last; return whether it was new there."""
        self.note_prompts()
        due = [(holder, self.in_hand.due(holder)) for holder in holders_of(state)]
        for holder, prompt in due:
            if prompt is not None:
                self.in_hand.follow(holder, prompt)
        return any(prompt is not None for _, prompt in due)

    def note_prompts(self) -> None:
        """Note the prompts that a person has typed since the last look, on all pages in memory.

        Panels of lessons have their own names here, so a lesson's prompt stays in the lesson.
        """
        for name, held in list(self._pages.items()):
            if getattr(held.state, "name", None) == name:
                self.in_hand.look(holders_of(held.state))

    # --- its users --------------------------------------------------------------------------------

    @property
    def owner(self) -> Owner:
        """The person and the address whose quotas its records count towards."""
        return Owner(self.person or self.token, self.address)

    def join(self, tab: str, user: Hashable, is_there: Callable[[], bool]) -> None:
        """Add a connection of a tab as a user of the visit.

        Args:
            tab: the id of the document.
            user: the key of the connection.
            is_there: returns True while it is connected; called now and then.
        """
        self._users.setdefault(tab, {})[user] = is_there
        self._seen = time.monotonic()

    def leave(self, tab: str, user: Hashable) -> None:
        """Remove a connection that has ended."""
        self._users.get(tab, {}).pop(user, None)
        self._seen = time.monotonic()

    def tabs(self) -> list[str]:
        """Return the documents that use it now; drop connections that have ended."""
        there = []
        for tab, users in list(self._users.items()):
            for user, is_there in list(users.items()):
                if not is_there():
                    users.pop(user, None)
            if users:
                there.append(tab)
            else:
                self._users.pop(tab, None)
        if there:
            self._seen = time.monotonic()
        return there

    @property
    def quiet_seconds(self) -> float:
        """The seconds since it was last used."""
        return time.monotonic() - self._seen


class Visits:
    """All visits of this server.

    Args:
        keeper: keeps the records.
    """

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._visits: dict[str, Visit] = {}
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_over = False

    # --- coming and going -------------------------------------------------------------------------

    def open(
        self,
        token: str,
        tab: str,
        user: Hashable,
        is_there: Callable[[], bool] = lambda: True,
        address: str = "",
    ) -> Visit:
        """Return the visit with this secret token, for a tab's connection.

        If another tab uses that visit, this tab is a duplicate and gets a copy under another token.

        Args:
            token: the tab's token; see `is_secret`.
            tab: the id of the document.
            user, is_there: see `Visit.join`.
            address: the address that the connection comes from.

        Raises:
            TooManyVisits: there is no room for a new one, or none for this address.
        """
        if not (is_secret(token) and is_secret(tab)):
            raise ValueError("A tab is known by 32 hexadecimal digits.")
        with self._lock:
            visit = self._known(token, tab)
            if visit is None:
                self._make_room(address)
                found = self._visits.get(token)
                visit = self._visit(token) if found is None else self._copy(found)
                self._visits[visit.token] = visit
            visit.address = address
            visit.join(tab, user, is_there)
            self._begin()
        return visit

    def _known(self, token: str, tab: str) -> Visit | None:
        """Return the visit that this tab already has, or may have because no other tab uses it."""
        for visit in self._visits.values():
            if token in (visit.token, visit.copied_from) and tab in visit._users:
                return visit
        visit = self._visits.get(token)
        return visit if visit is not None and not visit.tabs() else None

    def _visit(self, token: str) -> Visit:
        visit = Visit(token)
        visit._records, problems = self._keeper.records(token)
        visit.notices += problems
        return visit

    def _copy(self, visit: Visit) -> Visit:
        """Copy a visit for another tab; states are copied on demand, which may wait for a step."""
        twin = Visit(secrets.token_hex(16), copied_from=visit.token)
        twin._records = dict(visit._records)
        twin._originals = visit._originals | {
            name: held.state for name, held in visit._pages.items()
        }
        for name, state in twin._originals.items():
            record = state.record()
            if record is not None:
                twin._records[name] = record
        for name, record in twin._records.items():
            self._keeper.put(twin.token, name, record, visit.owner)
        return twin

    def _make_room(self, address: str) -> None:
        """Make room for one more visit of an address; raises `TooManyVisits`.

        If there is none, an unused visit is dropped: of the address with the most, the quietest.
        """
        held, in_use, unused = Counter(), Counter(), []
        for visit in self._visits.values():
            held[visit.address] += 1
            if visit.tabs():
                in_use[visit.address] += 1
            else:
                unused.append(visit)
        if not has_share(MOST_IN_MEMORY, in_use.total(), in_use[address]):
            raise TooManyVisits
        if held.total() >= MOST_IN_MEMORY:
            self._forget([max(unused, key=lambda one: (held[one.address], one.quiet_seconds))])

    def __len__(self) -> int:
        """Return the number of visits in memory."""
        return len(self._visits)

    @property
    def problem(self) -> str:
        """The reason that records are not kept; empty if they are."""
        return self._keeper.problem

    # --- keeping ----------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="visits", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        """Write changes and release unused visits, at intervals."""
        while True:
            self._wake.wait(LOOK_SECONDS)
            if self._is_over:
                return
            try:
                self.look()
            except Exception:  # a fault in one look must not end all later ones
                _log.exception("Looking after visits failed")

    def look(self) -> None:
        """Write changed records once, and release visits that are no longer used."""
        self.keep()
        with self._lock:
            quiet = [
                visit
                for visit in self._visits.values()
                if not visit.tabs() and visit.quiet_seconds >= LEAVE_SECONDS
            ]
            left = self._forget(quiet)
        if left or _Memory.was_freed:
            _Memory.was_freed = False
            give_memory_back()

    def keep(self) -> None:
        """Write the records of all states that have changed since they were last written."""
        with self._lock:
            visits = list(self._visits.values())
        for visit in visits:
            self._keep(visit)
        for token, name in self._keeper.write():
            visit = self._visits.get(token)
            if visit is not None:
                _tell(visit, name, msg(NO_ROOM, name))

    def _keep(self, visit: Visit) -> bool:
        """Pass the changed records of a visit to the keeper; return False if a state was busy."""
        is_whole = True
        for name, held in list(visit._pages.items()):
            version = held.state.version
            if held.kept == version and held.kept is not None:
                continue
            try:
                record = held.state.record()
            except Exception:  # a fault on one page must not cost others their records
                _log.exception("The page %s cannot be put into a record", name)
                held.kept = version
                continue
            if record is None:
                is_whole = False
                continue
            held.kept = version
            sentence = self._keeper.put(visit.token, name, record, visit.owner)
            if sentence:
                _tell(visit, name, sentence)
        return is_whole

    def _forget(self, visits: list[Visit]) -> int:
        """Drop visits from memory once they are written; return the number dropped."""
        left = 0
        for visit in visits:
            if not self._keep(visit):
                continue  # busy: next time
            for held in visit._pages.values():
                held.state.release()
            visit._pages.clear()
            self._visits.pop(visit.token, None)
            left += 1
        return left

    def close(self) -> None:
        """Write all records when the server ends."""
        self._is_over = True
        self._wake.set()
        with contextlib.suppress(Exception):
            self.keep()
        self._keeper.close()


def _tell(visit: Visit, name: str, sentence: str) -> None:
    """Tell the visitor, once, that a page is not kept."""
    held = visit._pages.get(name)
    if held is not None and not held.has_no_room:
        held.has_no_room = True
        _log.warning("%s", sentence)
        visit.notices.append(sentence)


class _Memory:
    """Flag that is set if much memory has been freed since the last hand-back."""

    was_freed = False


def memory_was_freed() -> None:
    """Note that a large object is gone; its memory is handed back at the next look.

    The garbage collector may call this at any time, so it takes no lock.
    """
    _Memory.was_freed = True


def give_memory_back() -> None:
    """Hand unused memory back to the system.

    Texts are in reference cycles, which only the garbage collector frees, and the C library keeps
    freed memory for the next rows (`engine.model.kernels.keep_freed_memory`).
    """
    gc.collect()
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


VISITS = Visits(keeper_here())
atexit.register(VISITS.close)
