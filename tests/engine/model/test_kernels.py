"""Kernels and threads chosen by fixed rules, whatever else the machine is doing."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import torch

from engine.decoder import Decoder
from engine.model import LanguageModel, kernels
from engine.model.kernels import Kernels, cpu_dtype, cpu_kernels
from engine.sampling import SamplingSettings
from tests.engine import tiny_models

# By this clock one way to run a step costs a thousand times as much as the other. Then the bundled
# model is loaded as usual. Each clock gets its own process, forked from one that has only imported
# the engine.
TEXT_OF_A_SEED = """
import json, os, sys, time

import engine  # before PyTorch, which reads its settings once
import torch

class Clock:
    now = 0.0
    def perf_counter(self):
        slow = (torch._C._get_mkldnn_enabled(), torch.get_num_threads() > 1) == SLOW
        self.now += 1.0 if slow else 0.001
        return self.now

SLOW = None
time.perf_counter = Clock().perf_counter

from engine.decoder import Decoder
from engine.model import load_model
from engine.sampling import SamplingSettings

def text():
    torch.set_num_threads(2)
    model = load_model(device="cpu")
    decoder = Decoder(model, "Once upon a time", SamplingSettings(seed=7, top_p=0.9))
    for _ in decoder.run(24):
        pass
    print(json.dumps([model.facts, decoder.token_ids]), flush=True)

for slow in json.loads(sys.argv[1]):
    SLOW = tuple(slow)
    if not os.fork():
        text()
        os._exit(0)
    assert os.wait()[1] == 0
"""


def run(code: str, *arguments: str, **more: str) -> subprocess.CompletedProcess:
    """Run code in a process that reports how its threads wait, with no choice made yet."""
    ours = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=ours | {"PYTHONPATH": os.getcwd(), "OMP_DISPLAY_ENV": "TRUE"} | more,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    return ran


@pytest.mark.long
def test_timing_does_not_change_a_seeded_text():
    ran = run(TEXT_OF_A_SEED, json.dumps([[True, False], [False, True]]))
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(found) == 2
    facts, token_ids = found[0]
    assert facts["kernels"]["threads"] == facts["kernels"]["prefill_threads"] == 1
    assert len(token_ids) == 24
    assert found[1:] == [found[0]], "another timing, another text for the same seed"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, "PASSIVE"),
        pytest.param({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE", marks=pytest.mark.long),
    ],
    ids=["unasked", "as the environment asks"],
)
def test_threads_sleep_while_they_wait(asked, expected):
    ran = run("import engine, torch; torch.ones(9).sum()", **asked)
    found = re.search(r"OMP_WAIT_POLICY\s*=\s*'(\w+)'", ran.stderr)
    if found is None:
        pytest.skip("this PyTorch does not run its threads by OpenMP")
    assert found[1] == expected


@pytest.mark.parametrize(
    ("dtype", "size", "has_both", "expected"),
    [
        pytest.param(torch.bfloat16, 2e7, True, Kernels(False, 1, 1), id="small, half precision"),
        pytest.param(torch.float16, 2e9, True, Kernels(False, 3, 3), id="large, half precision"),
        pytest.param(torch.float32, 4e7, True, Kernels(True, 1, 1, True), id="small, float32"),
        pytest.param(torch.float32, 4e9, True, Kernels(True, 3, 3, True), id="large, float32"),
        pytest.param(torch.float32, 4e9, False, Kernels(True, 3, 3), id="either MKL or oneDNN"),
    ],
)
def test_kernels_follow_from_dtype_size_and_libraries(
    monkeypatch, three_threads, has_both, dtype, size, expected
):
    monkeypatch.setattr(kernels, "has_onednn_float32", lambda: has_both)
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
def test_dtype_follows_from_cpu_instructions(monkeypatch, able, checkpoint, expected):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: dict.fromkeys(able, True))
    assert cpu_dtype(checkpoint) == expected


def test_small_model_repeats_bits_on_any_core_count(three_threads):
    prompt = tiny_models.prompt(0, 140)  # long enough for prefill's own kernels
    logits = []
    for cores in (1, 3):
        torch.set_num_threads(cores)
        decoder = Decoder(LanguageModel(tiny_models.build("llama")), prompt, SamplingSettings())
        decoder.step(), decoder.step()
        logits.append([decoder.logits(0), decoder.logits(1)])
        assert decoder.model.kernels.prefill_threads == 1
    np.testing.assert_array_equal(*logits)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_steps_of_a_large_model_use_all_threads(monkeypatch, three_threads, dtype):
    monkeypatch.setattr(kernels, "_SMALL_BYTES", 0)
    hf, seen = tiny_models.build("llama", dtype=dtype), []
    model = LanguageModel(hf)
    assert model.kernels.threads == 3
    hf.register_forward_pre_hook(lambda *_: seen.append(torch.get_num_threads()))
    for _ in Decoder(model, tiny_models.prompt(0), SamplingSettings()).run(4):
        pass
    assert seen == [3] * 4


def test_given_kernels_are_used_and_recorded_in_trace():
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


@pytest.mark.parametrize(
    ("own", "tokens", "within"),
    [
        pytest.param(Kernels(onednn=False, threads=1), 1, (False, 1), id="a step"),
        pytest.param(Kernels(onednn=False, threads=1), 9, (True, 1), id="a short prompt"),
        pytest.param(Kernels(threads=1), 1000, (True, 3), id="a prefill takes all threads"),
        pytest.param(Kernels(threads=1, prefill_threads=2), 1000, (True, 2), id="or its own"),
    ],
)
def test_process_settings_are_replaced_for_a_pass(three_threads, own, tokens, within):
    def now() -> tuple[bool, int]:
        return torch._C._get_mkldnn_enabled(), torch.get_num_threads()

    with own.apply(tokens):
        assert now() == within
    assert now() == (True, 3), "a leak would slow down whatever comes next"
    with pytest.raises(ZeroDivisionError), own.apply(tokens):
        raise ZeroDivisionError
    assert now() == (True, 3), "an error must not leave them changed"


@pytest.mark.parametrize(("onednn", "expected"), [(False, [True, False]), (True, [True, True])])
def test_output_layer_reads_one_row_with_step_kernels(onednn, expected):
    hf, seen = tiny_models.build("llama"), []
    model = LanguageModel(hf, kernels=Kernels(onednn=onednn))
    layers = [hf.model.layers[-1], hf.get_output_embeddings()]
    for layer in layers:
        layer.register_forward_pre_hook(lambda *_: seen.append(torch._C._get_mkldnn_enabled()))
    found = model.forward([1, 2, 3], model.new_cache(), 0)
    assert seen == expected and torch._C._get_mkldnn_enabled()
    model.forward([1, 2, 3], model.new_cache(), 0, all_positions=True)
    assert seen[2:] == [True, True], "many rows go through oneDNN"
    model.forward([1, 2, 3], model.new_cache(), 0, parity=True)
    assert seen[4:] == [True, True], "generate knows nothing of it"
    assert np.array_equal(model.replay(found.hidden, tokens=3, parity=False), found.logits)
