"""Failures of a step or a rewind, and continuing after them."""

from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest
import torch
import transformers

from engine.decoder import Decoder
from engine.decoding.record import LogitRecord
from engine.errors import LogitsError, ModelError, NoCandidatesError, OutOfMemoryError, RecordError
from engine.model import LanguageModel
from engine.runner.runner import Runner
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Banned, Temperature
from tests.engine import tiny_models
from tests.engine.runs import GREEDY, assert_same_run, finished, rows, sampling

TOKENS = 20  # with the prompt, more than a sliding window holds
PROMPT = tiny_models.prompt(0)
native_and_parity = pytest.mark.parametrize("parity", [False, True], ids=["native", "parity"])


@pytest.mark.parametrize(
    "config",
    [
        transformers.RecurrentGemmaConfig(
            vocab_size=64,
            hidden_size=32,
            num_hidden_layers=3,
            intermediate_size=48,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
            lru_width=32,
            attention_window_size=16,
            block_types=("recurrent", "attention"),
        ),
        transformers.RwkvConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2),
        transformers.xLSTMConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_heads=2),
    ],
    ids=lambda config: config.model_type,
)
def test_models_with_state_outside_the_cache_are_refused(config):
    # RecurrentGemma keeps its state in its layers, where decoders would overwrite each other's.
    # RWKV and xLSTM take it as a separate argument, so steps would not see the text before.
    with tiny_models.seeded(0):
        hf = transformers.AutoModelForCausalLM.from_config(config)
    with pytest.raises(ModelError):
        LanguageModel(hf)


@cache
def left_alone(architecture: str, parity: bool = False) -> tuple[list[int], np.ndarray]:
    """Tokens and logits of an undisturbed decoder, on a model with the same weights."""
    model = tiny_models.shared(architecture)
    decoder = finished(Decoder(model, PROMPT, sampling(0, parity=parity)), TOKENS)
    return decoder.token_ids, rows(decoder)


@contextmanager
def broken(weight: torch.Tensor):
    """Fill a weight with NaN, and restore it afterwards."""
    kept = weight.data.clone()
    weight.data.fill_(torch.nan)
    yield
    weight.data.copy_(kept)


@native_and_parity
@pytest.mark.parametrize("part", ["head", "first layer"])
@pytest.mark.parametrize("architecture", ["llama", "jamba"])
def test_nan_logits_lose_no_text(architecture, part, parity):
    model = LanguageModel(tiny_models.build(architecture))
    ids, logits = left_alone(architecture, parity)
    decoder = finished(Decoder(model, PROMPT, sampling(0, parity=parity)), 10)
    layer = model.hf.model.layers[0].input_layernorm.weight
    weight = model.hf.get_output_embeddings().weight if part == "head" else layer

    for _ in range(2):
        with broken(weight):
            for _ in range(2):
                with pytest.raises(LogitsError, match="NaN"):
                    decoder.step()
            with pytest.raises(LogitsError, match="NaN"):
                decoder.next_distribution()
        assert decoder.token_ids == ids[: len(decoder.steps)], "text was lost"
        finished(decoder, len(decoder.steps) + 3)
    finished(decoder, TOKENS)

    assert_same_run(decoder, ids, logits, "After NaN logits")


@pytest.mark.parametrize("first", [True, False], ids=["in the prefill", "in a step"])
@pytest.mark.parametrize("architecture", ["llama", "mistral", "mamba", "falcon_h1"])
@pytest.mark.parametrize("late", [False, True], ids=["at once", "after every layer ran"])
def test_running_out_of_memory_loses_no_text(monkeypatch, architecture, late, first):
    model = LanguageModel(tiny_models.build(architecture))
    ids, logits = left_alone(architecture)
    decoder = finished(Decoder(model, PROMPT, sampling(0)), 0 if first else 10)

    def out_of_memory(*args, **kwargs):
        raise torch.OutOfMemoryError("no memory left")

    place = model.hf.get_output_embeddings() if late else model.hf
    with monkeypatch.context() as patch:
        patch.setattr(place, "forward", out_of_memory)
        for _ in range(2):
            with pytest.raises(OutOfMemoryError, match="ran out of memory"):
                decoder.step()
    assert decoder.token_ids == ids[: len(decoder.steps)]

    assert_same_run(finished(decoder, TOKENS), ids, logits, "Out of memory")


def test_keyboard_interrupt_is_not_reported_as_memory_error(llama, monkeypatch):
    decoder = finished(Decoder(llama, PROMPT, GREEDY), 3)

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(llama.hf.get_output_embeddings(), "forward", interrupted)
        with pytest.raises(KeyboardInterrupt):
            decoder.step()
    lone = finished(Decoder(llama, PROMPT, GREEDY), 10)
    assert_same_run(finished(decoder, 10), lone.token_ids, rows(lone), "Interrupted")


def test_step_fails_safely_when_no_token_is_left(llama):
    decoder = Decoder(llama, PROMPT, GREEDY)
    best = decoder.next_distribution().candidates(1)[0].token_id
    chain = [Temperature(0), Banned([[best]])]
    decoder.settings = SamplingSettings(chain=chain)
    for ask in (decoder.step, decoder.next_distribution):
        with pytest.raises(NoCandidatesError, match="banned took the last of them"):
            ask()
    decoder.settings = GREEDY
    assert decoder.step().token_id == best


def test_unrecorded_step_can_be_taken_again(llama, monkeypatch):
    lone = finished(Decoder(llama, PROMPT, sampling(0)), 8)
    decoder = finished(Decoder(llama, PROMPT, sampling(0)), 4)
    with monkeypatch.context() as patch:
        patch.setattr(LogitRecord, "keep", _full_disk)
        for _ in range(2):
            with pytest.raises(RecordError):
                decoder.step()
    assert_same_run(finished(decoder, 8), lone.token_ids, rows(lone), "after a full disk")


def test_an_interrupted_step_leaves_no_text_behind(text_model, monkeypatch):
    decoder = Decoder(text_model, "the cat", sampling(0))
    decoder.step()
    text = decoder.text
    with monkeypatch.context() as patch:
        patch.setattr("engine.text.stopping.reason", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            decoder.step()
    assert decoder.text == text
    finished(decoder, 6)
    assert decoder.text == decoder.trace().text


def test_an_interrupted_rewind_changes_nothing(llama, monkeypatch):
    lone = finished(Decoder(llama, PROMPT, sampling(0)), 8)
    decoder = finished(Decoder(llama, PROMPT, sampling(0)), 5)
    with monkeypatch.context() as patch:
        patch.setattr(Runner, "truncate", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            decoder.rewind(1)
    assert_same_run(finished(decoder, 8), lone.token_ids, rows(lone), "after a failed rewind")


def _full_disk(*args, **kwargs):
    raise RecordError("no space left")
