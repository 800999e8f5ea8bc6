"""Weights that are damaged, missing, of a different shape or pickled, and random damage."""

import json
import random
import shutil
import struct

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.decoder import Decoder
from engine.errors import LogitsError, ModelError, UnsafeWeightsError, WeightsError
from engine.model import load_model
from tests.engine.model.loading.folders import canary, fails, tiny_model, tiny_tokenizer


@pytest.mark.parametrize("place", ["empty", "in the length", "in the header", "last"])
def test_truncated_weights_are_refused(folder, place):
    path = folder / "model.safetensors"
    data = path.read_bytes()
    header = 8 + struct.unpack("<Q", data[:8])[0]
    ends = {"empty": 0, "in the length": 5, "in the header": header // 2, "last": len(data) - 1}
    path.write_bytes(data[: ends[place]])
    fails(WeightsError, folder, "model.safetensors of tiny-llama is damaged or cut short")


def test_lfs_pointer_instead_of_weights_is_refused(folder):
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n" * 3)
    fails(WeightsError, folder, "damaged or cut short", "download the model again")


def test_index_naming_a_missing_file_is_refused(tmp_path):
    tiny_model().save_pretrained(tmp_path, max_shard_size="20KB")
    tiny_tokenizer().save_pretrained(tmp_path)
    lost = sorted(tmp_path.glob("*.safetensors"))[1]
    lost.unlink()
    fails(WeightsError, tmp_path, "lacks 1 of", f"for example {lost.name}", "download")


@pytest.mark.parametrize(
    "content",
    [
        *["", "[]", "{}", '{"weight_map": 3}', '{"weight_map": {"a": 3}}', "[" * 100_000],
        *['{"weight_map": {"a": "a\\u0000b"}}', '{"weight_map": {"a": "../../x.safetensors"}}'],
        b"\xff\xfe\x00",
    ],
    ids=lambda content: str(content[:32]),
)
def test_damaged_index_is_refused(folder, content):
    data = content if isinstance(content, bytes) else content.encode()
    (folder / "model.safetensors.index.json").write_bytes(data)
    fails(WeightsError, folder)


def test_index_pointing_outside_the_folder_is_refused(folder):
    weights = folder / "model.safetensors"
    names = dict.fromkeys(load_file(weights), "../elsewhere.safetensors")
    weights.rename(folder.parent / "elsewhere.safetensors")
    shutil.copy(folder.parent / "elsewhere.safetensors", folder / "other.safetensors")
    index = {"metadata": {}, "weight_map": names}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    fails(WeightsError, folder)


def test_weights_with_missing_tensors_are_refused(folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    del weights["model.layers.1.mlp.up_proj.weight"], weights["lm_head.weight"]
    save_file(weights, path)
    fails(WeightsError, folder, "lack 2 tensors, for example lm_head.weight", "stay random")


def test_tensor_of_wrong_shape_is_refused(folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    weights["model.norm.weight"] = torch.ones(31)
    save_file(weights, path)
    said = fails(WeightsError, folder, "do not fit its configuration", "check config.json")
    assert "model.norm.weight is 31, and config.json asks for 32;" in said
    assert "ignore_mismatched_sizes" not in said, "a word for programmers"


def test_integer_tensors_work_or_are_refused(folder):
    path = folder / "model.safetensors"
    save_file({name: w.to(torch.int32) for name, w in load_file(path).items()}, path)
    try:
        Decoder(load_model(folder), "Hello").step()
    except ModelError as error:
        assert str(error).endswith(".")


def test_nan_weights_are_detected_at_first_step(folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    weights["model.norm.weight"][3] = torch.nan
    save_file(weights, path)
    decoder = Decoder(load_model(folder), "Hello")
    with pytest.raises(LogitsError, match="260 NaN"):
        decoder.step()
    assert decoder.steps == []


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "x.pth", "x.ckpt", "x.pkl"])
def test_pickled_weights_are_refused_unopened(folder, name):
    (folder / "model.safetensors").unlink()
    canary(folder / name)
    fails(UnsafeWeightsError, folder, f"only as a pickle ({name})", "convert it to safetensors")
    assert not (folder / "opened").exists(), "the pickle was opened"
    torch.load(folder / name, weights_only=False)
    assert (folder / "opened").exists(), "the canary is dead: this test proves nothing"


def test_folder_without_weights_is_refused(folder):
    (folder / "model.safetensors").unlink()
    fails(WeightsError, folder, "contains no weights (*.safetensors)", "download the whole model")


def test_folder_in_place_of_weights_is_refused(folder):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").mkdir()
    fails(WeightsError, folder, "damaged or cut short")


def mutated(data: bytes, rng: random.Random) -> bytes:
    copy = bytearray(data)
    header = 8 + struct.unpack("<Q", data[:8])[0]
    for _ in range(rng.choice([1, 1, 4])):
        # Mostly in the length and the header, where damage changes the meaning of the rest.
        at = rng.randrange(rng.choice([8, header, header, len(copy)]))
        kind = rng.randrange(4)
        if kind == 0:
            copy[at] = rng.randrange(256)
        elif kind == 1:
            copy[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            copy[at] = ord(rng.choice('0123456789"{}[],:FBI'))
        else:
            del copy[at : at + rng.choice([1, 8])]
    return bytes(copy)


@pytest.mark.parametrize("cases", [25, pytest.param(100, marks=pytest.mark.long)])
def test_damaged_weights_load_or_raise_a_named_error(folder, cases):
    path = folder / "model.safetensors"
    data, rng, refused = path.read_bytes(), random.Random(11), 0
    for case in range(cases):
        path.write_bytes(mutated(data, rng))
        try:
            Decoder(load_model(folder), [1, 2, 3]).step()
        except (ModelError, LogitsError) as error:
            assert str(error).endswith(".") and "\n" not in str(error)
            refused += 1
        except BaseException as error:
            raise AssertionError(f"case {case} raises {error!r}") from error
    assert refused > cases / 2, f"most damage to a header should be noticed: {refused}"
