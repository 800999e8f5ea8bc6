"""GGUF files: their copies, and files that cannot be converted."""

import json
import os
import shutil
import subprocess

import gguf
import numpy as np
import pytest
import torch

from engine import load_model
from engine.errors import NotAModelError, OutOfMemoryError, TokenizerError, WeightsError
from engine.model import BUNDLED_DRAFT, BUNDLED_DRAFT_FOLDER, is_here
from engine.model.loading import convert_gguf, data_folder
from engine.model.loading.gguf import ABOUT, copy_of, forget_copy_of, quantisation_of
from engine.sampling import SamplingSettings
from tests.engine.gguf_files import gguf_name, write_gguf

# All that the gguf package can write.
KINDS = ["F32", "F16", "BF16", "Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0", "TQ2_0", "TQ1_0", "MXFP4"]
PROMPT = "Once upon a time"


@pytest.fixture(autouse=True)
def _own_data(monkeypatch, tmp_path):
    monkeypatch.setenv(data_folder.VARIABLE, str(tmp_path / "data"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return write_gguf(BUNDLED_DRAFT_FOLDER, tmp_path_factory.mktemp("gguf") / "draft.gguf")


def ignored(what, done, total):
    pass


def converted(file, folder):
    list(convert_gguf.convert(file, folder))
    return load_model(folder, dtype="float32")


def logits(model):
    cache = model.new_cache()
    return model.forward(model.vocabulary.encode(PROMPT), cache, 0).logits


def test_file_gives_the_same_model_as_its_folder(plain, monkeypatch):
    stages = []
    model = load_model(plain, progress=lambda what, *_: stages.append(str(what)))
    assert (model.name, model.quantisation, model.source) == ("draft.gguf", "F32", str(plain))
    assert model.facts["quantisation"] == "F32" and "Converting the weights" in stages
    own = load_model(BUNDLED_DRAFT, dtype="float32")
    assert model.eos_ids == own.eos_ids and model.vocab_size == own.vocab_size
    assert model.vocabulary.encode(PROMPT) == own.vocabulary.encode(PROMPT)
    assert np.array_equal(logits(model), logits(own))
    assert is_here(str(plain)) and not any(map(is_here, ("x" * 5_000 + ".gguf", "a\0.gguf")))
    # The copy is used from now on, for a renamed file too.
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("converted again"))
    other = plain.rename(plain.with_name("other.gguf"))
    assert load_model(other).name == "other.gguf"
    other.rename(plain)
    forget_copy_of(plain)
    assert not list((data_folder.data_folder() / "converted").iterdir())


@pytest.mark.parametrize(
    "kind",
    ["Q4_1", *(pytest.param(each, marks=pytest.mark.long) for each in KINDS if each != "Q4_1")],
)
def test_weights_end_tokens_and_sampling_settings_are_those_of_the_file(kind, tmp_path):
    def more(writer):
        writer.add_eot_token_id(1)
        writer.add_float32("general.sampling.temp", 0.25)
        writer.add_int32("general.sampling.top_k", 7)

    file = write_gguf(BUNDLED_DRAFT_FOLDER, tmp_path / f"{kind}.gguf", kind, more=more)
    model = converted(file, tmp_path / "copy")
    given = model.hf.generation_config
    assert model.generate_eos_ids == (0, 1)
    assert (given.temperature, given.top_k, given.do_sample) == (0.25, 7, True)
    assert model.recommended == SamplingSettings(temperature=0.25, top_k=7)
    about = json.loads((tmp_path / "copy" / ABOUT).read_text())
    assert about["quantisation"] == quantisation_of(tmp_path / "copy") == kind
    dtype = {"F32": torch.float32, "F16": torch.float16}.get(kind, torch.bfloat16)
    weights = model.hf.state_dict()
    for tensor in gguf.GGUFReader(file).tensors:
        expected = torch.tensor(gguf.dequantize(tensor.data, tensor.tensor_type))
        name = next(each for each in weights if gguf_name(each) == tensor.name)
        assert torch.equal(weights[name], expected.to(dtype).float()), name


def cut(file):
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size // 2)


def page(file):
    file.write_text("<!doctype html><title>The model</title>")


def cut_in_header(file):
    with file.open("r+b") as opened:
        opened.truncate(1_000)


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        (page, NotAModelError, "does not begin as a GGUF file does"),
        (cut, WeightsError, "is damaged or cut short"),
        (cut_in_header, WeightsError, "is damaged or cut short"),
    ],
)
def test_damaged_file_is_refused(plain, tmp_path, change, error, sentence):
    file = shutil.copy(plain, tmp_path / "bad.gguf")
    change(file)
    with pytest.raises(error, match=f"bad.gguf {sentence}"):
        if change is cut:  # as the app does, in a process of its own
            load_model(file)
        elif change is page:
            copy_of(file, ignored)
        else:
            converted(file, tmp_path / "copy")
    assert not list(tmp_path.rglob("*.safetensors"))


