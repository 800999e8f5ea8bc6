"""The two processes in which sources are read and followed.

A source that has not been read yet may take all the time and memory that it may have. Such sources
are read one after another in the first process, which ends where one goes too far. What has been
read is followed there too, but where it is busy in the second. Whoever has sent one that went too
far comes after all others for a while.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from engine.errors import CancelledError, SettingError
from engine.guarded import (
    Child,
    EndedError,
    Line,
    TooLargeError,
    TooLongError,
    is_given_up,
    this_asker,
)

SETTING = "constraint"
SECONDS = 2.0  # of processor time, for reading a source and for a step in it
MEGABYTES = 512
TABLE_SECONDS = 60.0  # of processor time, for the tokens of a large model
# Whoever waits keeps a thread. Where one source takes long, no more than these wait for it.
SLOW_SECONDS = 0.5
MOST_WAITING = 3
LAST_SECONDS = 600.0  # that somebody comes last whose source went too far
MOST_REMEMBERED = 1_000

_first = Child("engine.guarded.matchers", SECONDS, MEGABYTES)
_second = Child("engine.guarded.matchers", SECONDS, MEGABYTES)
_line = Line(1)
_lock = threading.Lock()
_too_far: OrderedDict[str, float] = OrderedDict()  # by person: when
_began = time.monotonic()  # of the one whose turn it is


def prepare() -> None:
    """Start the process and do not wait for it, so that the first source finds it ready."""
    _first.prepare()


@contextmanager
def process_for(shown: str, read_at: int | None) -> Iterator[Child]:
    """A process for one source, for as long as it is needed, and the errors of both as sentences.

    Args:
        shown: the beginning of the source.
        read_at: which start of the first process has read it; None for a new source.

    Raises:
        SettingError: it takes more than it may, or too many wait for others that do.
        CancelledError: nobody waits any more.
    """
    person = this_asker().person
    try:
        if read_at is None:
            with _turn(shown, person):
                yield _first
        elif read_at == _first.starts and _first.lock.acquire(blocking=False):
            try:
                yield _first
            finally:
                _first.lock.release()
        else:
            yield _second
    except (TooLongError, TooLargeError) as error:
        if person:
            _went_too_far(person)
        problem = (
            f"takes more than {SECONDS:g} seconds of processor time to follow"
            if isinstance(error, TooLongError)
            else f"takes more than {MEGABYTES:,} MB of memory to follow"
        )
        remedy = "use smaller counts, and fewer parts that must hold at once"
        raise SettingError(SETTING, shown, problem, remedy) from error
    except EndedError as error:
        problem, remedy = f"cannot be followed ({error})", "simplify it, or try again"
        raise SettingError(SETTING, shown, problem, remedy) from error


def _went_too_far(person: str) -> None:
    with _lock:
        _too_far[person] = time.monotonic()
        _too_far.move_to_end(person)
        if len(_too_far) > MOST_REMEMBERED:
            _too_far.popitem(last=False)


@contextmanager
def _turn(shown: str, person: str) -> Iterator[None]:
    """The turn of one new source."""
    global _began
    behind = 0

    def told(place: int) -> None:
        nonlocal behind
        behind = place

    def is_hopeless() -> bool:
        return behind >= MOST_WAITING and time.monotonic() - _began > SLOW_SECONDS

    goes_last = time.monotonic() - _too_far.get(person, -LAST_SECONDS) < LAST_SECONDS
    if not _line.enter(lambda: is_given_up() or is_hopeless(), told, goes_last=goes_last):
        if is_given_up():
            raise CancelledError("This was cancelled before it was done; nothing was changed.")
        problem = "cannot be read now, as others that take long are read first"
        raise SettingError(SETTING, shown, problem, "try again in a few seconds")
    try:
        _began = time.monotonic()
        yield
    finally:
        _line.leave()
