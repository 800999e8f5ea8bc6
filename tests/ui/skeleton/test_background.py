"""Work in the background: whose turn it is, who has gone, how it ends, what it says of itself."""

import re
import threading
from collections.abc import Callable, Iterator

import pytest

from engine.errors import PromptError
from engine.guarded import Line
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.study.sweep import Axis, Sweep
from tests.engine.test_panics import PanicException
from tests.ui import hostile
from ui.compare.sampling_run import SamplingRun
from ui.skeleton import background
from ui.skeleton.background import AT_ONCE, BackgroundWork, place_in_line
from ui.tune.sweep_work import SweepWork

PATIENCE_S = 60


class Work(BackgroundWork):
    """Five texts, one for each press of `go`."""

    def __init__(self) -> None:
        super().__init__(5)
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

    def _ended(self) -> None:
        self.ends += 1

    @property
    def is_done(self) -> bool:
        return self.made == self.count

    @property
    def texts_done(self) -> int:
        return self.made


def begun(work: Work, is_there: Callable[[], bool] = lambda: True) -> Work:
    work.start(is_there)
    assert work.begun.wait(PATIENCE_S)
    return work


def finished(work: Work) -> None:
    work.go.release(work.count)
    work.wait(PATIENCE_S)
    assert (work.is_running, work.is_waiting, work.is_done) == (False, False, True)


def until(holds: Callable[[], bool]) -> None:
    waited = threading.Event()
    for _ in range(PATIENCE_S * 100):
        if holds():
            return
        waited.wait(0.01)
    raise AssertionError("it never came to that")


@pytest.fixture
def places() -> Iterator[list[Work]]:
    """All places taken."""
    works = [begun(Work()) for _ in range(AT_ONCE)]
    yield works
    for work in works:
        finished(work)


def test_works_wait_in_line_and_come_in_as_they_came(places):
    waiting = []
    for _ in range(4):
        waiting.append(Work())
        waiting[-1].start()
        until(lambda: waiting[-1].is_waiting and len(background._line._waiting) == len(waiting))
    words = ["first in line, until the work of another visitor ends"]
    words += ["second in line, behind 1 other", "third in line, behind 2 others"]
    words += ["fourth in line, behind 3 others"]
    assert [work.progress for work in waiting] == [f"Waiting: {each}" for each in words]
    assert not any(work.begun.is_set() for work in waiting)
    for place, work in enumerate(waiting):
        finished(places[0] if place == 0 else waiting[place - 1])
        assert work.begun.wait(PATIENCE_S)
        later = waiting[place + 1 :]
        assert not any(work.begun.is_set() for work in later), "out of its turn"
        until(lambda later=later: [work.behind for work in later] == [*range(len(later))])
    finished(waiting[-1])


@pytest.mark.parametrize(
    ("behind", "words"), [(9, "tenth in line, behind 9 others"), (10, "number 11 in line, behind")]
)
def test_a_place_far_behind_has_words_too(behind, words):
    assert place_in_line(behind).startswith(words)


def test_who_cancels_or_leaves_gives_the_place_in_line_up(places, monkeypatch):
    cancelled, gone, last = Work(), Work(), Work()
    cancelled.start()
    until(lambda: cancelled.is_waiting)
    cancelled.cancel()
    cancelled.wait(PATIENCE_S)
    monkeypatch.setattr(background, "LOOK_SECONDS", 0)
    monkeypatch.setattr(background, "GRACE_SECONDS", -1)
    gone.start(lambda: False)
    gone.wait(PATIENCE_S)
    for work in (cancelled, gone):
        assert (work.is_running, work.is_waiting, work.made, work.ends) == (False, False, 0, 1)
    last.start()
    until(lambda: last.is_waiting)
    finished(places[0])
    finished(last)


def test_who_fails_while_waiting_blocks_nobody():
    line = Line(1)
    assert line.enter(lambda: False)

    def fails() -> bool:
        raise ConnectionError("no server any more")

    with pytest.raises(ConnectionError):
        line.enter(fails)
    assert not line.enter(lambda: True)
    line.leave()
    assert line.enter(lambda: False)


def test_a_lost_connection_may_come_back_within_the_grace(monkeypatch):
    now, there, asked = [0.0], [False], []
    monkeypatch.setattr(background.time, "monotonic", lambda: now[0])
    visitor = background._Visitor(lambda: asked.append(now[0]) or there[0])
    for now[0] in (1.0, 1.9, 2.0, 30.0, 59.0):
        assert not visitor.has_gone()
    assert asked == [2.0, 30.0, 59.0], "asked at every token"
    there[0], now[0] = True, 61.5
    assert not visitor.has_gone()
    there[0], now[0] = False, 121.0
    assert not visitor.has_gone()
    now[0] = 123.5
    assert visitor.has_gone()


def test_a_visitor_who_has_gone_ends_the_work_and_it_can_go_on(monkeypatch):
    monkeypatch.setattr(background, "LOOK_SECONDS", 0)
    monkeypatch.setattr(background, "GRACE_SECONDS", -1)
    work = Work()
    work.go.release(2)
    work.start(lambda: work.made < 2)
    work.wait(PATIENCE_S)
    assert (work.made, work.is_running, work.is_done, work.ends) == (2, False, False, 1)
    assert work.progress == "2 of 5 texts"
    assert work.problem.startswith("It ended because its page was closed or out of reach")
    finished(begun(work))
    assert work.problem == ""
    assert (work.progress, work.share, work.ends) == ("5 of 5 texts", 1.0, 2)


