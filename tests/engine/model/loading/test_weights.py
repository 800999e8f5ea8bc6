"""Loading weights into a model: as transformers loads them, copied, and checked for size first."""

import gc
import json
import os
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import transformers as hf
from transformers.conversion_mapping import get_model_conversion_mapping

from engine.decoder import Decoder
from engine.errors import OutOfMemoryError, WeightsError
from engine.model import load_model
from engine.model.loading import checkpoint, weights
from tests.engine import tiny_models
from tests.engine.model.loading.folders import edit_json, fails, tiny_model, tiny_tokenizer

CPU = torch.device("cpu")


def tensors(model: hf.PreTrainedModel) -> dict[str, torch.Tensor]:
    return dict(model.named_parameters()) | dict(model.named_buffers())


@pytest.mark.parametrize("architecture", sorted(weights.UNCONVERTED))
def test_transformers_converts_nothing_of_these(architecture):
    model = tiny_models.build(architecture)
    assert model.config.model_type == architecture
    assert get_model_conversion_mapping(model, None, None, add_legacy=False) == []


@pytest.mark.parametrize(
    ("architecture", "dtype"),
    [(architecture, torch.float32) for architecture in tiny_models.ARCHITECTURES]
    + [("llama", torch.float16), ("mixtral", torch.float16)],
    ids=str,
)
def test_loaded_model_equals_the_transformers_model(architecture, dtype, tmp_path):
    tiny_models.build(architecture).save_pretrained(tmp_path)
    (tmp_path / "generation_config.json").unlink()
    edit_json(tmp_path / "config.json", eos_token_id=[3, 4], temperature=0.5)
    tiny_tokenizer().save_pretrained(tmp_path)
    theirs = hf.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=dtype)
    ours, _, notices = checkpoint.load(tmp_path, CPU, dtype)
    assert type(ours) is type(theirs) and notices == [] and not ours.training
    assert ours.generation_config.to_dict() == theirs.generation_config.to_dict()
    expected, found = tensors(theirs), tensors(ours)
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype, name
        assert torch.equal(found[name], tensor), f"{name} differs from what transformers loads"
    ids = torch.tensor([[1, 2, 3]])
    with torch.inference_mode():
        assert torch.equal(ours(ids).logits, theirs(ids).logits)


def test_loaded_weights_do_not_depend_on_their_file(folder):
    model = load_model(folder)
    maps = Path("/proc/self/maps")  # only Linux lists what a process has mapped
    assert not maps.is_file() or str(folder) not in maps.read_text()
    for name, tensor in tensors(model.hf).items():
        assert tensor.data_ptr() % 64 == 0, f"{name} lies where vector instructions are slow"
    os.truncate(folder / "model.safetensors", 0)  # a mapped file would end the process here
    Decoder(model, [1, 2, 3]).step()
    assert torch.equal(
        model.hf.get_input_embeddings().weight, tiny_model().get_input_embeddings().weight
    )


def test_file_truncated_while_reading_is_reported(folder):
    stored = weights.Weights(folder)
    os.truncate(folder / "model.safetensors", 5_000)
    with torch.device("meta"):
        model = hf.LlamaForCausalLM(hf.LlamaConfig.from_pretrained(folder))
    with pytest.raises(OSError, match=r"model.safetensors became shorter while it was read"):
        stored.fill(model, CPU, torch.float32)


def test_weights_go_straight_to_the_device(folder):
    # The meta device represents one that is not the CPU: its data takes no memory here.
    stored = weights.Weights(folder)
    with torch.device("meta"):
        model = hf.LlamaForCausalLM(hf.LlamaConfig.from_pretrained(folder))
    info = stored.fill(model, torch.device("meta"), torch.float32)
    assert not info["missing_keys"] and not info["mismatched_keys"]
    assert {weight.device.type for weight in model.parameters()} == {"meta"}


# --- The files that count ------------------------------------------------------------------------


def test_consolidated_copy_of_weights_is_ignored(folder):
    (folder / "consolidated.safetensors").write_bytes(b"not even weights")
    assert load_model(folder).notices == ()


def test_only_files_in_the_index_are_used(tmp_path):
    tiny_model().save_pretrained(tmp_path, max_shard_size="20KB")
    tiny_tokenizer().save_pretrained(tmp_path)
    shutil.copy(next(tmp_path.glob("model-00001*")), tmp_path / "consolidated.safetensors")
    stored = weights.Weights(tmp_path)
    assert len(stored.files) > 1 and all(file.name.startswith("model-") for file in stored.files)
    assert load_model(tmp_path).notices == ()


def test_consolidated_weights_alone_are_refused(folder):
    (folder / "model.safetensors").rename(folder / "consolidated.safetensors")
    fails(WeightsError, folder, "only as consolidated.safetensors", "model.safetensors")


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (["model.safetensors", "consolidated.safetensors"], ["model.safetensors"]),
        (
            [
                *("consolidated-00001-of-00002.safetensors", "consolidated.safetensors"),
                *("model-00002-of-00002.safetensors", "model-00001-of-00002.safetensors"),
                "model.safetensors.index.json",
            ],
            ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"],
        ),
        (["model.fp16.safetensors", "model.safetensors"], ["model.safetensors"]),
    ],
)
def test_only_weights_that_transformers_loads_are_fetched(files, wanted):
    assert weights.wanted_weights("owner/name", files) == wanted


