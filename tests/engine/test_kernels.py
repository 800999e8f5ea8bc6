"""Kernels by rule, threads by what the machine is at, on a clock that the test drives."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from engine import kernels
from engine.decoder import Decoder
from engine.kernels import Kernels, cpu_dtype, cpu_kernels
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from tests.engine import tiny_models


class Clock:
    """Stands for `time`."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


# A clock by which one way to run a step costs a thousand times as much as the other, then the
# bundled model as everybody loads it.
TEXT_OF_A_SEED = """
import json, sys, torch
from engine import kernels

class Clock:
    now = 0.0
    def perf_counter(self):
        slow = (torch._C._get_mkldnn_enabled(), torch.get_num_threads() > 1) == SLOW
        self.now += 1.0 if slow else 0.001
        return self.now

SLOW = tuple(json.loads(sys.argv[1]))
kernels.time = Clock()
torch.set_num_threads(2)

from dataclasses import asdict
from engine.decoder import Decoder
from engine.model import load_model
from engine.sampling import SamplingSettings

model = load_model(device="cpu")
decoder = Decoder(model, "Once upon a time", SamplingSettings(seed=7, top_p=0.9))
for _ in decoder.run(24):
    pass
print(json.dumps([model.facts, decoder.token_ids]))
"""


def test_no_timing_changes_the_text_of_a_seed():
    found = []
    for slow in ([True, False], [False, False], [True, True], [False, True]):
        ran = subprocess.run(
            [sys.executable, "-c", TEXT_OF_A_SEED, json.dumps(slow)],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": os.getcwd()},
            timeout=600,
        )
        assert ran.returncode == 0, ran.stderr
        found.append(json.loads(ran.stdout.splitlines()[-1]))
    facts, token_ids = found[0]
    assert facts["kernels"]["threads"] == facts["kernels"]["prefill_threads"] == 1
    assert len(token_ids) == 24
    assert found[1:] == [found[0]] * 3, "another timing, another text for the same seed"


@pytest.mark.parametrize(
    ("dtype", "size", "expected"),
    [
        pytest.param(torch.bfloat16, 2e7, Kernels(False, 1, 1), id="small, half precision"),
        pytest.param(torch.float16, 2e9, Kernels(False, 3, 3), id="large, half precision"),
        pytest.param(torch.float32, 4e7, Kernels(True, 1, 1), id="small, float32"),
        pytest.param(torch.float32, 4e9, Kernels(True, 3, 3), id="large, float32"),
    ],
)
def test_kernels_follow_from_dtype_and_size(three_threads, dtype, size, expected):
    assert cpu_kernels(dtype, int(size)) == expected


@pytest.mark.parametrize(
    ("able", "checkpoint", "expected"),
    [
        ({"avx512_bf16"}, torch.bfloat16, torch.bfloat16),
        ({"amx_bf16"}, torch.bfloat16, torch.bfloat16),
        ({"bf16"}, torch.bfloat16, torch.bfloat16),  # ARM
        ({"avx2", "avx512_fp16"}, torch.bfloat16, torch.float32),
        ({"avx512_fp16"}, torch.float16, torch.float16),
        ({"avx512_bf16"}, torch.float16, torch.float32),
        ({"avx512_bf16", "avx512_fp16"}, torch.float32, torch.float32),
        ({"avx512_bf16"}, torch.float64, torch.float32),
    ],
)
def test_the_dtype_follows_from_the_instructions_of_the_cpu(
    monkeypatch, able, checkpoint, expected
):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: dict.fromkeys(able, True))
    assert cpu_dtype(checkpoint) == expected


def test_a_small_model_gives_the_same_bits_on_any_number_of_cores(three_threads):
    prompt = tiny_models.prompt(0, 140)  # long enough for a prefill of its own kind
    logits = []
    for cores in (1, 3):
        torch.set_num_threads(cores)
        decoder = Decoder(LanguageModel(tiny_models.build("llama")), prompt, SamplingSettings())
        decoder.step(), decoder.step()
        logits.append([decoder.logits(0), decoder.logits(1)])
        assert decoder.model.kernels.prefill_threads == 1
    np.testing.assert_array_equal(*logits)


def test_a_float32_model_never_changes_its_number_of_threads(monkeypatch, three_threads):
    monkeypatch.setattr(kernels, "_SMALL_BYTES", 0)
    monkeypatch.setattr(kernels, "_busy_elsewhere", lambda: 9)
    model = LanguageModel(tiny_models.build("llama"))
    assert model.kernels.threads == 3
    seen = []
    model.hf.register_forward_pre_hook(lambda *_: seen.append(torch.get_num_threads()))
    decoder = Decoder(model, tiny_models.prompt(0), SamplingSettings())
    for _ in decoder.run(4):
        pass
    assert seen == [3] * 4, "its logits depend on the number of threads"


def test_a_model_whose_steps_differ_on_one_thread_never_changes_it(monkeypatch, three_threads):
    monkeypatch.setattr(kernels, "_SMALL_BYTES", 0)
    monkeypatch.setattr(kernels, "_busy_elsewhere", lambda: 9)
    hf = tiny_models.build("llama", dtype=torch.bfloat16)
    assert LanguageModel(hf)._guard is not None, "an ordinary model may"

    def late_difference(module, arguments, keywords, output):
        if keywords["position_ids"][0, -1] == 14 and torch.get_num_threads() == 1:
            output.logits[..., 0] += 1
        return output

    hf.register_forward_hook(late_difference, with_kwargs=True)
    assert LanguageModel(hf)._guard is None


def test_kernels_of_another_machine_give_its_text_and_stand_in_the_trace():
    hf = tiny_models.build("llama", dtype=torch.bfloat16)
    elsewhere = Kernels(onednn=True, threads=1, prefill_threads=1)
    model = LanguageModel(hf, kernels=elsewhere)
    assert model.kernels == elsewhere
    assert model.replays_exactly, "its rows must replay with these kernels"
    decoder = Decoder(model, tiny_models.prompt(0), SamplingSettings())
    seen = []
    hf.register_forward_pre_hook(lambda *_: seen.append(torch._C._get_mkldnn_enabled()))
    for _ in decoder.run(3):
        pass
    assert seen == [True] * 3
    recorded = decoder.trace().model["kernels"]
    assert recorded.pop("instructions") == torch.backends.cpu.get_cpu_capability()
    assert Kernels(**recorded) == elsewhere


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
    clock = Clock()
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
    clock = Clock()
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
    clock = Clock()
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


def test_a_long_prefill_keeps_the_threads_it_was_loaded_with(three_threads):
    with Kernels(threads=1, prefill_threads=2).apply(tokens=1000):
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == 3


def test_a_prefill_goes_through_onednn():
    with Kernels(onednn=False).apply(tokens=9):
        assert torch._C._get_mkldnn_enabled()
