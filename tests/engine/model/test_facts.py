"""A trace's facts about the machine: attention on all devices, and a GPU's settings."""

import json
from copy import deepcopy
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from engine.decoder import Decoder
from engine.decoding.replay import changed_facts
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.trace import Trace
from tests.engine import tiny_models


def test_facts_name_the_attention_implementation():
    model = tiny_models.shared("llama")
    assert model.facts["attention"] == model.hf.config._attn_implementation == "sdpa"
    assert "cuda" not in model.facts
    assert model.facts["input_size"] == tiny_models.VOCAB
    hf = tiny_models.build("llama")
    hf.set_attn_implementation("eager")
    assert LanguageModel(hf).facts["attention"] == "eager"


def test_settings_that_came_with_a_model_are_offered_or_named():
    assert tiny_models.shared("llama").recommended is None
    hf = tiny_models.build("llama")
    hf.generation_config.update(do_sample=True, temperature=0.6, top_k=20, top_p=0.95)
    assert LanguageModel(hf).recommended == SamplingSettings(temperature=0.6, top_k=20, top_p=0.95)
    hf.generation_config.top_p = 7.0
    wrong = LanguageModel(hf, name="odd")
    assert wrong.recommended is None
    assert "sampling settings that came with odd are not used: top_p" in str(wrong.notices[-1])


def test_weights_are_known_by_their_hash():
    one, other = (LanguageModel(tiny_models.build("llama")) for _ in range(2))
    assert one.facts["weights_hash"] == other.facts["weights_hash"]
    layer = tiny_models.build("llama")
    layer.model.layers[-1].mlp.down_proj.weight.data[-1, -1] += 1e-3
    assert LanguageModel(layer).weights_hash != one.weights_hash


@pytest.fixture
def on_gpu(llama, monkeypatch) -> LanguageModel:
    """A model that believes it is on a GPU that PyTorch describes."""
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"GPU of {device}")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.backends.cuda, "flash_sdp_enabled", lambda: False)
    llama.__dict__["device"] = torch.device("cuda:1")
    return llama


def test_facts_describe_the_gpu(on_gpu, monkeypatch):
    facts = json.loads(json.dumps(on_gpu.facts, allow_nan=False))
    assert facts["device"] == "cuda:1" and "kernels" not in facts
    assert facts["cuda"] == {
        "gpu": "GPU of cuda:1",
        "capability": "9.0",
        "version": "13.0",
        "tf32": False,
        "attention_kernels": "mem_efficient, cudnn, math",
        "graph": False,
    }
    monkeypatch.setattr(torch.backends.cuda, "matmul", SimpleNamespace(allow_tf32=True))
    assert on_gpu.facts["cuda"]["tf32"] is True


def test_trace_keeps_facts_and_replay_names_changes(on_gpu, tmp_path):
    text = Decoder(tiny_models.shared("llama"), tiny_models.prompt(0))
    text.step()
    trace = replace(text.trace(), model=on_gpu.facts)
    assert Trace.load(trace.save(tmp_path / "run.json")) == trace
    names = [fact.name for fact in changed_facts(trace, tiny_models.shared("llama"))]
    assert {"device", "cuda.gpu", "cuda.tf32", "cuda.attention_kernels"} <= set(names)
    assert changed_facts(trace, on_gpu) == ()


def test_tokenizer_hash_depends_only_on_its_tokens(tokenizer, text_hf):
    def model(**cut: int) -> LanguageModel:
        own = deepcopy(tokenizer)
        own.backend_tokenizer.no_truncation()
        own.backend_tokenizer.no_padding()
        if "most" in cut:
            own.backend_tokenizer.enable_truncation(cut["most"])
        if "least" in cut:
            own.backend_tokenizer.enable_padding(length=cut["least"])
        return LanguageModel(text_hf, own)

    plain = model().tokenizer_hash
    for saved in ({"most": 8}, {"least": 8}, {"most": 4, "least": 2}):
        used, unused = model(**saved), model(**saved)
        used.vocabulary.encode("the cat sat on the mat")  # this resets the file's setting
        assert used.tokenizer_hash == unused.tokenizer_hash == plain
        assert len(unused.vocabulary.encode("the cat sat on the mat")) > 4
    other = deepcopy(tokenizer)
    other.add_tokens(["another"])
    assert LanguageModel(text_hf, other).tokenizer_hash != plain
