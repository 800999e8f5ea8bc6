"""The order of turns: by kind, by arrival, with a limit to waiting and a way to cancel."""

import threading
import time

import pytest

from engine.errors import CancelledError
from engine.runner.job import as_job, this_job
from engine.runner.scheduler import LOOK_SECONDS, Kind, Scheduler, _Ticket


def waits(scheduler: Scheduler, count: int) -> None:
    """Wait until `count` passes are waiting."""
    for _ in range(2_000):
        line = scheduler.line()
        if line["step"] + line["batch"] + line["prefill"] == count:
            return
        time.sleep(0.005)
    raise AssertionError(f"{count} passes should wait: {scheduler.line()}")


def queued(scheduler: Scheduler, kinds: list[Kind]) -> tuple[list[int], list[threading.Thread]]:
    """Queue passes of these kinds in turn; return the order in which they ran, and the threads."""
    ran: list[int] = []

    def work(place: int) -> None:
        with scheduler.turn(kinds[place]):
            ran.append(place)

    threads = []
    for place in range(len(kinds)):
        thread = threading.Thread(target=work, args=(place,))
        thread.start()
        waits(scheduler, place + 1)
        threads.append(thread)
    return ran, threads


def test_turns_go_by_kind_then_by_arrival():
    scheduler = Scheduler()
    with scheduler.turn(Kind.STEP):
        kinds = [Kind.PREFILL, Kind.BATCH, Kind.STEP, Kind.PREFILL, Kind.STEP, Kind.BATCH]
        ran, threads = queued(scheduler, kinds)
        assert not ran
        assert scheduler.line() == {"running": 1, "step": 2, "batch": 2, "prefill": 2}
    for thread in threads:
        thread.join()
    assert ran == [2, 4, 1, 5, 0, 3]
    assert scheduler.line() == {"running": 0, "step": 0, "batch": 0, "prefill": 0}


def test_job_that_waited_long_goes_first(monkeypatch):
    monkeypatch.setattr("engine.runner.scheduler.PATIENCE_SECONDS", 0.05)
    scheduler = Scheduler()
    with scheduler.turn(Kind.STEP):
        ran, threads = queued(scheduler, [Kind.PREFILL])
        time.sleep(0.2)
        more, later = queued(scheduler, [])
        thread = threading.Thread(target=lambda: _ran(scheduler, ran))
        thread.start()
        waits(scheduler, 2)
    for one in [*threads, *later, thread]:
        one.join()
    assert not more
    assert ran == [0, "step"]


def _ran(scheduler: Scheduler, ran: list) -> None:
    with scheduler.turn(Kind.STEP):
        ran.append("step")


def test_nested_turn_reuses_the_outer_turn():
    scheduler = Scheduler()
    with scheduler.turn(Kind.BATCH), scheduler.turn(Kind.PREFILL):
        assert scheduler.line()["running"] == 1
    with scheduler.turn(Kind.STEP):
        pass


def test_a_cancelled_job_leaves_the_line():
    scheduler = Scheduler()
    stop, caught = threading.Event(), []

    def work() -> None:
        with as_job(stop.is_set):
            try:
                with scheduler.turn(Kind.STEP):
                    caught.append("ran")
            except CancelledError as error:
                caught.append(error)

    with scheduler.turn(Kind.STEP):
        thread = threading.Thread(target=work)
        thread.start()
        waits(scheduler, 1)
        stop.set()
        thread.join(10)
        assert scheduler.line()["step"] == 0
    assert len(caught) == 1 and isinstance(caught[0], CancelledError)
    assert scheduler.give_way() == 0, "it waits for a step that nobody takes"


def test_waiting_job_is_told_its_place(monkeypatch):
    monkeypatch.setattr("engine.runner.scheduler.PATIENCE_SECONDS", 0.05)
    scheduler = Scheduler()
    told = []

    def work() -> None:
        with as_job(lambda: False, lambda *words: told.append(words)), scheduler.turn(Kind.STEP):
            pass

    with scheduler.turn(Kind.STEP):
        _, threads = queued(scheduler, [Kind.STEP, Kind.STEP])
        threads.append(threading.Thread(target=work))
        threads[-1].start()
        for _ in range(400):
            if told:
                break
            time.sleep(0.01)
    for thread in threads:
        thread.join()
    assert told[0] == ("Waiting behind other passes", 3, None)


@pytest.mark.parametrize("waits_for", [0, 3 * LOOK_SECONDS], ids=["at once", "a moment"])
def test_short_wait_is_not_reported(waits_for, monkeypatch):
    monkeypatch.setattr("engine.runner.scheduler.PATIENCE_SECONDS", 1_000.0)
    scheduler, heard = Scheduler(), []

    def work() -> None:
        listening = as_job(lambda: False, lambda *told: heard.append(told), heard.append)
        with listening, scheduler.turn(Kind.STEP):
            heard.append("turn")

    thread = threading.Thread(target=work)
    if waits_for:
        with scheduler.turn(Kind.STEP):
            thread.start()
            waits(scheduler, 1)
            time.sleep(waits_for)
    else:
        thread.start()
    thread.join()
    assert heard == ["turn"]


