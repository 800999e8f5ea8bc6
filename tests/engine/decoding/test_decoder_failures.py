"""Failures of a step or a rewind, and continuing after them."""

import pytest
import transformers

from engine.decoder import Decoder
from engine.errors import ModelError, NoCandidatesError
from engine.model import LanguageModel
from engine.runner.runner import Runner
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Banned, Temperature
from tests.engine import tiny_models
from tests.engine.runs import GREEDY, assert_same_run, finished, rows, sampling

TOKENS = 20  # with the prompt, more than a sliding window holds
PROMPT = tiny_models.prompt(0)


def test_model_with_state_outside_the_cache_is_refused():
    # RWKV takes its state as a separate argument, so steps would not see the text before.
    config = transformers.RwkvConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2)
    with tiny_models.seeded(0), pytest.raises(ModelError):
        LanguageModel(transformers.AutoModelForCausalLM.from_config(config))


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
        with pytest.raises(NoCandidatesError, match="banned removed the last of them"):
            ask()
    decoder.settings = GREEDY
    assert decoder.step().token_id == best


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
