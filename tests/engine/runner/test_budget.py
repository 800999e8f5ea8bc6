"""One limit for all holders of memory: who releases when, and retries with more room."""

import gc

import pytest
import torch

from engine.runner.budget import MemoryBudget, memory_of, with_room
from tests.engine.runner.idle import Idle


def test_budget_releases_no_more_than_needed():
    budget = MemoryBudget(100)
    first, second, third = Idle(), Idle(), Idle()
    budget.used(first, 40)
    budget.used(second, 40)
    budget.used(third, 60)
    assert [one.released for one in (first, second, third)] == [True, False, False]
    assert budget.make_room() == 100 and budget.held == 0
    assert budget.make_room() == 0 and budget.held == 0


def test_memory_kept_after_release_still_counts():
    class Careful(Idle):
        def release(self) -> bool:
            budget.keeps(self, 10)
            return True

    budget = MemoryBudget(100)
    careful = Careful()
    budget.used(careful, 90)
    assert budget.make_room() == 80
    assert budget.held == 10
    assert budget.make_room() == 0 and budget.held == 10


def test_busy_holder_is_skipped_for_the_next():
    class Busy(Idle):
        def release(self) -> bool:
            return False

    budget = MemoryBudget(100)
    busy, idle, last = Busy(), Idle(), Idle()
    budget.used(busy, 60)
    budget.used(idle, 30)
    budget.used(last, 60)
    assert idle.released and not last.released
    assert budget.held == 120


def test_deleted_holder_does_not_count():
    budget = MemoryBudget(100)
    gone, idle = Idle(), Idle()
    budget.used(gone, 90)
    del gone
    gc.collect()
    budget.used(idle, 50)
    assert budget.held == 50


def test_new_holder_at_reused_address_counts_separately():
    budget, gone, others = MemoryBudget(100), Idle(), []
    place = id(gone)
    budget.used(gone, 40)
    del gone
    while not others or id(others[-1]) != place:  # Python reuses memory
        others.append(Idle())
        assert len(others) < 10_000
    budget.used(others[-1], 30)
    assert budget.held == 30
    assert budget.make_room() == 30 and others[-1].released
    assert budget.held == 0


def test_use_but_no_report_of_kept_memory_postpones_release():
    budget = MemoryBudget(100)
    first, second, third, fourth = Idle(), Idle(), Idle(), Idle()
    budget.used(first, 40)
    budget.used(second, 40)
    budget.keeps(first, 30)
    assert budget.held == 70
    budget.used(third, 40)
    assert [one.released for one in (first, second, third)] == [True, False, False]
    budget.used(second, 40)
    budget.used(fourth, 40)
    assert [one.released for one in (second, third, fourth)] == [False, True, False]


@pytest.mark.parametrize(
    ("error", "gives", "expected"),
    [
        (MemoryError(), True, ["first", "second"]),
        (MemoryError(), False, ["first"]),
        (ValueError("sizes do not match"), True, ["first"]),
    ],
    ids=["with more room", "where nobody gives", "of another kind"],
)
def test_work_is_retried_once_after_freeing_memory(error, gives, expected):
    budget, idle, done = MemoryBudget(100), Idle(), []
    if gives:
        budget.used(idle, 50)

    def work() -> str:
        done.append(("first", "second")[len(done)])
        if len(done) == 1:
            raise error
        return "result"

    if len(expected) == 2:
        assert with_room(budget, work) == "result"
    else:
        with pytest.raises(type(error)):
            with_room(budget, work)
    assert done == expected and idle.released is (len(expected) == 2)


def test_reservations_share_the_available_memory():
    budget = MemoryBudget(100)
    one, other = Idle(), Idle()
    assert budget.reserve(one, 70) == 70
    assert budget.reserve(other, 70) == 30
    assert budget.reserve(one, 20) == 20
    assert budget.reserve(other, 70) == 70
    budget.give_back(one)
    assert budget.reserve(other, 200) == 100


def test_container_memory_limit_is_respected(tmp_path, monkeypatch):
    file = tmp_path / "memory.max"
    monkeypatch.setattr("engine.runner.budget._CGROUP_LIMITS", (str(file), "/no/such/file"))
    file.write_text("1073741824\n")
    assert memory_of(torch.device("cpu")) == 2**30
    file.write_text("max\n")
    assert memory_of(torch.device("cpu")) > 2**30