def test_work_that_was_done_before_its_visitor_left_ended_as_it_should(monkeypatch):
    monkeypatch.setattr(background, "LOOK_SECONDS", 0)
    monkeypatch.setattr(background, "GRACE_SECONDS", -1)
    work = Work()
    work.go.release(5)
    work.start(lambda: not work.is_done)
    work.wait(PATIENCE_S)
    assert (work.is_done, work.problem, work.is_cancelled) == (True, "", False)


def test_progress_says_about_how_long_it_takes_yet():
    work = begun(Work())
    assert work.progress == "0 of 5 texts"
    work.go.release()
    until(lambda: work.seconds_left == 4.0)
    assert work.progress == "1 of 5 texts, about 4 s left"
    assert 0 < work.share < 1
    finished(work)


def test_a_failure_is_kept_for_the_page_and_frees_the_place():
    for _ in range(AT_ONCE + 1):
        work = Work()
        work.fails = PromptError("The prompt is empty.")
        work.go.release()
        work.start()
        work.wait(PATIENCE_S)
        assert (work.problem, work.is_running, work.ends) == ("The prompt is empty.", False, 1)
    work.fails = None
    finished(begun(work))
    assert work.problem == ""


def test_a_panic_is_kept_for_the_page_and_frees_the_place():
    for _ in range(AT_ONCE + 1):
        work = Work()
        work.fails = PanicException("out of bounds")
        work.go.release()
        work.start()
        work.wait(PATIENCE_S)
        assert "gave up on what it was given (out of bounds)" in work.problem


def test_an_error_that_nobody_expected_is_a_sentence_too_and_frees_the_place(caplog):
    for _ in range(AT_ONCE + 1):
        work = Work()
        work.fails = ZeroDivisionError("x")
        work.go.release()
        work.start()
        work.wait(PATIENCE_S)
        assert (work.is_running, work.is_done, work.ends) == (False, False, 1)
        assert work.problem.startswith("An unexpected error interrupted this work. The texts that")
        number = re.search(r"number: (\d+)\.$", work.problem).group(1)
        assert f"Problem {number} interrupted this work" in caplog.text
        assert "ZeroDivisionError" in caplog.text
    work.fails = None
    finished(begun(work))
    assert work.problem == ""


@pytest.mark.parametrize("fails", [None, PromptError("The prompt is empty.")])
def test_work_that_fails_as_it_ends_says_what_went_wrong_first(fails):
    class Clumsy(Work):
        def _ended(self) -> None:
            raise KeyError("x")

    work = Clumsy()
    work.fails = fails
    work.go.release(work.count)
    work.start()
    work.wait(PATIENCE_S)
    assert not work.is_running
    assert work.problem.startswith("The prompt is" if fails else "An unexpected error interrupted")


def test_a_sweep_whose_model_breaks_ends_with_a_sentence_and_goes_on(monkeypatch):
    model = LanguageModel(hostile.language_model(context=40), hostile.tokenizer(), name="tiny")
    axis = Axis("temperature", (0.5, 1))
    sweep = Sweep(SamplingSettings(), axis, prompts=["w1"], seeds=(0,), max_tokens=4)
    columns = [(1, "a", SamplingSettings())]
    works = [
        SweepWork(sweep, model, ["w1"]),
        SamplingRun(model, "w1", columns, count=2, first_seed=0, max_tokens=4),
    ]
    with monkeypatch.context() as broken:
        broken.setattr("engine.decoding.batch.Batch._run_group", lambda *_: 1 / 0)
        for work, name in zip(works, ("the sweep", "the samples"), strict=True):
            work.start()
            work.wait(PATIENCE_S)
            assert work.problem.startswith(f"An unexpected error interrupted {name}. ")
            assert not work.is_running
    for work in works:
        work.start()
        work.wait(PATIENCE_S)
        assert (work.problem, work.is_done) == ("", True)


def test_samples_and_sweeps_share_one_line(places):
    model = LanguageModel(hostile.language_model(context=40), hostile.tokenizer(), name="tiny")
    axis = Axis("temperature", (0.5, 1))
    sweep = Sweep(SamplingSettings(), axis, prompts=["w1"], seeds=(0,), max_tokens=4)
    columns = [(1, "a", SamplingSettings())]
    works = [
        SweepWork(sweep, model, ["w1"]),
        SamplingRun(model, "w1", columns, count=2, first_seed=0, max_tokens=4),
    ]
    for work in works:
        work.start()
    until(lambda: all(work.is_waiting for work in works))
    for work in places:
        finished(work)
    for work in works:
        work.wait(PATIENCE_S)
        assert work.is_done
        assert work.progress == "2 of 2 texts"


def test_the_end_of_the_app_ends_every_work():
    # A thread that is within PyTorch as the process ends would abort it.
    works = [begun(Work()) for _ in range(AT_ONCE)]
    background.end_all()
    assert not any(work.is_running or work.is_done for work in works)
    finished(begun(Work()))
