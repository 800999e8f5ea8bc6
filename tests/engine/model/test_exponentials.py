"""Large rows' exponentials by PyTorch: equal to the last digits, with the same thread count."""

import threading

import numpy as np
import pytest
import torch

from engine.model import kernels
from engine.model.kernels import ENGINE_LOCK, Kernels
from engine.sampling import SamplingSettings, exponentials, shape
from engine.sampling.samplers import Context

VOCAB = 40_000  # several blocks, and above the size from which intervals are used
CHAINS = (
    SamplingSettings(),
    SamplingSettings(temperature=0.8, top_k=50, top_p=0.9, repetition_penalty=1.1),
    SamplingSettings(temperature=1.5, min_p=0.05),
    SamplingSettings(typical_p=0.9, banned=[[5], [7]]),
)


@pytest.fixture
def by_pytorch(monkeypatch):
    monkeypatch.setattr(exponentials, "_compute", kernels._exponentials)


def test_exponentials_match_numpy_to_the_last_digits(by_pytorch):
    values = np.concatenate([-np.geomspace(1e-9, 800, 39_990), [0, -0.0, -1e4, -np.inf, 700]])
    found = values.copy()
    exponentials.fill_exponentials(found, found)
    expected = np.exp(values)
    assert np.all(np.abs(found - expected) <= 4 * np.spacing(expected))
    assert found[-5] == found[-4] == 1 and found[-3] == found[-2] == 0


@pytest.mark.parametrize("spread", [4.0, 0.01])
def test_chain_gives_equal_results_with_pytorch_exponentials(monkeypatch, spread):
    rng = np.random.default_rng(7)
    row = rng.standard_normal(VOCAB).astype(np.float32) * np.float32(spread)
    row[::9] = -np.inf
    context, uniforms = Context(rng.integers(0, VOCAB, 64), 64), np.linspace(0, 0.999, 20)
    for settings in CHAINS:
        found = []
        for compute in (np.exp, kernels._exponentials):
            monkeypatch.setattr(exponentials, "_compute", compute)
            one = shape(row, settings, context)
            removed = [stage.mass_removed for stage in one.stages]
            figures = [one.entropy_bits, one.raw.entropy_bits, one.raw.total, *removed]
            drawn = [one.draw(u) for u in uniforms]
            exact = [stage.survivors for stage in one.stages], [each.token_id for each in drawn]
            found.append((exact, figures, [each.probability for each in drawn]))
        (exact, figures, probabilities), other = found
        assert other[0] == exact
        assert np.allclose(other[1], figures, rtol=1e-13, atol=1e-13)
        assert np.allclose(other[2], probabilities)


def test_thread_that_shapes_first_keeps_process_thread_count(by_pytorch):
    before, seen = torch.get_num_threads(), []
    halfway, shaped = threading.Event(), threading.Event()

    def work() -> None:
        assert halfway.wait(10)
        exponentials.fill_exponentials(np.zeros(4), np.empty(4))  # during another thread's pass
        seen.append(torch.get_num_threads())
        shaped.set()
        with ENGINE_LOCK, Kernels().apply(tokens=1):
            seen.append(torch.get_num_threads())

    torch.set_num_threads(3)
    thread = threading.Thread(target=work)
    try:
        thread.start()
        with ENGINE_LOCK, Kernels(threads=1).apply(tokens=1):
            halfway.set()
            assert shaped.wait(10)
        thread.join()
    finally:
        torch.set_num_threads(before)
    assert seen == [1, 3], "its first operation took the number of the other thread's pass"
