"""The masked diffusion model: canvases from texts, attention in both directions, loading."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as hf

from engine.decoding.diffusion import DiffusionDecoder, DiffusionSettings
from engine.errors import (
    NotAModelError,
    PromptError,
    SettingError,
    TokenizerError,
    UnsafeWeightsError,
    WeightsError,
)
from engine.model import DiffusionModel, continuation, fill_gaps, load_diffusion_model, load_model
from engine.model.diffusion_model import MASK_SIGN
from models.training.network import Network
from models.training.sizes import Architecture
from tests.engine import tiny_models


def refused(kind, call, *parts):
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert type(caught.value) is kind
    for part in parts:
        assert part in message, f"{message!r} does not say {part!r}"
    assert message.endswith(".") and ";" in message, f"no remedy: {message!r}"


@pytest.fixture(scope="module")
def masking(tokenizer):
    """The tests' tokenizer with a padding token and a mask added, the mask last."""
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.add_special_tokens({"pad_token": "<|pad|>"})
    tokenizer.add_special_tokens({"mask_token": "<|mask|>"})
    return tokenizer


def bidirectional(tokenizer, **changes):
    settings = {"is_causal": False, "mask_token_id": len(tokenizer) - 1, "eos_token_id": 0}
    settings |= {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    return tiny_models.build("qwen3", seed=3, **settings | changes)


@pytest.fixture(scope="module")
def model(masking):
    """A Qwen3 with random weights that attends in both directions; no test may change it."""
    return DiffusionModel(bidirectional(masking), masking, name="tiny")


def test_gaps_become_masks(model, masking):
    mask = masking.mask_token_id
    ids = fill_gaps(model, "the [2] sat on the[1] and the dog")
    parts = [masking.encode(text) for text in ("the", " sat on the", " and the dog")]
    expected = [*parts[0], mask, mask, *parts[1], mask, *parts[2]]
    assert list(ids) == expected, "the space before a gap belongs to its first token"
    assert model.text(ids) == f"the{MASK_SIGN * 2} sat on the{MASK_SIGN} and the dog"
    assert fill_gaps(model, "[3]") == (mask,) * 3
    assert fill_gaps(model, "[1][02] [1]") == (mask,) * 4
    assert fill_gaps(model, "[x] [] [ 2 ] [2]")[-2:] == (mask, mask)
    assert model.text(fill_gaps(model, r"\[4] [1]")) == f"[4]{MASK_SIGN}"


def test_continuation_appends_masks_to_the_prompt(model, masking):
    mask = masking.mask_token_id
    assert continuation(model, "the cat", 3) == (*masking.encode("the cat"), mask, mask, mask)
    assert continuation(model, "the cat ", 3) == continuation(model, "the cat", 3)
    assert continuation(model, "", 2) == (mask, mask)
    assert model.text(continuation(model, "a [4]", 1)) == f"a [4]{MASK_SIGN}"
    for masks in (0, -1, 2.0, True):
        refused(SettingError, lambda masks=masks: continuation(model, "the cat", masks), "masks")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("the cat sat", ["has no gap; write a number in brackets"]),
        ("", ["has no gap"]),
        (r"the \[4] sat", ["has no gap"]),
        ("the [0] sat", ["at least one token"]),
        ("the [161] sat", ["A gap of 161 tokens", "160 positions"]),
        (f"the [{'9' * 5000}] sat", ["A gap of 999999... tokens"]),
        ("the [159] sat", ["the context of tiny holds 160; shorten text or gaps by"]),
        ("the [80] and [80] sat", ["160 of them masks"]),
        ("the <|mask|> [2] sat", ["holds the mask token <|mask|> itself"]),
        ("the <|mask|> sat", ["no gap"]),
        ("x" * 5_000_000 + "[1]", ["more than the 4,000,000"]),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_text_that_is_not_a_canvas_is_refused(model, text, parts):
    refused(PromptError, lambda: fill_gaps(model, text), *parts)


def test_texts_need_a_tokenizer_that_knows_the_mask(model, tokenizer):
    bare = DiffusionModel(bidirectional(model.tokenizer), name="bare")
    refused(TokenizerError, lambda: fill_gaps(bare, "a [1]"), "no tokenizer; give the canvas")
    assert len(list(DiffusionDecoder(bare, [5, bare.mask_id]).run())) == 1
    other = DiffusionModel(bidirectional(model.tokenizer), tokenizer, name="other")
    refused(TokenizerError, lambda: fill_gaps(other, "a [1]"), "no special token with id")


# --- The model -----------------------------------------------------------------------------------


def test_one_step_is_the_argmax_of_one_pass(model):
    canvas = fill_gaps(model, "the [4] sat on the [3].")
    decoder = DiffusionDecoder(model, canvas, DiffusionSettings(steps=1))
    step = decoder.step()
    best = model.logits(canvas).argmax(1)
    assert step.unmasked == tuple(i for i, token in enumerate(canvas) if token == model.mask_id)
    assert all(step.ids_after[place] == best[place] for place in step.unmasked)
    assert MASK_SIGN not in decoder.text and decoder.text.startswith("the")


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("declared", [True, False], ids=["declared", "undeclared"])
def test_every_position_sees_every_other(masking, attention, declared):
    changes = {} if declared else {"is_causal": True}
    net = bidirectional(masking, **changes)
    net.set_attn_implementation(attention)
    model = DiffusionModel(net, masking)
    ids = list(range(20, 32))
    whole = model.logits(ids)
    words = np.isfinite(whole[0])
    for place in (0, 6, 11):
        changed = list(ids)
        changed[place] = 90
        moved = np.abs(model.logits(changed)[:, words] - whole[:, words]).max(1)
        assert (moved > 1e-2).all(), f"positions that do not see {place}: {moved}"


def test_a_causal_pass_of_the_same_weights_differs(model):
    """Check a causal pass, as if transformers ignored the setting: the check above can fail."""
    with torch.inference_mode():
        ids = torch.arange(20, 32)[None]
        causal = model.hf(input_ids=ids, is_causal=True, use_cache=False).logits[0].numpy()
    both = model.logits(range(20, 32))
    words = np.isfinite(both[0])
    assert np.abs(both[0, words] - causal[0, words]).max() > 1e-2


def network(vocab_size: int) -> Network:
    """The training network, bidirectional, in float32, with no matrix left at zero."""
    shape = Architecture(
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=48,
        head_dim=8,
        vocab_size=vocab_size,
        max_position_embeddings=48,
        is_causal=False,
    )
    net = Network(shape, torch.float32)
    net.initialise(seed=2)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.3)
    return net


