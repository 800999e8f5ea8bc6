"""The line in front of the model: what is made of passes; simulated visitors really decode."""

import json
import threading
import time

import pytest

from engine.errors import SettingError
from engine.measure import company
from engine.measure.company import Crowd
from engine.measure.machine import Setting
from engine.measure.report import Report
from engine.measure.visitors import (
    MOST_VISITORS,
    Guests,
    KindWaits,
    ShownPass,
    Visitors,
    VisitorsResult,
)
from engine.runner.scheduler import Scheduler
from engine.runner.snapshot import Kind, Pass, Snapshot
from tests.engine import tiny_models


class Told(Scheduler):
    """A line that is what a test says."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.look = lambda: snapshot


def looked(passes: list[Pass], running: Pass | None = None, waiting=()) -> VisitorsResult:
    """The result of a look at these passes, ten seconds after the beginning."""
    snapshot = Snapshot(110.0, running, tuple(waiting), tuple(passes))
    visitors = Visitors(tiny_models.shared("llama"), Guests(), 60, Told(snapshot))
    visitors._start = 100.0
    visitors.look()
    return visitors.result


def test_figures_of_passes():
    found = looked(
        [
            Pass(Kind.PREFILL, 90.0, 95.0, 99.0, None),  # before the beginning
            Pass(Kind.STEP, 101.0, 101.0, 101.5, 1),
            Pass(Kind.STEP, 101.0, 101.5, 102.0, 2),
            Pass(Kind.BATCH, 101.2, 102.0, 104.0, None),
        ],
        running=Pass(Kind.STEP, 108.0, 109.0, None, 1),
        waiting=[Pass(Kind.STEP, 109.5, None, None, 2)],
    )
    assert found.span == found.seconds == 10.0
    step, batch = found.kinds
    assert step == KindWaits("step", 2, 250.0, 475.0, 500.0, 500.0, 500.0)
    assert batch == KindWaits("batch", 1, *[pytest.approx(800.0)] * 3, 2000.0, 2000.0)
    assert found.busy == pytest.approx(0.3)
    assert found.longest_line == 2, "the second step and the batch, from 101.2 to 101.5"
    assert found.shown[0] == ShownPass("step", 1, 9.0, 9.0, 8.5)
    assert found.shown[-2:] == (
        ShownPass("step", 1, 2.0, 1.0, None),
        ShownPass("step", 2, 0.5, None, None),
    )
    assert found.step_p50 is None and found.steps == 0


def test_without_a_pass_there_is_no_figure():
    found = looked([])
    assert found.kinds == () == found.shown and found.busy == found.longest_line == 0
    at_once = looked([Pass(Kind.STEP, 101.0, 101.0, 102.0, 1)])
    assert at_once.longest_line == 0, "who has the turn at once does not wait"


def test_more_passes_than_are_remembered_shorten_the_span(monkeypatch):
    monkeypatch.setattr("engine.measure.visitors.REMEMBERED", 2)
    found = looked(
        [Pass(Kind.STEP, 104.0, 104.0, 105.0, 1), Pass(Kind.STEP, 106.0, 106.0, 107.0, 1)]
    )
    assert found.span == 5.0 and found.kinds[0].passes == 1
    assert found.busy == pytest.approx(1 / 5)


def until(visitors: Visitors, is_so) -> VisitorsResult:
    for _ in range(3_000):
        visitors.look()
        if is_so(visitors.result):
            return visitors.result
        time.sleep(0.005)
    raise AssertionError(f"it never came to that: {visitors.result}")


def test_simulated_visitors_really_decode_and_leave_when_they_are_told():
    model = tiny_models.shared("llama")
    before = set(threading.enumerate())
    visitors = Visitors(model, Guests(stepping=2, batching=1, prompting=1), 60)
    visitors.start()
    try:
        found = until(visitors, lambda result: len(result.kinds) == 3 and result.steps >= 2)
    finally:
        visitors.stop()
    assert {one.visitor for one in found.shown} <= {1, 2, 3, 4, None}
    assert {one.kind for one in found.shown if one.visitor == 1} >= {"batch"}
    assert found.step_p95 >= found.step_p50 > 0
    assert not [one for one in set(threading.enumerate()) - before if one.is_alive()]
    assert company._NUMBERS.take() == 1, "their numbers are free again"
    company._NUMBERS.give_back(1)
    text = Report(Setting.here(model), {"visitors": found}).to_json()
    again = Report.from_json(json.dumps(json.loads(text)), {"visitors": VisitorsResult})
    assert again.parts["visitors"] == found


def test_what_a_visitor_meets_with_is_said():
    def fails(seen, over) -> None:
        raise ZeroDivisionError

    visitors = Visitors(tiny_models.shared("llama"), Guests(), 60)
    visitors._crowd = Crowd([lambda: fails])
    visitors.start()
    visitors._crowd.join()
    with pytest.raises(ZeroDivisionError):
        visitors.look()


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((10_000, 0, 0), "stepping is no number of visitors, got 10,000; use a whole number from"),
        ((0, -1, 0), "batching is no number of visitors, got -1"),
        ((1.5, 0, 0), "stepping is no number of visitors"),
        ((MOST_VISITORS, 1, 0), "visitors are too many, got 61; use at most 60 of all kinds"),
    ],
)
def test_there_are_never_too_many(counts, words):
    with pytest.raises(SettingError, match=words):
        Guests(*counts)


def test_they_stay_for_a_bounded_time():
    for seconds in (0, 121):
        with pytest.raises(SettingError, match="seconds is out of range"):
            Visitors(tiny_models.shared("llama"), Guests(), seconds)
