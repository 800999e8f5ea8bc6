"""Work for visitors, run in persistent threads in fair turns.

A `Job` is one piece of work for one visitor, in the `Lane` of its kind: steps of a text, a sweep,
loading a model. A lane has a few places. Every second free place goes to the job with the shortest
estimated remaining time, the others to the person who has waited longest. While others wait, all
jobs of a person count as one. Long work is a generator: after a slice it lets the next job in, and
it resumes in a later turn.

This module does not import PyTorch, because it also runs the work of the server's start.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from engine.errors import CancelledError, DecodingError, panics_as_errors
from engine.guarded import asking
from engine.runner import as_job
from ui.server.problems import report
from ui.words.errors import told
from ui.words.labels import about, counted
from ui.words.language import language, localised, marked, say, say_counted, speaking

SLICE_SECONDS = 2.0  # length of a turn while others wait
BOUND_SECONDS = 600.0  # working time of a bounded job while others wait
LOOK_SECONDS = 2.0  # between two checks of the running jobs
GRACE_SECONDS = 60.0  # for a lost connection to come back
SLOW_SECONDS = 30.0  # length of a turn after which its place is lent to others
HANG_SECONDS = 60.0  # after a cancel, until unresponsive work is abandoned
EXIT_SECONDS = 5.0  # that the app waits on exit for jobs to end

Result = TypeVar("Result")


class _Threads:
    """Persistent daemon threads; the most recently used one is used first.

    PyTorch has to warm up a new pool for each new thread. The app does not wait for these threads
    on exit.
    """

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Callable[[], None]]] = []

    def do(self, call: Callable[[], None]) -> None:
        """Run `call` in one of the threads."""
        try:
            inbox = self._idle.pop()
        except IndexError:
            inbox = SimpleQueue()
            threading.Thread(target=self._work, args=(inbox,), name="job", daemon=True).start()
        inbox.put(call)

    def _work(self, inbox: SimpleQueue[Callable[[], None]]) -> None:
        while True:
            inbox.get()()
            self._idle.append(inbox)


THREADS = _Threads()


@dataclass(frozen=True)
class Owner:
    """The person for whom a job is done.

    Attributes:
        name: the same in all of the person's tabs; if empty, the person is unknown and shares
            nothing.
        is_there: returns True while one of their pages is connected.
        is_bounded: True if `BOUND_SECONDS` limits their work while others wait.
    """

    name: str = ""
    is_there: Callable[[], bool] = lambda: True
    is_bounded: bool = False


UNKNOWN = Owner()


class Lane:
    """A queue of jobs of one kind, a few of which run at a time.

    Args:
        places: number of jobs that run at a time.
        each: number of places that one person may have; None for all.
        is_watched: True for long work, which is checked regularly; see `Job.look`.
    """

    def __init__(self, places: int, each: int | None = None, *, is_watched: bool = False) -> None:
        self.places = places
        self._each = each or places
        self._is_watched = is_watched
        self._is_watching = False
        self._lock = threading.Condition()  # notified of new jobs
        self._jobs: list[Job] = []  # all that have not ended
        self._waiting: list[Job] = []
        self._at_work: list[Job] = []
        self._lent: set[Job] = set()  # jobs whose places are lent to others
        self._served: dict[Hashable, float] = {}  # by person, the end of their last turn
        self._shortest_next = True

    def enter(self, job: Job) -> None:
        """Queue a job that has just been started."""
        with self._lock:
            self._jobs.append(job)
            self._wait(job)
            self._fill()
            self._lock.notify_all()
            if self._is_watched and not self._is_watching:
                self._is_watching = True
                THREADS.do(self._watch)

    def leave(self, job: Job, *, returns: bool) -> None:
        """End a job's turn; if it `returns`, queue it again."""
        with self._lock:
            self._served[job.person] = time.monotonic()
            self._at_work.remove(job)
            self._lent.discard(job)
            if returns:
                self._wait(job)
            else:
                self._jobs.remove(job)
                if all(one.person != job.person for one in self._jobs):
                    del self._served[job.person]
            self._fill()

    def lend(self, job: Job) -> None:
        """Lend a job's place to others although its turn has not ended."""
        with self._lock:
            self._lent.add(job)
            self._fill()

    def fill(self) -> None:
        """Start waiting jobs while there are places, and cancelled ones in any case."""
        with self._lock:
            self._fill()

    def must_leave(self, job: Job) -> bool:
        """Return True if others wait, or if the place of this job is lent to others."""
        return bool(self._waiting) or job in self._lent

    def is_waiting(self, job: Job) -> bool:
        """Return True if the job waits for its turn."""
        return job in self._waiting

    def others(self, job: Job) -> int:
        """Return the number of jobs this one takes turns with; 0 if there is a place for each."""
        return len(self._jobs) - 1 if self._waiting else 0

    def others_wait(self, job: Job) -> bool:
        """Return True if jobs of other people wait."""
        return any(one.person != job.person for one in tuple(self._waiting))

    def jobs(self) -> list[Job]:
        """Return all jobs that have not ended."""
        return list(self._jobs)

    def _wait(self, job: Job) -> None:
        job.since = time.monotonic()
        self._waiting.append(job)

    def _fill(self) -> None:
        while (job := self._next()) is not None:
            self._waiting.remove(job)
            self._at_work.append(job)
            THREADS.do(job.take_turn)

    def _next(self) -> Job | None:
        for job in self._waiting:
            if job.is_cancelled:  # it ends at once, with or without a place
                return job
        if len(self._at_work) - len(self._lent) >= self.places:
            return None
        at_work = Counter(job.person for job in self._at_work)
        fewest = min((at_work[job.person] for job in self._waiting), default=self._each)
        if fewest >= self._each:
            return None
        fitting = [job for job in self._waiting if at_work[job.person] == fewest]
        by_rest, self._shortest_next = self._shortest_next, not self._shortest_next
        if by_rest:
            return min(fitting, key=lambda job: (job.rest, job.since))
        return min(
            fitting, key=lambda job: (max(job.since, self._served.get(job.person, 0.0)), job.since)
        )

    def _watch(self) -> None:
        while True:
            with self._lock:
                self._lock.wait(LOOK_SECONDS)
                if not self._jobs:
                    self._is_watching = False
                    return
            self._look()

    def _look(self) -> None:  # a method, so that its locals keep no job alive while the watch waits
        for job in self.jobs():
            job.look()


