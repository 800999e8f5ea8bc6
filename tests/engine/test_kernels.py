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
        pytest.param({(True, 1): 4, (True, 2): 3, (False, 1): 2, (False, 2): 1}, (False, 2)),
        pytest.param({(True, 1): 2, (True, 2): 1, (False, 1): 4, (False, 2): 3}, (True, 2)),
        # A second thread that gains less than its charge is left out.
        pytest.param({(True, 1): 1, (True, 2): 0.9, (False, 1): 2, (False, 2): 2}, (True, 1)),
        # Contention: all cores are worse than one.
        pytest.param({(True, 1): 2, (True, 2): 50, (False, 1): 1, (False, 2): 40}, (False, 1)),
    ],
)
def test_calibrate_takes_the_fastest_way(monkeypatch, three_threads, cost, expected):
    clock = Clock(cost)
    monkeypatch.setattr(kernels, "time", clock)
    chosen = calibrate(clock.step, torch.bfloat16)
    assert (chosen.onednn, chosen.threads) == expected
    assert torch.get_num_threads() == 3, "calibration must leave the number of threads alone"


def test_a_hopeless_way_is_tried_once_only(monkeypatch, three_threads):
    clock = Clock({(True, 1): 1, (True, 2): 50, (False, 1): 1, (False, 2): 1})
    monkeypatch.setattr(kernels, "time", clock)
    calibrate(clock.step, torch.bfloat16)
    assert clock.steps.count((True, 2)) == 1


def test_float32_steps_are_not_timed_without_onednn(monkeypatch, three_threads):
    clock = Clock({(True, 1): 1, (True, 2): 1})
    monkeypatch.setattr(kernels, "time", clock)
    assert calibrate(clock.step, torch.float32).onednn


def test_the_onednn_switch_is_off_inside_and_as_before_outside():
    before = torch._C._get_mkldnn_enabled()
    with kernels.Kernels(onednn=False).apply(tokens=1):
        assert not torch._C._get_mkldnn_enabled()
    assert torch._C._get_mkldnn_enabled() == before
    with pytest.raises(ZeroDivisionError), Kernels(onednn=False).apply(tokens=1):
        raise ZeroDivisionError
    assert torch._C._get_mkldnn_enabled() == before, "an error must not leave the switch off"


def test_one_core_is_left_to_others(monkeypatch, three_threads):
    clock = Clock({(True, 1): 4, (True, 2): 1})
    monkeypatch.setattr(kernels, "time", clock)
    assert calibrate(clock.step, torch.float32).threads == 2


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
