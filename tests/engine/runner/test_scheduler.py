"""The order of turns: by kind, by arrival, with a limit to waiting and a way to cancel."""

import threading
import time
from collections.abc import Callable

import pytest

from engine.errors import CancelledError
from engine.runner.job import as_job, this_job
from engine.runner.scheduler import LOOK_SECONDS, PATIENCE_SECONDS, Kind, Scheduler


class Clock:
    """The scheduler's clock, which stands still until the test moves it."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    own = Clock()
    monkeypatch.setattr("engine.runner.scheduler.time", own)
    return own


def becomes(condition: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    for _ in range(2_000):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("it never holds")


def started(scheduler: Scheduler, work: Callable[[], None]) -> threading.Thread:
    """Start a thread and wait until its pass waits in line."""

    def waiting() -> int:
        return sum(scheduler.line().values()) - scheduler.line()["running"]

    before = waiting()
    thread = threading.Thread(target=work)
    thread.start()
    becomes(lambda: waiting() == before + 1)
    return thread


def queued(scheduler: Scheduler, *kinds: Kind) -> tuple[list[int], list[threading.Thread]]:
    """Queue passes of these kinds in turn; return the order in which they ran, and the threads."""
    ran: list[int] = []

    def work(place: int) -> None:
        with scheduler.turn(kinds[place]):
            ran.append(place)

    threads = [started(scheduler, lambda place=place: work(place)) for place in range(len(kinds))]
    return ran, threads


def ended(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()


def test_turns_go_by_kind_then_by_arrival():
    scheduler = Scheduler()
    with scheduler.turn(Kind.STEP):
        ran, threads = queued(
            scheduler, Kind.PREFILL, Kind.BATCH, Kind.STEP, Kind.PREFILL, Kind.STEP, Kind.BATCH
        )
        assert not ran
        assert scheduler.line() == {"running": 1, "step": 2, "batch": 2, "prefill": 2}
    ended(threads)
    assert ran == [2, 4, 1, 5, 0, 3]
    assert scheduler.line() == {"running": 0, "step": 0, "batch": 0, "prefill": 0}


@pytest.mark.parametrize(("patiences", "first"), [(0, "step"), (1.5, "step"), (2.5, "prefill")])
def test_job_that_waited_long_goes_first(clock, patiences, first):
    scheduler, ran = Scheduler(), []

    def work(kind: Kind) -> None:
        with scheduler.turn(kind):
            ran.append(kind.name.lower())

    with scheduler.turn(Kind.STEP):
        threads = [started(scheduler, lambda: work(Kind.PREFILL))]
        clock.now += patiences * PATIENCE_SECONDS
        threads.append(started(scheduler, lambda: work(Kind.STEP)))
    ended(threads)
    assert ran[0] == first and len(ran) == 2


def test_a_cancelled_job_leaves_the_line():
    scheduler = Scheduler()
    stop, caught = threading.Event(), []

    def work() -> None:
        with as_job(stop.is_set), pytest.raises(CancelledError), scheduler.turn(Kind.STEP):
            caught.append("ran")
        caught.append("cancelled")

    with scheduler.turn(Kind.STEP):
        thread = started(scheduler, work)
        stop.set()
        ended([thread])
        assert scheduler.line()["step"] == 0
    assert caught == ["cancelled"]
    assert scheduler.give_way() == 0, "it waits for a step that nobody takes"


def test_job_that_waits_long_is_told_its_place_and_turn(clock):
    scheduler = Scheduler()
    looks, told, unused, heard = [], [], [], []

    def work(*listeners: Callable[..., None]) -> None:
        with as_job(lambda: looks.append(1), *listeners), scheduler.turn(Kind.STEP):
            heard.append("turn")

    with scheduler.turn(Kind.STEP):
        _, threads = queued(scheduler, Kind.STEP, Kind.STEP)
        threads.append(started(scheduler, lambda: work(lambda *words: told.append(words))))
        listeners = (lambda *words: unused.append(words)), heard.append
        threads.append(started(scheduler, lambda: work(*listeners)))
        becomes(lambda: len(looks) > 8)
        assert not told and not heard, "a short wait is not reported"
        clock.now += PATIENCE_SECONDS
        becomes(lambda: told and heard)
    ended(threads)
    assert told[0] == ("Waiting behind other passes", 3, None)
    assert heard[0] == 4 and heard[-2:] == [0, "turn"]
    assert not unused


def test_a_failed_pass_gives_the_turn_back():
    scheduler, came = Scheduler(), []
    with pytest.raises(ZeroDivisionError), scheduler.turn(Kind.STEP):
        _ = 1 / 0
    assert scheduler.line()["running"] == 0

    def next_one() -> None:
        with scheduler.turn(Kind.STEP):
            came.append("turn")

    # In a different thread: the failed thread could re-enter a turn that it had kept.
    thread = threading.Thread(target=next_one, daemon=True)
    thread.start()
    thread.join(10)
    assert came == ["turn"]


def test_job_applies_only_to_its_thread_and_block():
    before = this_job()
    with as_job(lambda: True) as mine:
        assert this_job() is mine
        seen = []
        thread = threading.Thread(target=lambda: seen.append(this_job()))
        thread.start()
        thread.join()
        assert seen == [before]
        with pytest.raises(CancelledError, match="the text so far is unchanged"):
            mine.check()
    assert this_job() is before


def test_turn_of_a_cancelled_job_is_passed_on():
    scheduler, ran = Scheduler(), []
    stop, checks, goes_on = threading.Event(), threading.Event(), threading.Event()

    def is_cancelled() -> bool:
        if not stop.is_set():
            return False
        checks.set()
        return goes_on.wait(10)  # the turn is handed over in the meantime

    def work() -> None:
        with as_job(is_cancelled), pytest.raises(CancelledError), scheduler.turn(Kind.STEP):
            ran.append("ran")
        ran.append("cancelled")

    with scheduler.turn(Kind.STEP):
        threads = [started(scheduler, work)]
        others, more = queued(scheduler, Kind.STEP)
        stop.set()
        assert checks.wait(10)
    goes_on.set()
    ended([*threads, *more])
    assert (ran, others) == (["cancelled"], [0])
    assert scheduler.line()["running"] == 0 and scheduler.give_way() == 0


def test_long_work_gives_way_only_to_single_steps():
    scheduler = Scheduler()
    assert scheduler.give_way() == 0
    with scheduler.turn(Kind.STEP):
        assert scheduler.give_way() == 0, "nobody waits for themselves"
    went_on, done = [], threading.Event()

    def work() -> None:
        scheduler.give_way(10)
        went_on.append(scheduler.line()["running"])
        done.set()

    with scheduler.turn(Kind.BATCH):
        thread = threading.Thread(target=work)
        thread.start()
        assert done.wait(10), "another batch is no reason to wait"
        thread.join()
        done.clear()
        ran, threads = queued(scheduler, Kind.STEP)
        thread = threading.Thread(target=work)
        thread.start()
        assert not done.wait(3 * LOOK_SECONDS), "a step waits"
    ended([thread, *threads])
    assert went_on == [1, 0] and ran == [0]
    assert scheduler.give_way() == 0, "nobody steps any more"


def test_giving_way_ends_by_timeout_or_cancellation():
    scheduler, took = Scheduler(), []

    def work() -> None:
        took.append(scheduler.give_way(0.06))
        with as_job(lambda: True), pytest.raises(CancelledError):
            scheduler.give_way(1_000.0)
        took.append(0.0)

    with scheduler.turn(Kind.STEP):
        thread = threading.Thread(target=work)
        thread.start()
        ended([thread])
    assert len(took) == 2 and took[0] >= 0.06


def test_long_pass_pauses_only_for_higher_priority_turns():
    scheduler = Scheduler()
    with scheduler.turn(Kind.BATCH) as turn:
        turn.take()
        assert turn.seconds == 0 and not turn.is_wished, "nobody waits"
        ran, threads = queued(scheduler, Kind.PREFILL, Kind.STEP, Kind.BATCH, Kind.STEP)
        assert turn.is_wished
        with scheduler.turn(Kind.BATCH) as within:
            within.take()
        assert not ran, "who asked for a turn within a turn wants nobody between"
        with as_job(lambda: True):
            turn.take()
        assert ran == [1, 3] and turn.seconds > 0, "the pass is half done and cannot be cancelled"
        turn.take()
        assert ran == [1, 3], "who came later with the same kind waits for its end"
        assert scheduler.line()["running"] == 1
        later, more = queued(scheduler, Kind.STEP)
        before = turn.seconds
        turn.take()
        assert later == [0] and turn.seconds > before, "it pauses for every step"
    ended([*threads, *more])
    assert ran == [1, 3, 2, 0]


def test_pass_that_waited_long_does_not_pause(clock):
    scheduler, found = Scheduler(), []

    def work() -> None:
        with scheduler.turn(Kind.PREFILL) as turn:
            ran, more = queued(scheduler, Kind.STEP)
            turn.take()
            found.append((list(ran), turn.is_wished, turn.seconds))
        ended(more)

    with scheduler.turn(Kind.STEP):
        thread = started(scheduler, work)
        clock.now += 10 * PATIENCE_SECONDS
    ended([thread])
    assert found == [([], False, 0.0)]