def test_missing_merges_are_named(tmp_path):
    file = write_gguf(BUNDLED_DRAFT_FOLDER, tmp_path / "a.gguf", merges=False)
    with pytest.raises(TokenizerError, match=r"tokenizer in a\.gguf cannot be converted"):
        converted(file, tmp_path / "copy")


def test_unknown_architecture_is_refused(tmp_path):
    file = tmp_path / "new.gguf"
    writer = gguf.GGUFWriter(file, "tomorrow")
    writer.add_tensor("token_embd.weight", np.zeros((4, 4), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(NotAModelError, match=r"architecture tomorrow, weights in F32.*llama\.cpp"):
        list(convert_gguf.convert(file, tmp_path / "copy"))


def test_any_part_of_a_split_file_gives_the_whole_model(plain, tmp_path):
    write_gguf(BUNDLED_DRAFT_FOLDER, tmp_path / "draft.gguf", most_tensors=20)
    parts = sorted(tmp_path.glob("draft-*-of-*.gguf"))
    assert len(parts) > 1
    whole = load_model(plain)
    for part in (parts[-1], parts[0]):
        assert np.array_equal(logits(load_model(part)), logits(whole))
    assert len(list((data_folder.data_folder() / "converted").iterdir())) == 2
    parts[1].unlink()
    with pytest.raises(NotAModelError, match=rf"{parts[1].name} is missing; put all parts"):
        load_model(parts[0])


def test_model_larger_than_memory_or_disk_is_refused(plain, tmp_path, monkeypatch):
    monkeypatch.setattr(convert_gguf, "free_bytes", lambda device: 1_001_000_000)
    with pytest.raises(OutOfMemoryError, match=r"takes 1\.0 GB of memory"):
        list(convert_gguf.convert(plain, tmp_path / "copy"))
    monkeypatch.setattr(convert_gguf, "free_bytes", lambda device: None)
    usage = shutil.disk_usage(tmp_path)._replace(free=1_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(OutOfMemoryError, match="make room, or name another folder"):
        list(convert_gguf.convert(plain, tmp_path / "copy"))


def test_cancelled_conversion_leaves_nothing(plain):
    class Cancelled(Exception):
        pass

    def cancel(what, done, total):
        raise Cancelled

    with pytest.raises(Cancelled):
        copy_of(plain, cancel)
    assert not list((data_folder.data_folder() / "converted").iterdir())


def test_copies_used_least_recently_are_removed(tmp_path):
    for age, name in enumerate(("new", "old", ".unfinished", "oldest")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(b"x" * 100)
        os.utime(tmp_path / name, (1_000_000 - age, 1_000_000 - age))
    data_folder.remove_oldest(tmp_path, 200, tmp_path / "oldest")
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        ".unfinished",
        "new",
        "oldest",
    ]