# --- Refused before anything is built ------------------------------------------------------------


def header(path: Path, tensors: dict[str, list[int]]) -> None:
    """Write a weight file of float32 zeros that takes no disk space, whatever size it claims."""
    places, end = {}, 0
    for name, shape in tensors.items():
        size = 4 * int(torch.Size(shape).numel())
        places[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(places).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)


@pytest.fixture
def unbuilt(monkeypatch):
    """Fail the test if a tensor of a million numbers or more is made anywhere except on meta."""
    before = torch.empty_like

    def watched(tensor, *arguments, **options):
        assert tensor.numel() < 1_000_000 or str(options.get("device")) == "meta", "allocated"
        return before(tensor, *arguments, **options)

    monkeypatch.setattr(torch, "empty_like", watched)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"vocab_size": 10_000_000}, "model.embed_tokens.weight is 260 x 32, and config.json asks"),
        ({"intermediate_size": 100_000_000}, "is 48 x 32, and config.json asks for 100000000 x 32"),
        ({"num_hidden_layers": 400}, "the files contain"),
        ({"num_hidden_layers": 100_000}, "num_hidden_layers is 100,000"),
        ({"num_hidden_layers": 10**18}, "num_hidden_layers is"),
    ],
    ids=str,
)
def test_config_larger_than_its_weights_is_refused(folder, unbuilt, changes, said):
    edit_json(folder / "config.json", **changes)
    fails(WeightsError, folder, "do not fit its configuration", said, "check config.json")


def test_weights_larger_than_the_memory_are_not_read(folder):
    rows = 8_000_000_000  # 1 TB per tensor, in a file that takes a few bytes on disk
    shapes = {name: list(tensor.shape) for name, tensor in tiny_model().state_dict().items()}
    shapes["model.embed_tokens.weight"] = shapes["lm_head.weight"] = [rows, 32]
    try:
        header(folder / "model.safetensors", shapes)
    except OSError as error:
        pytest.skip(f"the disk takes no file of 2 TB ({error.strerror})")
    edit_json(folder / "config.json", vocab_size=rows)
    fails(OutOfMemoryError, folder, "The weights of tiny-llama take 2,048.0 GB", "cpu has")


def test_oversized_header_is_refused(folder):
    header(folder / "model.safetensors", {f"{'x' * 100}{place}": [1] for place in range(30_000)})
    fails(WeightsError, folder, "header of model.safetensors in tiny-llama is 5.", "at most 4 MB")


# --- Memory that runs out ------------------------------------------------------------------------


@pytest.fixture
def models() -> Iterator[Callable[[], int]]:
    """Return a function that counts a test's live Llamas; older objects are not searched."""
    gc.freeze()

    def alive() -> int:
        gc.collect()
        return sum(type(thing) is hf.LlamaForCausalLM for thing in gc.get_objects())

    yield alive
    gc.unfreeze()


NO_MEMORY = MemoryError("std::bad_alloc")


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("the model", NO_MEMORY),
        ("the tokenizer", NO_MEMORY),
        ("a tensor", NO_MEMORY),
        ("a tensor", torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")),
        (
            "a tensor",
            RuntimeError(
                "[enforce fail at alloc_cpu.cpp:125] err == 0. DefaultCPUAllocator: can't allocate "
                "memory: you tried to allocate 2 bytes. Error code 12 (Cannot allocate memory)"
            ),
        ),
        ("a tensor", OSError(12, "Cannot allocate memory")),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_out_of_memory_while_loading_frees_the_model(folder, models, monkeypatch, error, place):
    read, read_one = 0, weights._Stored.__getitem__

    def fail(*_, **__):
        raise error

    def third(stored, index):
        nonlocal read
        read += 1
        if read == 3:
            raise error
        return read_one(stored, index)

    if place == "a tensor":
        monkeypatch.setattr(weights._Stored, "__getitem__", third)
    elif place == "the model":
        monkeypatch.setattr(checkpoint.AutoModelForCausalLM, "from_config", fail)
    else:
        monkeypatch.setattr("engine.model.guarded_tokenizer.GuardedTokenizer", fail)
    with pytest.raises(OutOfMemoryError) as caught:
        load_model(folder)
    assert "cpu does not have enough memory for tiny-llama" in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    error.__traceback__ = None
    assert not models(), "a model that could not be loaded is kept"


@pytest.mark.parametrize("where", ["forward", "vocabulary"])
def test_out_of_memory_while_probing_frees_the_model(folder, models, monkeypatch, where):
    def fail(*_, **__):
        raise MemoryError

    if where == "forward":
        monkeypatch.setattr(hf.LlamaForCausalLM, "forward", fail)
    else:
        monkeypatch.setattr("engine.model.vocabulary.Vocabulary._read", fail)
    with pytest.raises(OutOfMemoryError) as caught:
        load_model(folder)
    assert "cpu does not have enough memory to run tiny-llama" in str(caught.value)
    assert not models(), "the error keeps the model"