WORKS = Lane(2, is_watched=True)  # texts by the hundred, measurements
STEPS = Lane(8, 2)  # a page waits for these; forward passes take turns by themselves
LOADS = Lane(2, 1)  # of models: a long download leaves one place for others
COUNTS = Lane(1)  # of weights: they compete with everything else for the interpreter
LANES = (WORKS, STEPS, LOADS, COUNTS)


class Stage(NamedTuple):
    """A stage of a job: its name, marked; the amount done; the total amount, None if unknown."""

    what: str
    done: int = 0
    total: int | None = None


class Job:
    """Work for one visitor that can be started, cancelled and resumed.

    A subclass defines `_passes`, which does the work bit by bit until it is done or cancelled, and
    `texts_done`.

    Class attributes:
        doing: its name, marked, for the message about an unexpected error.
        noun: the noun for the things counted.
        kept: the sentence on what is kept after an error, marked.
        cancelled: the sentence after a cancel, marked; empty for none.
        is_told: True if a failure becomes `problem`, False if the waiting caller handles it.
        breaks_off: True if a cancel may end it before any forward pass, else between two yields.

    Attributes:
        lane: the lane in which it takes its turns.
        count: number of texts in all.
        stage: the current stage, in the engine's words.
        problem: why it ended early, empty if it did not.
        failure: the error that ended it, None if there was none.
        seconds_left: estimated remaining time, None before there is an estimate.
        worked: seconds of work since it was started, without the time between its turns.
        rest: estimated seconds of work that remain.
        since: when it began to wait for its turn.
        inputs: the page's inputs when it began, None for work without inputs.
    """

    doing = marked("this work")
    noun = "text"
    kept = marked("The finished texts are kept; press Continue to resume.")
    cancelled: ClassVar[str] = ""
    is_told: ClassVar[bool] = True
    breaks_off: ClassVar[bool] = False
    lane = WORKS
    inputs: Any = None

    def __init__(self, count: int) -> None:
        self.count = count
        self.stage = Stage(self.doing)
        self.problem = ""
        self.failure: Exception | None = None
        self.seconds_left: float | None = None
        self.worked = self.rest = self.since = 0.0
        self.owner = UNKNOWN
        self._cancel = threading.Event()
        self._ended = threading.Event()
        self._ended.set()
        self._share = 0.0
        self._language = language()
        self._generator: Iterator[float | None] = iter(())
        self._started = self._seen = 0.0
        self._done_before = 0
        self._turn_began: float | None = None
        self._cancelled_at: float | None = None

    # --- for subclasses ---------------------------------------------------------------------------

    def _passes(self) -> Iterator[float | None]:
        """Do the work; yield `seconds_left` after every bit."""
        raise NotImplementedError

    def _left_by_count(self) -> float | None:
        """Estimate the remaining seconds from the work done in this run."""
        made = self.texts_done - self._done_before
        took = time.monotonic() - self._started
        return took / made * (self.count - self.texts_done) if made else None

    def _finish(self) -> None:
        """Complete the work in the thread; called after an error or a cancel too."""

    @property
    def is_done(self) -> bool:
        """True if all work is done."""
        return self.texts_done == self.count

    @property
    def texts_done(self) -> int:
        """The number of texts done, out of `count`."""
        raise NotImplementedError

    # --- for pages --------------------------------------------------------------------------------

    def start(self, owner: Owner = UNKNOWN) -> Self:
        """Start, or resume after a cancel.

        Args:
            owner: the person it is for; if they are away for a minute, the work ends.
        """
        with _starting:
            if self.is_running or self.is_done or self._turn_began is not None:
                return self
            self._cancel.clear()
            self.problem, self.failure, self._cancelled_at = "", None, None
            self.owner, self._language = owner, language()
            self.worked = self.rest = 0.0
            self._started = self._seen = time.monotonic()
            self._done_before = self.texts_done
            self._generator = self._begun()
            self._ended.clear()
        self.lane.enter(self)
        return self

    def cancel(self) -> None:
        """Stop the work after the current bit; the results so far are kept."""
        if not self._cancel.is_set():
            self._cancelled_at = time.monotonic()
            self._cancel.set()
            self.lane.fill()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has ended, at most `seconds`; return True if it has."""
        return self._ended.wait(seconds)

    @property
    def is_cancelled(self) -> bool:
        """True if it was cancelled, by a person or by `look`; it may still be ending."""
        return self._cancel.is_set()

    @property
    def is_running(self) -> bool:
        """True if it is at work, or waits for its turn."""
        return not self._ended.is_set()

    @property
    def is_waiting(self) -> bool:
        """True if it waits for its turn."""
        return self.lane.is_waiting(self)

    @property
    def person(self) -> Hashable:
        """The key of the person it counts for; the job's own if the person is unknown."""
        return self.owner.name or id(self)

    @property
    def share(self) -> float:
        """The elapsed share of this run's estimated time, 0 to 1."""
        return 1.0 if self.is_done else self._share

    @property
    def progress(self) -> str:
        """The progress in words."""
        words, others = self._in_words(), self.lane.others(self)
        if not others or not self.is_running:
            return words
        return say_counted(
            others,
            "{done}; taking turns with {count} other task",
            "{done}; taking turns with {count} other tasks",
            done=words,
        )

    def _in_words(self) -> str:
        words = say(
            "{one} of {things}", one=f"{self.texts_done:,}", things=counted(self.count, self.noun)
        )
        if not self.is_running or self.seconds_left is None:
            return words
        return say("{done}, {time} left", done=words, time=about(self.seconds_left))

    # --- in the threads ---------------------------------------------------------------------------

    def _begun(self) -> Iterator[float | None]:
        if self.is_cancelled:
            raise CancelledError("This was cancelled before it began.")
        yield from self._passes()

    def take_turn(self) -> None:
        """Work until the turn is over, then wait for the next one or end."""
        self._turn_began = time.monotonic()
        worked, returns = self.worked, False
        with speaking(self._language):  # this thread draws no page
            try:
                with panics_as_errors(), self._within():
                    for left in self._generator:
                        now = time.monotonic()
                        self.worked = worked + now - self._turn_began
                        self._estimate(left, now)
                        returns = now - self._turn_began >= SLICE_SECONDS
                        returns = returns and self.lane.must_leave(self)
                        if returns:
                            break
            except Exception as error:  # for the page to show; here it would be lost
                self._fail(error)
            finally:
                self._leave(returns)

    @contextmanager
    def _within(self) -> Iterator[None]:
        with asking(person=self.owner.name):
            if not self.breaks_off:
                yield
                return
            with as_job(self._cancel.is_set, self._tell):
                yield

    def _tell(self, what: str, done: int, total: int | None) -> None:
        self.stage = Stage(what, done, total)

    def _estimate(self, left: float | None, now: float) -> None:
        took = max(now - self._started, 1e-9)  # includes the turns of others, as `left` does
        self.seconds_left, self.rest = left, self.worked
        if left is not None:
            self._share = took / (took + left)
            self.rest = left * self.worked / took

    def _leave(self, returns: bool) -> None:
        if not returns:
            self._generator = iter(())
            try:
                self._finish()
            except Exception as error:
                self._fail(error)
        self._turn_began = None
        self.lane.leave(self, returns=returns)
        if not returns:
            self._ended.set()

    def _fail(self, error: Exception) -> None:
        if not isinstance(error, CancelledError):
            self.failure = self.failure or error
        if self.is_told and not self.problem:
            self.problem = self._told(error)

    def _told(self, error: Exception) -> str:
        if isinstance(error, CancelledError):
            return say(self.cancelled)
        if isinstance(error, DecodingError):
            return told(error)
        return report(error, self.doing, self.kept)

    def look(self) -> None:
        """Stop it if its visitor has gone, if its time is up while others wait, or if it hangs."""
        now, began = time.monotonic(), self._turn_began
        with speaking(self._language):
            try:
                if self.owner.is_there():
                    self._seen = now
                elif now - self._seen > GRACE_SECONDS:
                    self._end_early(
                        say("It ended because its page was closed or out of reach for a minute.")
                    )
            except Exception as error:
                self._end_early(self._told(error))
            if self._has_had_enough:
                minutes = f"{BOUND_SECONDS / 60:.0f}"
                said = say("Stopped after {minutes} min because others wait.", minutes=minutes)
                self._end_early(said)
            if began is not None and now - began > SLOW_SECONDS:
                self.lane.lend(self)
            if began is not None and now - (self._cancelled_at or now) > HANG_SECONDS:
                self.problem = say("It could not be stopped and was abandoned; begin a new one.")
                self._ended.set()

    @property
    def _has_had_enough(self) -> bool:
        is_over = self.owner.is_bounded and self.worked >= BOUND_SECONDS
        return is_over and self.lane.others_wait(self)

    def _end_early(self, why: str) -> None:
        if not self.is_done and not self.is_cancelled:
            self.problem = why
            self.cancel()


