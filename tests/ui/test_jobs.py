"""Jobs: turns, departed owners, endings, and progress messages."""

import re
import threading
from collections.abc import Callable, Iterator

import pytest

from engine.errors import PromptError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.study.sweep import Axis, Sweep
from tests.engine.test_panics import PanicException
from tests.ui import hostile
from tests.waiting import PATIENCE_S, until
from ui import jobs
from ui.compare.sampling_run import SamplingRun
from ui.jobs import WORKS, Call, Job, Lane, Owner, in_thread
from ui.tune.sweep_job import SweepJob

AT_ONCE = WORKS.places


class Work(Job):
    """A job that writes five texts, one for each press of `go`."""

    def __init__(self, lane: Lane = WORKS) -> None:
        super().__init__(5)
        self.lane = lane
        self.made = self.ends = 0
        self.fails: BaseException | None = None
        self.begun, self.go = threading.Event(), threading.Semaphore(0)

    def _passes(self) -> Iterator[float | None]:
        self.begun.set()
        yield None
        while self.made < self.count:
            while not self.go.acquire(timeout=0.01):
                if self._cancel.is_set():
                    return
            if self._cancel.is_set():
                return
            if self.fails:
                raise self.fails
            self.made += 1
            yield float(self.count - self.made)

    def _finish(self) -> None:
        self.ends += 1

    @property
    def is_done(self) -> bool:
        return self.made == self.count

    @property
    def texts_done(self) -> int:
        return self.made


class Turns(Work):
    """A job that writes five texts, each in a turn; `order` records the authors.

    Args:
        rest: estimated time per remaining text, as the job reports it.
    """

    def __init__(self, name: str, lane: Lane, order: list[str], rest: float | None = 1.0) -> None:
        super().__init__(lane)
        self.name, self.order, self.each = name, order, rest

    def _passes(self) -> Iterator[float | None]:
        while self.made < self.count:
            self.made += 1
            self.order.append(self.name)
            yield self.each and self.each * (self.count - self.made)


@pytest.fixture(autouse=True)
def looked_at_often(monkeypatch) -> None:
    monkeypatch.setattr(jobs, "LOOK_SECONDS", 0.01)


def begun(work: Work, is_there: Callable[[], bool] = lambda: True) -> Work:
    work.start(Owner(is_there=is_there))
    assert work.begun.wait(PATIENCE_S)
    return work


def finished(work: Work) -> None:
    work.go.release(work.count)
    work.wait(PATIENCE_S)
    assert (work.is_running, work.is_waiting, work.is_done) == (False, False, True)


@pytest.fixture
def places() -> Iterator[list[Work]]:
    """Occupy all places."""
    works = [begun(Work()) for _ in range(AT_ONCE)]
    yield works
    for work in works:
        finished(work)


def in_turns(monkeypatch, *works: Turns, people: str = "") -> list[str]:
    """Return the author of each text, of works that arrived while the one place was taken."""
    (lane,) = {work.lane for work in works}
    monkeypatch.setattr(jobs, "SLICE_SECONDS", 0)
    first = begun(Work(lane))
    for work, person in zip(works, people or [work.name for work in works], strict=True):
        work.start(Owner(person))
        until(lambda work=work: work.is_waiting)
    first.cancel()
    for work in works:
        assert work.wait(PATIENCE_S) and work.is_done and not work.problem
    return works[0].order


def test_long_jobs_take_turns_without_losing_work(monkeypatch):
    lane, order = Lane(1), []
    works = [Turns(name, lane, order, None) for name in "abc"]
    assert sorted(in_turns(monkeypatch, *works)[:3]) == ["a", "b", "c"]
    assert sorted(order) == sorted("abc" * 5)


def test_every_second_turn_goes_to_shortest_job(monkeypatch):
    lane, order = Lane(1), []
    works = [Turns(name, lane, order, 3600.0) for name in "abcdef"]
    works.append(Turns("short", lane, order, 1e-6))
    in_turns(monkeypatch, *works, people="abcdefs")
    last = max(at for at, name in enumerate(order) if name == "short")
    assert last < 17, order
    assert set(order[: last + 9]) == {*"abcdef", "short"}, "the long ones come in between"


def test_jobs_of_one_person_count_as_one(monkeypatch):
    lane, order = Lane(1), []
    works = [Turns(name, lane, order) for name in "abcdefg"]
    works.append(Turns("other", lane, order))
    in_turns(monkeypatch, *works, people="ppppppph")
    last = max(at for at, name in enumerate(order) if name == "other")
    assert last < 20, order


def test_person_has_one_place_while_others_wait():
    lane = Lane(2)
    mine, other = [Work(lane) for _ in range(3)], Work(lane)
    for work in mine:
        work.start(Owner("me"))
    until(lambda: sum(work.begun.is_set() for work in mine) == 2)
    other.start(Owner("other"))
    until(lambda: other.is_waiting)
    finished(mine[0])
    assert other.begun.wait(PATIENCE_S) and not mine[2].begun.is_set()
    for work in (other, *mine[1:]):
        finished(work)


