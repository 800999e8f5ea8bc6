"""Folders made to hang, fill or mislead the loader: each is refused with a sentence."""

import json
import os
import stat

import pytest

from engine.errors import ModelError, NotAModelError, TokenizerError, WeightsError
from engine.model import load_model
from engine.model.loading.files import MAX_JSON_BYTES, check_size, read_json
from engine.tokenizing import load_tokenizer
from tests.engine.model.loading.folders import edit_json, fails

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
REPLACES_ALL = {"type": "Replace", "pattern": {"Regex": "."}, "content": "y" * 1_000_000}


@pytest.mark.parametrize(
    "name", ["config.json", "model.safetensors", "additional_chat_templates/rag.jinja"]
)
def test_a_pipe_is_not_opened(folder, name):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(ModelError, match=f"{path.name} of .* is a pipe or a device, not a file"):
        load_model(folder)


def test_a_link_to_a_device_is_not_opened(folder):
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").symlink_to("/dev/zero")
    with pytest.raises(ModelError, match=r"tokenizer.json of .* is a pipe or a device"):
        load_model(folder)


def test_broken_link_is_refused(folder):
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").symlink_to(folder / "gone")
    with pytest.raises(ModelError, match=r"tokenizer.json of .* cannot be read"):
        load_model(folder)


def test_links_to_files_are_followed(folder):
    for path in list(folder.iterdir()):
        blob = path.rename(folder.parent / f"blob-{path.name}")
        path.symlink_to(blob)
    assert load_model(folder).notices == ()


def test_pipe_created_after_the_check_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "config.json")
    assert stat.S_ISFIFO((tmp_path / "config.json").stat().st_mode)
    with pytest.raises(OSError, match="regular file"):
        read_json(tmp_path / "config.json")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "chat_template.jinja"])
def test_terabyte_text_file_is_not_read(folder, name):
    with (folder / name).open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(ModelError, match=rf"{name} of tiny-llama has 1,000,000 MB"):
        load_model(folder)


def test_config_with_too_many_values_or_lists_is_refused(folder):
    edit_json(folder / "config.json", x=[1] * 210_000)
    assert (folder / "config.json").stat().st_size < MAX_JSON_BYTES["config.json"]
    fails(NotAModelError, folder, "more than 200,000 values")
    edit_json(folder / "config.json", x=[[]] * 20_001)
    fails(NotAModelError, folder, "lists and objects")


def test_too_deeply_nested_config_is_refused(folder):
    edit_json(folder / "config.json", x=json.loads("[" * 100 + "]" * 100))
    fails(NotAModelError, folder, "nested deeper than 64 levels")
    check_size(json.loads("[" * 60 + "]" * 60))


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"num_labels": 50_000_000}, "num_labels"),
        ({"num_attention_heads": 10**9, "num_key_value_heads": 10**9}, "num_attention_heads"),
        ({"text_config": {"num_experts": 10**9}}, "num_experts"),
    ],
    ids=["labels", "heads", "experts"],
)
def test_config_asking_for_too_many_parts_is_refused(folder, changes, key):
    edit_json(folder / "config.json", **changes)
    fails(NotAModelError, folder, f"{key} is ", "at most 20,000 is allowed")
    with pytest.raises(NotAModelError, match=f"{key} is .* at most 20,000 is allowed"):
        load_tokenizer(str(folder))


def test_tokenizer_config_with_too_many_layers_is_refused(folder):
    edit_json(folder / "config.json", num_hidden_layers=50_000_000)
    with pytest.raises(NotAModelError, match=r"num_hidden_layers is .* at most 10,000 is allowed"):
        load_tokenizer(str(folder))


def test_config_with_too_many_positions_is_refused(folder):
    config = {"model_type": "gptj", "n_embd": 32, "n_layer": 1, "n_head": 4, "rotary_dim": 8}
    config |= {"n_positions": 10**9, "vocab_size": 260}
    (folder / "config.json").write_text(json.dumps(config))
    fails(WeightsError, folder, "of computed tables", "check max_position_embeddings")


@pytest.mark.parametrize("where", ["vocab", "added"])
def test_huge_tokenizer_id_is_refused_or_renumbered(folder, where):
    path = folder / "tokenizer.json"
    data = json.loads(path.read_text("utf-8"))
    if where == "vocab":
        data["model"]["vocab"]["far"] = 400_000_000
    else:
        data["added_tokens"].append(data["added_tokens"][-1] | {"id": 400_000_000, "content": "x"})
    path.write_text(json.dumps(data), "utf-8")
    try:
        model = load_model(folder)
    except TokenizerError as error:
        assert "400,000,000" in str(error) and "accepts only 260 ids" in str(error)
    else:  # some versions of tokenizers renumber added tokens themselves
        assert max(model.tokenizer.get_vocab().values()) < 1_000_000


def test_tokenizer_that_takes_long_to_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.model.guarded_tokenizer.READ_SECONDS", 0.5)
    config = {"tokenizer_class": "ByT5Tokenizer", "extra_ids": 3_000_000}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(TokenizerError, match=r"takes more than .* to read; check its tokenizer"):
        load_tokenizer(str(tmp_path))


@pytest.mark.parametrize(
    ("changes", "made"),
    [
        ({"normalizer": {"type": "Prepend", "prepend": "x" * 1_000_000}}, "16 .* into 1,000,016"),
        (
            {"decoder": REPLACES_ALL},
            "(1 .* into 2,000,000|7 .* into 8,|8 .* into 9,|9 .* into 10,)",
        ),
    ],
    ids=["text", "tokens"],
)
def test_tokenizer_that_inflates_text_or_tokens_is_refused(folder, changes, made):
    edit_json(folder / "tokenizer.json", **changes)
    with pytest.raises(TokenizerError, match=rf"turns {made}"):
        load_model(folder)


def test_tokenizer_with_overlong_token_is_refused(folder):
    model = {"type": "WordLevel", "vocab": {"a": 0, "b" * 100_000: 1}, "unk_token": "b" * 100_000}
    edit_json(folder / "tokenizer.json", model=model)
    with pytest.raises(TokenizerError, match="has 100,000 characters"):
        load_model(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("_attn_implementation", "owner/repo"),
        ("_attn_implementation", "flash_attention_2"),
        ("attn_implementation", {"": "owner/repo:kernel"}),
    ],
)
def test_foreign_attention_code_is_not_loaded(folder, monkeypatch, key, value):
    def asked(*_, **__):
        raise AssertionError("code was asked for")

    monkeypatch.setattr("transformers.modeling_utils.lazy_import_flash_attention", asked)
    edit_json(folder / "config.json", **{key: value})
    model = load_model(folder)
    (notice,) = model.notices
    assert "asks for the attention of" in notice and "PyTorch's own is used" in notice
    assert model.hf.config._attn_implementation == "sdpa"


def test_pytorch_attention_setting_is_kept(folder):
    edit_json(folder / "config.json", _attn_implementation="eager")
    model = load_model(folder)
    assert model.notices == () and model.hf.config._attn_implementation == "eager"
