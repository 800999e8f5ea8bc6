"""The masked diffusion model: canvases from texts, attention in both directions, loading."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch

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
from tests.engine import tiny_models
from tests.engine.model.loading.folders import edit_json


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
        ("the cat sat", ["has no gap"]),
        ("", ["has no gap"]),
        (r"the \[4] sat", ["has no gap"]),
        ("the [0] sat", ["at least one token"]),
        ("the [161] sat", ["A gap of 161 tokens", "160 positions"]),
        (f"the [{'9' * 5000}] sat", ["A gap of 999999... tokens"]),
        ("the [159] sat", ["the context of tiny holds at most 160"]),
        ("the [80] and [80] sat", ["160 of them masks"]),
        ("the <|mask|> [2] sat", ["contains the mask token <|mask|> itself"]),
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


@pytest.mark.parametrize(
    ("attention", "declared"),
    [
        ("sdpa", True),
        ("eager", False),
        pytest.param("sdpa", False, marks=pytest.mark.long),
        pytest.param("eager", True, marks=pytest.mark.long),
    ],
)
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


@pytest.fixture
def folder(tmp_path, masking) -> Path:
    """The model of these tests as the training recipe exports it."""
    folder = tmp_path / "tiny-diffusion"
    bidirectional(masking).save_pretrained(folder)
    masking.save_pretrained(folder)
    return folder


def test_loaded_folder_gives_the_saved_models_logits(folder, masking):
    told = []
    model = load_diffusion_model(folder, progress=lambda what, *_: told.append(what))
    assert (model.name, model.source, model.revision) == ("tiny-diffusion", str(folder), None)
    assert (model.mask_id, model.pad_id) == (masking.mask_token_id, masking.pad_token_id)
    assert (model.vocab_size, model.context_length) == (len(masking), tiny_models.CONTEXT)
    assert model.dtype == torch.float32 and model.notices == () and told
    net = bidirectional(masking)
    assert model.parameters == sum(p.numel() for p in net.parameters())
    ids = [20, 30, model.mask_id, 40, model.mask_id, 50]
    found = model.logits(ids)
    assert found.shape == (6, len(masking)) and found.dtype == np.float32
    with torch.inference_mode():
        whole = net(torch.tensor([ids]), is_causal=False, use_cache=False).logits[0].numpy()
    barred = [model.mask_id, model.pad_id]
    assert np.isneginf(found[:, barred]).all()
    rest = np.delete(np.arange(len(masking)), barred)
    assert np.abs(found[:, rest] - whole[:, rest]).max() < 1e-5 * np.ptp(whole)


def test_bundled_source_loads_the_bundled_diffusion_model(folder, monkeypatch):
    monkeypatch.setattr("engine.model.loading.checkpoint.BUNDLED_DIFFUSION_FOLDER", folder)
    for model in (load_diffusion_model(), load_diffusion_model("bundled")):
        assert (model.name, model.source, model.context_length) == (
            "bundled",
            "bundled",
            tiny_models.CONTEXT,
        )
    refused(SettingError, lambda: load_diffusion_model(revision="main"), "hub ids only")


def test_each_loader_refers_to_the_other(folder, masking):
    refused(
        NotAModelError,
        lambda: load_model(folder),
        "tiny-diffusion is a masked diffusion model",
        "open it with load_diffusion_model",
    )
    for value in (..., True):
        edit_json(folder / "config.json", is_causal=value)
        assert load_model(folder).vocab_size == len(masking)
        refused(
            NotAModelError,
            lambda: load_diffusion_model(folder),
            "tiny-diffusion is a causal language model",
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


@pytest.mark.parametrize("mask", [100_000, -1, "x"])
def test_mask_id_unknown_to_the_model_is_refused(masking, mask):
    net = bidirectional(masking, mask_token_id=mask)
    refused(NotAModelError, lambda: DiffusionModel(net), "knows ids 0 to", "mask_token_id")


def test_mask_id_comes_from_model_or_tokenizer(masking, tokenizer):
    unnamed = bidirectional(masking, mask_token_id=None)
    assert DiffusionModel(unnamed, masking).mask_id == masking.mask_token_id
    refused(NotAModelError, lambda: DiffusionModel(unnamed, tokenizer), "names no mask token")
    other = bidirectional(masking, mask_token_id=7)
    refused(TokenizerError, lambda: DiffusionModel(other, masking), "has id 7 in the model and")


def test_padding_that_ends_texts_may_be_predicted(masking):
    for end in (masking.pad_token_id, [0, masking.pad_token_id]):
        model = DiffusionModel(bidirectional(masking, eos_token_id=end), masking)
        assert model.pad_id is None
        assert np.isneginf(model.logits([20, 30])).sum() == 2, "only the mask is ruled out"


def test_a_model_that_only_looks_back_is_refused():
    net = tiny_models.build("mamba", mask_token_id=5)
    refused(NotAModelError, lambda: DiffusionModel(net), "does not look at later positions")
