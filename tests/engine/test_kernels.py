"""Kernel calibration, on a clock that the test drives."""

import pytest
import torch

from engine import kernels
from engine.kernels import Kernels, calibrate, fastest_cpu_dtype


class Clock:
    """Stands for `time`; steps move it on by what `cost` says for the kernels in force."""

    def __init__(self, cost):
        self.now = 0.0
        self.cost = cost
        self.steps = []

    def perf_counter(self):
        return self.now

    def step(self):
        onednn = torch._C._get_mkldnn_enabled()
        threads = torch.get_num_threads()
        self.steps.append((onednn, threads))
        self.now += self.cost[onednn, threads]


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        pytest.param({(True, 1): 4, (True, 3): 3, (False, 1): 2, (False, 3): 1}, (False, 3)),
        pytest.param({(True, 1): 2, (True, 3): 1, (False, 1): 4, (False, 3): 3}, (True, 3)),
        # A second thread that gains less than its charge is left out.
        pytest.param({(True, 1): 1, (True, 3): 0.9, (False, 1): 2, (False, 3): 2}, (True, 1)),
        # Contention: all cores are worse than one.
        pytest.param({(True, 1): 2, (True, 3): 50, (False, 1): 1, (False, 3): 40}, (False, 1)),
    ],
)
def test_calibrate_takes_the_fastest_way(monkeypatch, three_threads, cost, expected):
    clock = Clock(cost)
    monkeypatch.setattr(kernels, "time", clock)
    chosen, seconds = calibrate(clock.step, torch.bfloat16)
    assert (chosen.onednn, chosen.threads) == expected
    assert seconds >= cost[expected]
    assert torch.get_num_threads() == 3, "calibration must leave the number of threads alone"


def test_a_hopeless_way_is_tried_once_only(monkeypatch, three_threads):
    clock = Clock({(True, 1): 1, (True, 3): 50, (False, 1): 1, (False, 3): 1})
    monkeypatch.setattr(kernels, "time", clock)
    calibrate(clock.step, torch.bfloat16)
    assert clock.steps.count((True, 3)) == 1


def test_float32_steps_are_not_timed_without_onednn(monkeypatch, three_threads):
    clock = Clock({(True, 1): 1, (True, 3): 1})
    monkeypatch.setattr(kernels, "time", clock)
    assert calibrate(clock.step, torch.float32)[0].onednn


def test_the_onednn_switch_is_off_inside_and_as_before_outside():
    before = torch._C._get_mkldnn_enabled()
    with kernels.Kernels(onednn=False).apply(tokens=1):
        assert not torch._C._get_mkldnn_enabled()
    assert torch._C._get_mkldnn_enabled() == before
    with pytest.raises(ZeroDivisionError), Kernels(onednn=False).apply(tokens=1):
        raise ZeroDivisionError
    assert torch._C._get_mkldnn_enabled() == before, "an error must not leave the switch off"


MANY = Kernels(onednn=False, threads=4)
ALONE = Kernels(onednn=False, threads=1)


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """A machine on which nothing else runs, whatever runs on this one."""
    monkeypatch.setattr(kernels, "_busy_elsewhere", lambda: 0)
    monkeypatch.setattr(kernels, "_cores", lambda: MANY.threads)


def test_a_lone_step_looks_whether_a_core_is_taken(monkeypatch):
    clock = Clock({})
    monkeypatch.setattr(kernels, "time", clock)
    guard = kernels.CrowdGuard(MANY, usual=0.01)
    monkeypatch.setattr(kernels, "_busy_elsewhere", lambda: 1)
    clock.now += 1
    assert guard.current() == ALONE
    guard.took(ALONE, 0.01)
    assert guard.current() == MANY, "right after a step its own threads would be counted"
    clock.now += 1
    assert guard.current() == ALONE
    monkeypatch.setattr(kernels, "_cores", lambda: MANY.threads + 1)
    assert guard.current() == MANY, "there is a core left for the other program"


def test_a_slow_step_sends_the_next_ones_to_one_thread_for_a_while(monkeypatch):
    clock = Clock({})
    monkeypatch.setattr(kernels, "time", clock)
    guard = kernels.CrowdGuard(MANY, usual=0.01)
    assert guard.current() == MANY
    guard.took(MANY, 0.02)
    assert guard.current() == MANY, "twice the usual time is no sign of a taken core"
    guard.took(MANY, 0.5)
    assert guard.current() == ALONE
    guard.took(ALONE, 0.5)  # slow on one thread says nothing about several
    clock.now += 5.1
    assert guard.current() == MANY, "several threads must be tried again"


def test_each_failure_in_a_row_makes_the_pause_longer_and_a_success_resets_it(monkeypatch):
    clock = Clock({})
    monkeypatch.setattr(kernels, "time", clock)
    guard = kernels.CrowdGuard(MANY, usual=0.01)
    pauses = []
    for _ in range(9):
        guard.took(MANY, 1.0)
        before = clock.now
        while guard.current() == ALONE:
            clock.now += 1
        pauses.append(clock.now - before)
    assert pauses == [5, 10, 20, 40, 80, 160, 300, 300, 300]
    guard.took(MANY, 0.01)
    guard.took(MANY, 1.0)
    clock.now += 5
    assert guard.current() == MANY


def test_the_number_of_threads_is_as_before_outside(three_threads):
    with Kernels(threads=1).apply(tokens=1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3, "a leak would slow down whatever comes next"


def test_a_long_prefill_takes_all_threads(three_threads):
    with Kernels(threads=1).apply(tokens=1000):
        assert torch.get_num_threads() == 3


def test_a_prefill_goes_through_onednn():
    with Kernels(onednn=False).apply(tokens=9):
        assert torch._C._get_mkldnn_enabled()


def test_a_float32_checkpoint_stays_float32():
    assert fastest_cpu_dtype(torch.float32, 64, 64) == torch.float32


def test_half_precision_stays_or_becomes_float32():
    assert fastest_cpu_dtype(torch.bfloat16, 512, 64) in (torch.bfloat16, torch.float32)