def test_one_person_cannot_take_every_place():
    lane, go = Lane(3, 2), threading.Event()

    def call(name: str) -> Call:
        return Call("", go.wait, lane).start(Owner(name))

    mine = [call("me") for _ in range(4)]
    other = call("other")
    assert [one.is_waiting for one in (*mine, other)] == [False, False, True, True, False]
    go.set()
    assert all(one.wait(PATIENCE_S) for one in (*mine, other))


def test_progress_reports_other_tasks_taking_turns(places):
    one, two = Work(), Work()
    one.start()
    until(lambda: one.is_waiting)
    assert one.progress == "0 of 5 texts; taking turns with 2 other tasks"
    two.start()
    assert places[0].progress == "0 of 5 texts; taking turns with 3 other tasks"
    for work in (two, one):
        work.cancel()
        assert work.wait(PATIENCE_S)
    assert places[0].progress == "0 of 5 texts"


@pytest.mark.parametrize("is_bounded", [True, False])
def test_bounded_job_ends_if_others_wait_long(is_bounded, monkeypatch):
    monkeypatch.setattr(jobs, "BOUND_SECONDS", 1e-9)
    lane = Lane(1, is_watched=True)
    long, other = Work(lane), Work(lane)
    long.go.release(1)
    long.start(Owner("long", is_bounded=is_bounded))
    until(lambda: long.made == 1)
    looks = []
    monkeypatch.setattr(long, "look", lambda: looks.append(Job.look(long)))
    until(lambda: len(looks) > 3)
    assert long.is_running, "alone"
    other.start(Owner("other"))
    if is_bounded:
        assert long.wait(PATIENCE_S)
        assert long.problem == "Stopped after 0 min because others wait."
        assert (long.made, long.is_done) == (1, False)
        finished(other)
        long.start()
    else:
        until(lambda: len(looks) > 20)
        assert long.is_running and not long.is_cancelled
    finished(long)
    if not is_bounded:
        finished(other)


def test_slow_pass_lends_its_place_or_is_abandoned(monkeypatch):
    monkeypatch.setattr(jobs, "SLOW_SECONDS", -1)
    lane, goes_on = Lane(1, is_watched=True), threading.Event()

    class Hangs(Work):
        def _passes(self) -> Iterator[float | None]:
            self.begun.set()
            goes_on.wait(PATIENCE_S)
            yield None

    hangs, other = Hangs(lane), Work(lane)
    begun(hangs)
    finished(begun(other))
    hangs.cancel()
    assert not hangs.wait(0.05)
    monkeypatch.setattr(jobs, "HANG_SECONDS", -1)
    assert hangs.wait(PATIENCE_S)
    assert hangs.problem.startswith("It could not be stopped and was abandoned")
    assert not hangs.start().is_running, "its thread is still at it"
    goes_on.set()
    until(lambda: not lane.jobs())
    assert hangs.start().is_running
    assert hangs.wait(PATIENCE_S)


def test_threads_are_reused(monkeypatch):
    monkeypatch.setattr(jobs, "THREADS", jobs._Threads())  # without those of other tests
    threads = set()
    for _ in range(20):
        threads.add(in_thread(threading.get_ident))
        until(lambda: jobs.THREADS._idle)  # the answer arrives a moment before the thread is idle
    assert len(threads) == 1


def test_in_thread_returns_result_or_raises_error():
    with pytest.raises(ZeroDivisionError):
        in_thread(lambda: 1 / 0)
    assert in_thread(lambda: 3) == 3


def test_job_leaves_queue_when_cancelled_or_visitor_gone(places, monkeypatch):
    cancelled, gone, last = Work(), Work(), Work()
    cancelled.start()
    until(lambda: cancelled.is_waiting)
    cancelled.cancel()
    cancelled.wait(PATIENCE_S)
    monkeypatch.setattr(jobs, "GRACE_SECONDS", -1)
    gone.start(Owner(is_there=lambda: False))
    gone.wait(PATIENCE_S)
    for work in (cancelled, gone):
        assert (work.is_running, work.is_waiting, work.made, work.ends) == (False, False, 0, 1)
    last.start()
    until(lambda: last.is_waiting)
    finished(places[0])
    finished(last)


def test_failed_presence_check_ends_only_its_job(monkeypatch, caplog):

    def fails() -> bool:
        raise ConnectionError("no server")

    work, other = Work(), begun(Work())
    work.start(Owner(is_there=fails))
    assert work.wait(PATIENCE_S)
    assert work.problem.startswith("An unexpected error interrupted this work.")
    finished(other)