def write(folder: Path, net: Network, tokenizer, **changes) -> Path:
    """Write the network as the training recipe exports it."""
    shape = net.shape
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads")
    names += ("intermediate_size", "head_dim", "vocab_size", "max_position_embeddings")
    config = hf.Qwen3Config(
        **{name: getattr(shape, name) for name in names},
        rms_norm_eps=shape.rms_norm_eps,
        rope_parameters={"rope_type": "default", "rope_theta": shape.rope_theta},
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=tokenizer.pad_token_id,
    )
    exported = hf.Qwen3ForCausalLM(config)
    exported.load_state_dict(
        {f"model.{name}": value for name, value in net.state_dict().items()}
        | {"lm_head.weight": net.embed_tokens.weight}
    )
    exported.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    path = folder / "config.json"
    marks = {"is_causal": False, "mask_token_id": shape.vocab_size - 1} | changes
    data = json.loads(path.read_text("utf-8")) | marks
    path.write_text(json.dumps({name: value for name, value in data.items() if value is not ...}))
    return folder


@pytest.fixture
def folder(tmp_path, masking) -> Path:
    return write(tmp_path / "tiny-diffusion", network(len(masking)), masking)


def test_loaded_folder_gives_the_training_logits(folder, masking):
    told = []
    model = load_diffusion_model(folder, progress=lambda what, *_: told.append(what))
    assert (model.name, model.source, model.revision) == ("tiny-diffusion", str(folder), None)
    assert (model.mask_id, model.pad_id) == (masking.mask_token_id, masking.pad_token_id)
    assert (model.vocab_size, model.context_length) == (len(masking), 48)
    assert model.dtype == torch.float32 and model.notices == () and told
    assert model.parameters == sum(p.numel() for p in network(len(masking)).parameters())
    ids = [20, 30, model.mask_id, 40, model.mask_id, 50]
    found = model.logits(ids)
    assert found.shape == (6, len(masking)) and found.dtype == np.float32
    with torch.no_grad():
        expected = network(len(masking)).logits(torch.tensor([ids]))[0].numpy()
    barred = [model.mask_id, model.pad_id]
    assert np.isneginf(found[:, barred]).all()
    rest = np.delete(np.arange(len(masking)), barred)
    assert np.abs(found[:, rest] - expected[:, rest]).max() < 1e-5 * np.ptp(expected)


