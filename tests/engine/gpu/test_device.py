"""Behaviour that must hold on a GPU as on the CPU. With a GPU, run `make test ARGS="-m gpu"`."""

import gc

import numpy as np
import pytest
import torch
from transformers import DynamicCache

from engine.decoder import Decoder
from engine.errors import OutOfMemoryError
from engine.measure.roofline.layers import measured_layers
from engine.model import LanguageModel, language_model
from engine.sampling import SamplingSettings
from tests.engine import tiny_models
from tests.engine.gpu.devices import GPU, WHERE_THERE_IS_ONE, no_waiting, waiting
from tests.engine.runs import (
    assert_same_run,
    assert_the_same_after_going_back,
    finished,
    rows,
    sampling,
)

TOKENS = 40
PROMPT = tiny_models.prompt(4)
STAGES = {"temperature": 0.8, "top_k": 20, "top_p": 0.9, "repetition_penalty": 1.1}


def generated(model: LanguageModel, seed: int) -> tuple[list[int], np.ndarray]:
    """Ids and (steps, vocab) raw logits of `generate`, with the device's own random numbers."""
    ids = torch.tensor([PROMPT], device=model.device)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        output = model.hf.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=TOKENS,
            do_sample=True,
            output_logits=True,
            return_dict_in_generate=True,
            **STAGES,
        )
    logits = np.stack([row[0].float().cpu().numpy() for row in output.logits])
    return output.sequences[0, len(PROMPT) :].tolist(), logits


@pytest.mark.parametrize("seed", range(3))
def test_parity_mode_matches_generate_on_the_device(model, seed):
    ids, logits = generated(model, seed)
    settings = SamplingSettings(**STAGES, seed=seed, parity=True)
    decoder = finished(Decoder(model, PROMPT, settings), TOKENS)
    assert decoder.token_ids == ids
    assert np.array_equal(rows(decoder), logits)


def test_pass_synchronizes_only_to_read_its_row(model, monkeypatch):
    monkeypatch.setattr(language_model, "to_host", waiting(language_model.to_host))
    cache = model.new_cache()
    model.forward(PROMPT, cache, 0)
    model.forward([1], cache, len(PROMPT))  # one-time objects exist by now
    with no_waiting(model.device):
        found = model.forward([2], cache, len(PROMPT) + 1).logits
    again = model.new_cache()
    model.forward(PROMPT, again, 0)
    model.forward([1], again, len(PROMPT))
    assert np.array_equal(found, model.forward([2], again, len(PROMPT) + 1).logits)


def test_synchronizing_is_detected(device):
    # Without this, the test above could never fail.
    number = torch.ones((), device=device)
    with pytest.raises(RuntimeError, match="synchronizing"), no_waiting(device):
        number.item()


def test_hidden_states_replay_bit_for_bit(model, monkeypatch):
    monkeypatch.setattr("engine.decoding.record.RECENT_BYTES", 0)  # replays all except the last
    assert model.replays_exactly
    decoder = Decoder(model, PROMPT, sampling(2))
    live = [decoder.logits(step.index).copy() for step in decoder.run(TOKENS)]
    assert np.array_equal(rows(decoder), live)


def test_rewinds_forks_and_rebuilt_caches_are_bit_exact(model):
    assert_the_same_after_going_back(model, PROMPT, TOKENS)


def test_growing_cache_matches_transformers_cache_bit_for_bit(model):
    ids = tiny_models.prompt(1, 140)
    found = []
    for cache in (model.new_cache(), DynamicCache(config=model.hf.config)):
        passes = [model.forward(ids[:9], cache, 0, parity=True).logits]
        for position in range(9, len(ids)):
            passes.append(model.forward([ids[position]], cache, position, parity=True).logits)
        found.append(np.stack(passes))
    assert np.array_equal(*found)


def test_layers_are_timed_even_with_cuda_graphs(model):
    found = measured_layers(model)
    assert found.count == 2 and found.calls > 20
    assert 0 < found.layer_ms < found.step_ms and 0 < found.head_ms < found.step_ms


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_host_rows_are_independent_copies(device, dtype):
    sent = [torch.randn(4, 100, device=device).to(dtype)[:, ::2] for _ in range(3)]
    sent += [torch.randn(1000, device=device).to(dtype)[990:]]
    expected = [one.float().tolist() for one in sent]
    found = [language_model.to_host(one) for one in sent]
    for one in sent:
        one.zero_()
    for array, values in zip(found, expected, strict=True):
        assert array.dtype == np.float32 and not array.flags.writeable
        assert array.tolist() == values
        assert array.base.untyped_storage().nbytes() == array.nbytes


@pytest.fixture
def full(budget):
    """Fill the GPU as far as this process may, and release all memory afterwards."""
    filler: list[torch.Tensor] = []

    def fill() -> list[torch.Tensor]:
        gc.collect()
        torch.cuda.empty_cache()
        allowed = torch.cuda.memory_reserved() + 64 * 2**20
        torch.cuda.set_per_process_memory_fraction(allowed / torch.cuda.mem_get_info()[1])
        size = 32 * 2**20
        while size >= 512:
            try:
                filler.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
            except torch.OutOfMemoryError:
                size //= 2
        return filler

    yield fill
    filler.clear()
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(1.0)


@GPU
@WHERE_THERE_IS_ONE
def test_decoding_resumes_after_running_out_of_memory(full):
    model = LanguageModel(tiny_models.build("llama").to("cuda"))
    lone = finished(Decoder(model, PROMPT, sampling(5)), TOKENS)
    ids, logits = lone.token_ids, rows(lone)
    decoder = finished(Decoder(model, PROMPT, sampling(5)), 10)
    filler = full()
    with pytest.raises(OutOfMemoryError, match="ran out of memory"):
        finished(decoder, TOKENS)  # a step or two may run in recently freed memory
    taken = len(decoder.steps)
    assert decoder.token_ids == ids[:taken]
    filler.clear()
    torch.cuda.empty_cache()
    assert_same_run(finished(decoder, TOKENS), ids, logits, "After it had run out of memory")


@pytest.mark.parametrize("part", ["LanguageModel._ids", "to_host"])
def test_out_of_memory_around_the_pass_is_reported(model, monkeypatch, part):
    def fail(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(f"engine.model.language_model.{part}", fail)
    with pytest.raises(OutOfMemoryError, match="ran out of memory with 1 new positions"):
        model.forward([1], model.new_cache(), 0)