def test_lost_connection_may_return_within_grace_period(monkeypatch):
    now, there = [0.0], [False]
    monkeypatch.setattr(jobs.time, "monotonic", lambda: now[0])
    work = Work(Lane(0))
    work.start(Owner(is_there=lambda: there[0]))
    for at, is_there in ((59.0, False), (61.5, True), (121.0, False)):
        now[0], there[0] = at, is_there
        work.look()
        assert not work.is_cancelled
    now[0] = 123.5
    work.look()
    assert work.is_cancelled


def test_job_ends_when_visitor_leaves_and_can_resume(monkeypatch):
    monkeypatch.setattr(jobs, "GRACE_SECONDS", -1)
    work = Work()
    work.go.release(2)
    work.start(Owner(is_there=lambda: work.made < 2))
    work.wait(PATIENCE_S)
    assert (work.made, work.is_running, work.is_done, work.ends) == (2, False, False, 1)
    assert work.progress == "2 of 5 texts"
    assert work.problem.startswith("It ended because its page was closed or out of reach")
    finished(begun(work))
    assert work.problem == ""
    assert (work.progress, work.share, work.ends) == ("5 of 5 texts", 1.0, 2)


def test_finished_job_stays_done_after_visitor_leaves(monkeypatch):
    monkeypatch.setattr(jobs, "GRACE_SECONDS", -1)
    work = Work()
    work.go.release(5)
    work.start(Owner(is_there=lambda: not work.is_done))
    work.wait(PATIENCE_S)
    assert (work.is_done, work.problem, work.is_cancelled) == (True, "", False)


def test_progress_estimates_the_time_left():
    work = begun(Work())
    assert work.progress == "0 of 5 texts"
    work.go.release()
    until(lambda: work.seconds_left == 4.0)
    assert work.progress == "1 of 5 texts, about 4 s left"
    assert 0 < work.share < 1
    finished(work)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PromptError("The prompt is empty."), "The prompt is empty."),
        (PanicException("out of bounds"), "gave up on what it was given (out of bounds)"),
        (ZeroDivisionError("x"), "An unexpected error interrupted this work. "),
    ],
)
def test_failure_is_reported_and_frees_the_place(error, said, caplog):
    for _ in range(AT_ONCE + 1):
        work = Work()
        work.fails = error
        work.go.release()
        work.start()
        work.wait(PATIENCE_S)
        assert said in work.problem
        assert (work.is_running, work.is_done, work.ends) == (False, False, 1)
    number = re.search(r"this number to the person who runs this app: (\d+)\.$", work.problem)
    assert bool(number) == isinstance(error, ZeroDivisionError)
    if number:
        assert f"Problem {number.group(1)} interrupted this work" in caplog.text
        assert "ZeroDivisionError" in caplog.text
    work.fails = None
    finished(begun(work))
    assert work.problem == ""


@pytest.mark.parametrize("fails", [None, PromptError("The prompt is empty.")])
def test_job_failing_at_end_reports_first_problem(fails):
    class Clumsy(Work):
        def _finish(self) -> None:
            raise KeyError("x")

    work = Clumsy()
    work.fails = fails
    work.go.release(work.count)
    work.start()
    work.wait(PATIENCE_S)
    assert not work.is_running
    assert work.problem.startswith("The prompt is" if fails else "An unexpected error interrupted")


def test_sweep_and_samples_queue_and_restart_after_failure(monkeypatch):
    model = LanguageModel(hostile.language_model(context=40), hostile.tokenizer(), name="tiny")
    axis = Axis("temperature", (0.5, 1))
    sweep = Sweep(SamplingSettings(), axis, prompts=["w1"], seeds=(0,), max_tokens=4)
    columns = [(1, "a", SamplingSettings())]
    works = [
        SweepJob(sweep, model, ["w1"]),
        SamplingRun({1: model}, {model: "w1"}, columns, count=2, first_seed=0, max_tokens=4),
    ]
    with monkeypatch.context() as broken:
        broken.setattr("engine.decoding.batch.Batch._run_group", lambda *_: 1 / 0)
        for work, name in zip(works, ("the sweep", "the samples"), strict=True):
            work.start()
            work.wait(PATIENCE_S)
            assert work.problem.startswith(f"An unexpected error interrupted {name}. ")
            assert not work.is_running
    places = [begun(Work()) for _ in range(AT_ONCE)]
    for work in works:
        work.start()
    until(lambda: all(work.is_waiting for work in works))
    for place in places:
        finished(place)
    for work in works:
        work.wait(PATIENCE_S)
        assert (work.problem, work.is_done, work.progress) == ("", True, "2 of 2 texts")


def test_end_of_app_stops_every_job():
    # A thread within PyTorch at the process's end would abort the process.
    works = [begun(Work()) for _ in range(AT_ONCE)]
    jobs.end_all()
    assert not any(work.is_running or work.is_done for work in works)
    finished(begun(Work()))