def test_bundled_source_loads_the_bundled_diffusion_model(folder, monkeypatch):
    monkeypatch.setattr("engine.model.loading.checkpoint.BUNDLED_DIFFUSION_FOLDER", folder)
    for model in (load_diffusion_model(), load_diffusion_model("bundled")):
        assert (model.name, model.source, model.context_length) == ("bundled", "bundled", 48)
    refused(SettingError, lambda: load_diffusion_model(revision="main"), "hub ids only")


def test_each_loader_refers_to_the_other(folder, masking):
    refused(
        NotAModelError,
        lambda: load_model(folder),
        "tiny-diffusion is a masked diffusion model, not a causal language model",
        "open it with load_diffusion_model",
    )
    causal = write(folder.with_name("causal"), network(len(masking)), masking, is_causal=...)
    refused(
        NotAModelError,
        lambda: load_diffusion_model(causal),
        "causal is a causal language model, not a masked diffusion model",
        "open it with load_model",
    )


def test_diffusion_loader_refuses_bad_settings_and_files(folder):
    for setting in ({"device": "tpu"}, {"dtype": "int8"}):
        refused(SettingError, lambda setting=setting: load_diffusion_model(folder, **setting))
    weights = folder / "model.safetensors"
    data = weights.read_bytes()
    weights.write_bytes(data[:-100])
    refused(WeightsError, lambda: load_diffusion_model(folder), "damaged or cut short")
    weights.rename(folder / "pytorch_model.bin")
    refused(UnsafeWeightsError, lambda: load_diffusion_model(folder), "pickle")
    (folder / "config.json").unlink()
    refused(NotAModelError, lambda: load_diffusion_model(folder), "no config.json")


@pytest.mark.parametrize("mask", [100_000, -1, "x", 1.5])
def test_mask_id_unknown_to_the_model_is_refused(masking, mask):
    net = bidirectional(masking, mask_token_id=mask)
    refused(NotAModelError, lambda: DiffusionModel(net), "knows ids 0 to", "mask_token_id")


def test_mask_id_comes_from_model_or_tokenizer(masking, tokenizer):
    unnamed = bidirectional(masking, mask_token_id=None)
    assert DiffusionModel(unnamed, masking).mask_id == masking.mask_token_id
    refused(NotAModelError, lambda: DiffusionModel(unnamed, tokenizer), "names no mask token")
    other = bidirectional(masking, mask_token_id=7)
    refused(TokenizerError, lambda: DiffusionModel(other, masking), "is 7 to the model and")


def test_padding_that_ends_texts_may_be_predicted(masking):
    for end in (masking.pad_token_id, [0, masking.pad_token_id]):
        model = DiffusionModel(bidirectional(masking, eos_token_id=end), masking)
        assert model.pad_id is None
        assert np.isneginf(model.logits([20, 30])).sum() == 2, "only the mask is ruled out"


def test_a_model_that_only_looks_back_is_refused():
    net = tiny_models.build("mamba", mask_token_id=5)
    refused(NotAModelError, lambda: DiffusionModel(net), "does not look at later positions")