class Call(Job, Generic[Result]):
    """A job that calls a function, in one turn.

    Args:
        doing: the name of the work, as the page shows it; marked.
        call: the function to call.
        lane: the lane in which it takes its turn.
        is_told: see `Job`.

    Attributes:
        result: the function's return value; None before it has returned.
    """

    kept = marked("The steps so far are kept; try again.")
    cancelled = marked("Cancelled: the steps so far are kept.")
    breaks_off = True

    def __init__(
        self, doing: str, call: Callable[[], Result], lane: Lane = STEPS, *, is_told: bool = True
    ) -> None:
        self.doing, self.lane, self.is_told = doing, lane, is_told
        super().__init__(1)
        self.result: Result | None = None
        self._call = call
        self._has_returned = False

    def _passes(self) -> Iterator[float | None]:
        self.result = self._call()
        self._has_returned = True
        yield from ()

    @property
    def is_done(self) -> bool:
        """True if the function has returned."""
        return self._has_returned

    @property
    def texts_done(self) -> int:
        """1 once the function has returned, 0 before."""
        return int(self._has_returned)

    @property
    def share(self) -> float:
        """The share of the current stage that is done, 0 to 1; 0 if unknown."""
        return min(1.0, self.stage.done / self.stage.total) if self.stage.total else 0.0

    @property
    def progress(self) -> str:
        """The current work and its progress, in words."""
        what, done, total = say(self.stage.what), f"{self.stage.done:,}", self.stage.total
        if total:
            return say("{what}: {one} of {all}", what=what, one=done, all=f"{total:,}")
        return f"{what}: {localised(done)}" if self.stage.done else what


def in_thread(call: Callable[[], Result], owner: Owner = UNKNOWN) -> Result:
    """Call a function in a persistent thread; return its result or raise its error."""
    job = Call("", call, is_told=False).start(owner)
    job.wait()
    if job.failure is not None:
        raise job.failure
    return job.result


_starting = threading.Lock()


@atexit.register
def end_all() -> None:
    """Cancel every job, and wait: a thread that is still inside PyTorch would abort the process."""
    jobs = [job for lane in LANES for job in lane.jobs()]
    for job in jobs:
        job.cancel()
    end = time.monotonic() + EXIT_SECONDS
    for job in jobs:
        if job.lane is not LOADS:  # a download may stall
            job.wait(max(0.0, end - time.monotonic()))
