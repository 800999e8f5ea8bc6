"""The opening sweep of Tune: one for all visitors, each with their own Cancel."""

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from engine.decoding.batch import Batch
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.study.sweep import Axis, Sweep
from tests.ui import hostile
from tests.waiting import PATIENCE_S, until
from ui import jobs
from ui.jobs import UNKNOWN, Owner
from ui.tune import sweep_job
from ui.tune.sweep_job import SweepJob, opening_sweep
from ui.tune.tuning import Tuning

SWEEP = Sweep(
    SamplingSettings(), Axis("temperature", (0.5, 1.0)), prompts=["w1"], seeds=(0, 1), max_tokens=4
)


@pytest.fixture
def model() -> LanguageModel:
    return LanguageModel(hostile.language_model(context=40), hostile.tokenizer(), name="tiny")


class Gate:
    """A gate that lets a sweep report once per `go`, and counts the sweeps that have begun."""

    def __init__(self, monkeypatch) -> None:
        self.begun = 0
        self.go = threading.Semaphore(0)
        run = Batch.run

        def watched(batch, cancel):
            self.begun += 1
            for progress in run(batch, cancel):
                while not self.go.acquire(timeout=0.01):
                    if cancel.is_set():
                        return
                yield progress

        monkeypatch.setattr(Batch, "run", watched)
        monkeypatch.setattr(sweep_job, "SUM_UP_SECONDS", 0)

    def open(self) -> None:
        self.go.release(10_000)


@pytest.fixture
def gate(monkeypatch) -> Iterator[Gate]:
    gate = Gate(monkeypatch)
    yield gate
    gate.open()


def opened(model: LanguageModel, owner: Owner = UNKNOWN) -> SweepJob:
    work = opening_sweep(SWEEP, model, ["w1"])
    work.start(owner)
    return work


def test_thirty_visitors_share_one_growing_sweep(model, gate):
    works = [opened(model) for _ in range(30)]
    assert all(work.is_running and not work.is_done for work in works)
    gate.go.release(2)
    until(lambda: all(work.version for work in works))
    assert {work.version for work in works} == {works[0].version}
    assert {work.progress for work in works} == {works[0].progress}
    gate.open()
    for work in works:
        work.wait(PATIENCE_S)
        assert work.is_done and not work.is_running
        assert work.result is works[0].result
        assert (work.texts_done, work.count, work.share) == (4, 4, 1.0)
    assert gate.begun == 1
    late = opening_sweep(SWEEP, model, ["w1"])
    assert late.is_done
    assert late.result is works[0].result


def test_cancel_ends_sweep_for_one_visitor_only(model, gate):
    me, you = Owner("me"), Owner("you")
    one, other = opened(model, me), opened(model, you)
    gate.go.release(1)
    until(lambda: one.version > 0)
    one = one.left_by(me)
    assert (one.is_running, one.is_done, other.is_running) == (False, False, True)
    kept = one.result
    gate.open()
    other.wait(PATIENCE_S)
    assert other.is_done
    assert one.result is kept is not None, "and what was there stays"
    assert (one.is_done, one.texts_done) == (False, 0)
    one.start(me)
    one.wait(PATIENCE_S)
    assert one.is_done
    assert one.result.texts["text"].equals(other.result.texts["text"])


def test_last_cancel_ends_sweep_and_next_starts_another(model, gate):
    me, you = Owner("me"), Owner("you")
    one, other = opened(model, me), opened(model, you)
    until(lambda: gate.begun == 1)
    one, other = one.left_by(me), other.left_by(you)
    other.wait(PATIENCE_S)
    assert not one.is_running and not other.is_running
    third = opened(model)
    until(lambda: gate.begun == 2)
    other.start(Owner("you", lambda: True))  # Continue, in a different drawing of the page
    until(lambda: gate.begun == 3)
    assert other.left_by(you).is_cancelled
    gate.open()
    third.wait(PATIENCE_S)
    assert third.is_done
    one.start(Owner("me", lambda: True))  # Continue, in a different drawing of the page
    one.wait(PATIENCE_S)
    assert one.is_done


def test_departed_visitor_does_not_keep_sweep_running(model, gate, monkeypatch):
    monkeypatch.setattr(jobs, "LOOK_SECONDS", 0)
    monkeypatch.setattr(jobs, "GRACE_SECONDS", -1)
    there = [True, True]
    works = [opened(model, Owner(is_there=lambda place=place: there[place])) for place in range(2)]
    until(lambda: gate.begun == 1)
    there[0] = False
    gate.go.release(2)
    until(lambda: works[1].version > 0)
    assert works[1].is_running
    there[1] = False
    works[1].wait(PATIENCE_S)
    assert not any(work.is_running or work.is_done for work in works)


def test_cancel_in_one_tab_spares_other_tabs(model, gate, monkeypatch):
    monkeypatch.setattr(jobs, "LOOK_SECONDS", 0)
    monkeypatch.setattr(jobs, "GRACE_SECONDS", -1)
    there = {"stays": True, "leaves": True}
    stays, leaves = (Owner("me", lambda tab=tab: there[tab]) for tab in there)
    work = opened(model, stays)
    left = opened(model, leaves).left_by(leaves)
    there["leaves"] = False
    gate.open()
    work.wait(PATIENCE_S)
    assert work.is_done and not left.is_done


def test_failure_reaches_all_and_next_visitor_starts_afresh(model, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(Batch, "_run_group", lambda *_: 1 / 0)
        works = [opened(model) for _ in range(2)]
        for work in works:
            work.wait(PATIENCE_S)
            assert work.problem.startswith("An unexpected error interrupted the sweep")
    fresh = opened(model)
    fresh.wait(PATIENCE_S)
    assert (fresh.problem, fresh.is_done) == ("", True)


def test_other_models_and_sweeps_are_not_shared(model, gate):
    other = LanguageModel(hostile.language_model(context=40), hostile.tokenizer(), name="other")
    opened(model)
    opened(other)
    until(lambda: gate.begun == 2)
    smaller = Sweep(SamplingSettings(), SWEEP.x, prompts=["w1"], seeds=(0,), max_tokens=4)
    opening_sweep(smaller, model, ["w1"]).start()
    gate.open()
    until(lambda: gate.begun == 3)


def test_own_sweep_is_not_shared(model, gate):
    pages = [Tuning(model) for _ in range(3)]
    for page in pages:
        page.change(prompts=("w1",), stop="")
        page.run(for_all=True)
    until(lambda: gate.begun == 1)
    pages[0].cancel()
    pages[0].run()
    assert type(pages[0].work) is SweepJob
    until(lambda: gate.begun == 2)
    assert pages[1].work.is_running and pages[2].work.is_running
    gate.open()
    for page in pages:
        page.work.wait(PATIENCE_S)
        assert page.work.is_done


def test_finished_sweep_does_not_keep_its_model_alive():
    model = LanguageModel(hostile.language_model(context=40), hostile.tokenizer(), name="tiny")
    work = opened(model)
    work.wait(PATIENCE_S)
    assert work.is_done and model in sweep_job._made
    held = weakref.ref(model)
    del work, model
    gc.collect()
    assert held() is None