def test_listener_hears_its_place_and_its_turn(monkeypatch):
    monkeypatch.setattr("engine.runner.scheduler.PATIENCE_SECONDS", 0.05)
    scheduler = Scheduler()
    heard, words = [], []

    def work() -> None:
        listening = as_job(lambda: False, lambda *told: words.append(told), heard.append)
        with listening, scheduler.turn(Kind.STEP):
            heard.append("turn")

    with scheduler.turn(Kind.STEP):
        thread = threading.Thread(target=work)
        thread.start()
        for _ in range(400):
            if heard:
                break
            time.sleep(0.01)
    thread.join()
    assert heard[0] == 1 and heard[-2:] == [0, "turn"]
    assert not words


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


def test_ending_turn_wakes_only_the_next_job(monkeypatch):
    monkeypatch.setattr("engine.runner.scheduler.PATIENCE_SECONDS", 1_000.0)
    looks, rank = [], _Ticket.rank
    monkeypatch.setattr(_Ticket, "rank", lambda *given: looks.append(1) or rank(*given))
    scheduler, count = Scheduler(), 30
    with scheduler.turn(Kind.STEP):
        ran, threads = queued(scheduler, [Kind.STEP] * count)
    for thread in threads:
        thread.join()
    assert ran == list(range(count))
    assert len(looks) <= count * count, "each of those who wait went through the whole line"


def test_turn_of_a_cancelled_job_is_passed_on():
    scheduler = Scheduler()
    stop, ran = threading.Event(), []

    def work() -> None:
        # The turn is handed over while the job checks for cancellation.
        with as_job(lambda: stop.is_set() and ended.wait(10)):
            try:
                with scheduler.turn(Kind.STEP):
                    ran.append("cancelled")
            except CancelledError:
                ran.append("left")

    ended = threading.Event()
    with scheduler.turn(Kind.STEP):
        first = threading.Thread(target=work)
        first.start()
        waits(scheduler, 1)
        second = threading.Thread(target=lambda: _ran(scheduler, ran))
        second.start()
        waits(scheduler, 2)
        stop.set()
        time.sleep(2 * LOOK_SECONDS)  # until the job checks
    ended.set()
    first.join(10)
    second.join(10)
    assert ran == ["left", "step"]
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
        ran, threads = queued(scheduler, [Kind.STEP])
        thread = threading.Thread(target=work)
        thread.start()
        assert not done.wait(3 * LOOK_SECONDS), "a step waits"
    for one in [thread, *threads]:
        one.join(10)
    assert went_on == [1, 0] and ran == [0]
    assert scheduler.give_way() == 0, "nobody steps any more"


def test_giving_way_ends_by_timeout_or_cancellation():
    scheduler, took = Scheduler(), []
    stop = threading.Event()

    def work() -> None:
        took.append(scheduler.give_way(0.06))
        with as_job(stop.is_set), pytest.raises(CancelledError):
            scheduler.give_way(1_000.0)
        took.append(0.0)

    with scheduler.turn(Kind.STEP):
        thread = threading.Thread(target=work)
        thread.start()
        stop.set()
        thread.join(10)
    assert len(took) == 2 and took[0] >= 0.06


def test_long_pass_pauses_only_for_higher_priority_turns():
    scheduler = Scheduler()
    with scheduler.turn(Kind.BATCH) as turn:
        turn.take()
        assert turn.seconds == 0 and not turn.is_wished, "nobody waits"
        ran, threads = queued(scheduler, [Kind.PREFILL, Kind.STEP, Kind.BATCH, Kind.STEP])
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
    for thread in threads:
        thread.join()
    assert ran == [1, 3, 2, 0]


def test_long_pass_pauses_for_every_arriving_step():
    scheduler, start = Scheduler(), time.monotonic()
    with scheduler.turn(Kind.BATCH) as turn:
        for _ in range(3):
            for _ in range(2):  # one inner turn ends as the next begins
                with scheduler.turn(Kind.BATCH):
                    pass
            ran, threads = queued(scheduler, [Kind.STEP])
            with scheduler.turn(Kind.BATCH) as within:
                within.take()
            assert not ran
            before = turn.seconds
            turn.take()
            assert ran == [0] and turn.seconds > before
            threads[0].join()
    assert turn.seconds <= time.monotonic() - start


def test_single_steps_and_long_waiters_do_not_pause():
    scheduler = Scheduler()
    with scheduler.turn(Kind.STEP) as turn:
        ran, threads = queued(scheduler, [Kind.STEP])
        assert not turn.is_wished
    for thread in threads:
        thread.join()
    with scheduler.turn(Kind.PREFILL) as turn:
        ran, threads = queued(scheduler, [Kind.STEP])
        turn._ticket.since -= 10.0  # as if it had waited for that time
        turn.take()
        assert not ran and not turn.is_wished and turn.seconds == 0
        turn._ticket.since = turn._ticket.began  # as if it had run for that time
        assert turn.is_wished
        turn.take()
        assert ran == [0]
    for thread in threads:
        thread.join()
