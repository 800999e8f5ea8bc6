"""Probing a model as it is loaded: it is refused with a sentence, or measured."""

import numpy as np
import pytest
import torch
import transformers
from transformers.cache_utils import DynamicLayer

from engine.errors import NotAModelError
from engine.model import LanguageModel
from tests.engine import tiny_models
from tests.engine.model import small_configs

CLOSE = 1e-4


def test_model_with_internal_state_is_refused():
    hf = tiny_models.build("llama")
    seen = []

    def remember(module, inputs, output):
        seen.append(output)
        return output + sum(seen[:-1])

    hf.model.embed_tokens.register_forward_hook(remember)
    with pytest.raises(NotAModelError, match="keeps what it has read inside the model"):
        LanguageModel(hf)


class Shifting(transformers.LlamaForCausalLM):
    """A model to which `generate` gives inputs that are not the tokens."""

    def prepare_inputs_for_generation(self, input_ids, **others):
        inputs = super().prepare_inputs_for_generation(input_ids, **others)
        inputs["input_ids"] = (inputs["input_ids"] + 1) % self.config.vocab_size
        return inputs


def test_model_needing_more_than_tokens_is_refused():
    hf = Shifting(tiny_models.build("llama").config).eval()
    with pytest.raises(NotAModelError, match="other logits for plain tokens"):
        LanguageModel(hf)


def test_a_model_without_generate_is_refused():
    config = tiny_models.build("llama").config
    with pytest.raises(NotAModelError, match="no generate method"):
        LanguageModel(transformers.LlamaModel(config))


@pytest.mark.parametrize("model_type", ["xlnet", "rwkv", "cpmant", "reformer", "xlm"])
def test_architectures_with_special_generate_are_refused(model_type):
    with pytest.raises(NotAModelError, match="choose another architecture"):
        LanguageModel(small_configs.build(model_type))


def test_a_cache_that_crops_wrongly_is_refused(monkeypatch):
    crop = DynamicLayer.crop
    monkeypatch.setattr(DynamicLayer, "crop", lambda layer, count: crop(layer, count - 1))
    with pytest.raises(NotAModelError, match="after its cache was cropped"):
        LanguageModel(tiny_models.build("gpt2"))


def test_loading_keeps_the_generation_settings():
    hf = tiny_models.build("llama")
    hf.generation_config.update(do_sample=True, temperature=0.3, max_new_tokens=5, eos_token_id=7)
    before = hf.generation_config.to_dict()
    model = LanguageModel(hf)
    assert hf.generation_config.to_dict() == before
    assert model.eos_ids == (7,)


def test_loading_takes_few_short_passes():
    hf = tiny_models.build("llama")
    lengths = []
    hf.model.embed_tokens.register_forward_hook(lambda _, ids, out: lengths.append(ids[0].numel()))
    LanguageModel(hf)
    assert len(lengths) <= 12 and max(lengths) <= 8, lengths


# All positions of one pass.


@pytest.mark.parametrize(
    "architecture", ["llama", "gpt2", "mistral", "gemma3", "bloom", "mixtral", "falcon_alibi"]
)
def test_all_positions_of_a_pass_equal_single_steps(architecture):
    model = tiny_models.shared(architecture)
    prompt, drafted = tiny_models.prompt(1), tiny_models.prompt(2, 20)
    together, one_by_one = model.new_cache(), model.new_cache()
    model.forward(prompt, together, 0)
    model.forward(prompt, one_by_one, 0)

    forward = model.forward(drafted, together, len(prompt), all_positions=True)

    single = [
        model.forward([token_id], one_by_one, len(prompt) + i) for i, token_id in enumerate(drafted)
    ]
    assert forward.logits.shape == (20, model.vocab_size) and forward.logits.dtype == np.float32
    assert not forward.logits.flags.writeable
    expected = np.stack([step.logits for step in single])
    np.testing.assert_allclose(forward.logits, expected, atol=CLOSE, rtol=0)
    assert forward.hidden.shape == (1, 20, forward.hidden.shape[-1])
    hidden = torch.cat([step.hidden for step in single], dim=1)
    torch.testing.assert_close(forward.hidden, hidden, atol=CLOSE, rtol=0)


def test_last_position_matches_the_all_positions_pass():
    model = tiny_models.shared("llama")
    ids = tiny_models.prompt(4)
    last = model.forward(ids, model.new_cache(), 0)
    every = model.forward(ids, model.new_cache(), 0, all_positions=True)
    assert last.logits.shape == (model.vocab_size,) and last.hidden.shape[1] == 1
    np.testing.assert_allclose(every.logits[-1], last.logits, atol=CLOSE, rtol=0)


# Prompts in chunks.


@pytest.mark.parametrize("architecture", tiny_models.ARCHITECTURES)
def test_can_chunk_predicts_results_of_chunked_reading(architecture):
    model = tiny_models.shared(architecture)
    ids = tiny_models.prompt(5, 60)
    whole = model.forward(ids, model.new_cache(), 0, all_positions=True).logits
    cache, start, apart = model.new_cache(), 0, 0.0
    for size in (1, 17, 2, 28, 12):
        end = start + size
        try:
            forward = model.forward(ids[start:end], cache, start, all_positions=True)
        except (RuntimeError, ValueError):
            assert not model.can_chunk
            return
        apart = max(apart, float(np.abs(forward.logits - whole[start:end]).max() / np.ptp(whole)))
        start = end
    assert (apart < 1e-4) == model.can_chunk, f"{apart:.2g} of the range apart"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    ("model_type", "expected"),
    [
        pytest.param("kimi_linear", True, marks=pytest.mark.long),  # takes longer than all others
        *((name, False) for name in ("mamba", "falcon_mamba", "jamba", "zamba")),
        *((name, True) for name in ("mamba2", "zamba2", "falcon_h1", "nemotron_h", "lfm2_moe")),
        *((name, True) for name in ("bamba", "qwen3_next", "zaya")),
    ],
)
def test_lost_state_between_chunks_shows_in_any_dtype(model_type, expected, dtype):
    """Try all dtypes: in bfloat16 the missing part may be no larger than the rounding."""
    assert LanguageModel(small_configs.build(model_type).to(dtype)).can_chunk is expected


def test_models_with_custom_layers_are_not_chunked():
    assert not LanguageModel(small_configs.build("deepseek_v4")).can_chunk
