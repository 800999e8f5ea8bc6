"""The two processes in which sources are compiled, and texts matched against them.

A source that has not been compiled yet may use up its whole limit of time and memory. Such sources
are compiled one after another in the first process, which ends if one exceeds its limits. Texts are
matched against a compiled source there too, or in the second process while the first is busy.

Nearly every source compiles in milliseconds. One that takes longer is restarted when no other
source waits, and its sender comes after all others for a while. So a visitor who sends many of
these does not delay the others for long.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from engine.errors import CancelledError, SettingError, msg
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
SECONDS = 2.0  # of processor time, for compiling a source and for a step in it
QUICK_SECONDS = 0.25  # after which a new source makes way for others
MEGABYTES = 512
TABLE_SECONDS = 60.0  # of processor time, for the tokens of a large model
# Each waiting source occupies a thread. A new source is refused if, after this time, MOST_WAITING
# others wait before it. A slow one is refused at once if MOST_LAST others do.
PATIENCE_SECONDS = 1.0
MOST_WAITING = 6
MOST_LAST = 1
SLOW_FOR = 600.0  # seconds that a person comes last after sending a slow source
MOST_SLOW = 1_000
_SIMPLER = msg("use smaller repeat counts, and fewer conditions that must hold at once")
Found = TypeVar("Found")

_first = Child("engine.guarded.matchers", SECONDS, MEGABYTES)
_second = Child("engine.guarded.matchers", SECONDS, MEGABYTES)
_line = Line(1)
_lock = threading.Lock()
_slow: OrderedDict[str, float] = OrderedDict()  # by person: time of the last slow source


def prepare() -> None:
    """Start the first process without waiting for it, so that the first source finds it ready."""
    _first.prepare()


def asked(shown: str, read_at: int | None, work: Callable[[Child, float], Found]) -> Found:
    """Call `work` with a process and its seconds; raises its failures as `SettingError`.

    Args:
        shown: the beginning of the source.
        read_at: `starts` of the first process when it compiled the source; None for a new source.
        work: sends requests to the given process, with the given seconds for each. It may be called
            twice.

    Raises:
        SettingError: it exceeds its limits, or too many sources wait for slow ones.
        CancelledError: the caller has given up.
    """
    try:
        if read_at is None:
            return _read(shown, work)
        if read_at == _first.starts and _first.lock.acquire(blocking=False):
            try:
                return work(_first, SECONDS)
            finally:
                _first.lock.release()
        return work(_second, SECONDS)
    except TooLongError as error:
        problem = msg("takes more than {seconds:g} seconds of processor time to apply", SECONDS)
        raise SettingError(SETTING, shown, problem, _SIMPLER) from error
    except TooLargeError as error:
        problem = msg("takes more than {megabytes:,} MB of memory to apply", MEGABYTES)
        raise SettingError(SETTING, shown, problem, _SIMPLER) from error
    except EndedError as error:
        problem, remedy = (
            msg("cannot be followed ({error})", error),
            msg("simplify it, or try again"),
        )
        raise SettingError(SETTING, shown, problem, remedy) from error


def _read(shown: str, work: Callable[[Child, float], Found]) -> Found:
    """Compile a new source, first with a short time limit, then with the full one."""
    person = this_asker().person
    if not _was_slow(person):
        try:
            with _turn(shown, goes_last=False):
                return work(_first, QUICK_SECONDS)
        except TooLongError:
            _note_slow(person)
    with _turn(shown, goes_last=True):
        return work(_first, SECONDS)


def _was_slow(person: str) -> bool:
    with _lock:
        return person in _slow and time.monotonic() - _slow[person] < SLOW_FOR


def _note_slow(person: str) -> None:
    if person:
        with _lock:
            _slow[person] = time.monotonic()
            _slow.move_to_end(person)
            if len(_slow) > MOST_SLOW:
                _slow.popitem(last=False)


@contextmanager
def _turn(shown: str, *, goes_last: bool) -> Iterator[None]:
    """Wait for the turn of a new source, and hold it during the block."""
    behind, most = 0, MOST_LAST if goes_last else MOST_WAITING
    end = time.monotonic() + (0.0 if goes_last else PATIENCE_SECONDS)

    def told(place: int) -> None:
        nonlocal behind
        behind = place

    def is_hopeless() -> bool:
        return behind >= most and time.monotonic() > end

    if not _line.enter(lambda: is_given_up() or is_hopeless(), told, goes_last=goes_last):
        if is_given_up():
            raise CancelledError("This was cancelled before it was done; nothing was changed.")
        problem = msg("cannot be read now, as other slow constraints are read first")
        raise SettingError(SETTING, shown, problem, "try again in a few seconds")
    try:
        yield
    finally:
        _line.leave()


def _after_fork() -> None:
    global _line
    _line = Line(1)  # a thread that no longer exists may hold the place


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
