"""Loading a model: working cases, and one clear sentence for each way to fail."""

import json

import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

from engine.decoder import Decoder
from engine.errors import (
    ModelError,
    ModelNotFoundError,
    NotAModelError,
    RemoteCodeError,
    SettingError,
    TokenizerError,
    WeightsError,
)
from engine.model import load_model
from engine.sampling import SamplingSettings
from tests.engine.model.loading.folders import (
    VOCAB,
    canary,
    edit_json,
    fails,
    tiny_model,
    tiny_tokenizer,
)

# --- Working cases -------------------------------------------------------------------------------


def test_model_loads_from_folder_and_steps(folder):
    for source in (folder, str(folder)):
        model = load_model(source)
        assert (model.name, model.source, model.revision) == ("tiny-llama", str(folder), None)
        assert (model.vocab_size, model.context_length, model.eos_ids) == (VOCAB, 64, (256,))
        assert model.notices == ()
        assert len(list(Decoder(model, "Hello").run(4))) <= 4


def test_requested_dtype_is_used(folder):
    for dtype in ("bfloat16", "float16", "float32", torch.bfloat16):
        loaded = load_model(folder, dtype=dtype)
        assert loaded.dtype == (getattr(torch, dtype) if isinstance(dtype, str) else dtype)


def test_auto_keeps_a_float32_checkpoint_float32(folder):
    assert load_model(folder).dtype == torch.float32
    # The same if config.json does not give the dtype of the weights.
    edit_json(folder / "config.json", dtype=..., torch_dtype=...)
    assert load_model(folder).dtype == torch.float32


def test_pickles_next_to_safetensors_are_ignored(folder):
    canary(folder / "pytorch_model.bin")
    assert load_model(folder).notices == ()
    assert not (folder / "opened").exists()


# --- Notices: it loads with something to report --------------------------------------------------


def test_model_without_end_of_text_gets_a_notice(tmp_path):
    tiny_model(eos_token_id=None).save_pretrained(tmp_path)
    tokenizer = tiny_tokenizer()
    tokenizer.eos_token = None
    tokenizer.save_pretrained(tmp_path)
    model = load_model(tmp_path)
    assert model.eos_ids == ()
    assert ["no end-of-text token" in notice for notice in model.notices] == [True]


def test_tokenizer_smaller_than_output_gets_a_notice(tmp_path):
    tiny_model(vocab_size=320).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    model = load_model(tmp_path)
    (notice,) = model.notices
    assert "260 entries and the model scores 320; the other 60 ids" in notice
    assert "<id 260>" in notice and model.vocabulary.label(260) == "<id 260>"


def test_unused_tensors_are_mentioned(folder):
    weights = load_file(folder / "model.safetensors")
    save_file(weights | {"extra.weight": torch.zeros(3)}, folder / "model.safetensors")
    (notice,) = load_model(folder).notices
    assert notice.startswith("1 tensors in the weights are not used")


def test_all_end_tokens_within_vocabulary_are_kept(folder):
    edit_json(folder / "generation_config.json", eos_token_id=[256, 258, 9_999])
    assert load_model(folder).eos_ids == (256, 258), "ids that the model does not score are no ends"


# --- Nothing to load -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        *["../x/y z", "/no/such/folder", "a/b/c", "", " ", "C:\\models\\x", "a\nb", "-x"],
        *["http://localhost/x", "owner/", "owner//name", "a\x00b"],
    ],
    ids=lambda source: repr(source[:24]),
)
def test_source_neither_folder_nor_hub_id_is_refused(source):
    with pytest.raises(ModelNotFoundError, match="such as owner/name"):
        load_model(source)


def test_hub_id_without_connection_or_copy_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for source in ("owner/name", "name", "a..b/c--d"):
        fails(ModelNotFoundError, source, source)
    with pytest.raises(ModelNotFoundError):
        load_model("x" * 10_000)
    fails(NotAModelError, "..", "config.json")  # this is a folder


@pytest.mark.parametrize("source", [None, 3, b"bundled", ["a"]])
def test_source_that_is_not_text_is_refused(source):
    with pytest.raises((ModelError, SettingError)):
        load_model(source)


def test_file_instead_of_folder_is_refused(folder):
    for name in ("config.json", "model.safetensors"):
        fails(NotAModelError, folder / name, "is a file; give the folder")


def test_folder_with_a_gguf_file_is_refused(folder):
    (folder / "tiny.Q4_0.gguf").write_bytes(b"GGUF")
    (folder / "model.safetensors").unlink()
    fails(WeightsError, folder, "tiny-llama has its weights in a GGUF file", "give the path")
    (folder / "config.json").unlink()
    fails(NotAModelError, folder, "tiny-llama has its weights in a GGUF file")


def test_an_adapter_is_named_with_its_base(folder):
    adapter = folder / "adapter_config.json"
    adapter.write_text('{"peft_type": "LORA", "base_model_name_or_path": "owner/base"}')
    assert any("adapter" in notice for notice in load_model(folder, device="cpu").notices)
    (folder / "config.json").unlink()
    fails(NotAModelError, folder, "is an adapter for owner/base", "merge_and_unload")
    adapter.write_text("{")
    fails(NotAModelError, folder, "is an adapter for its base model")


@pytest.mark.parametrize("content", ['{"eos_token_id": 2,}', "[1]"])
def test_a_damaged_generation_config_is_named(folder, content):
    (folder / "generation_config.json").write_text(content)
    fails(NotAModelError, folder, "generation_config.json of tiny-llama cannot be used")


def test_quantised_weights_without_their_package_are_refused(folder):
    settings = {"quant_method": "gptq", "bits": 4, "group_size": 128}
    edit_json(folder / "config.json", quantization_config=settings)
    fails(WeightsError, folder, "are quantised (gptq)", "or choose 16-bit weights")


@pytest.mark.parametrize("kind", ["linear", "dynamic"])
def test_scaled_positions_decode_past_the_trained_length(folder, kind):
    edit_json(folder / "config.json", rope_parameters={"rope_type": kind, "factor": 4.0})
    model = load_model(folder, device="cpu")
    prompt = [1 + place * 7 % 250 for place in range(100)]
    settings = SamplingSettings(temperature=0, parity=True)
    decoder = Decoder(model, prompt=prompt, settings=settings)
    ours = [step.token_id for step in decoder.run(max_new_tokens=4)]
    generated = model.hf.generate(
        torch.tensor([prompt]), max_new_tokens=4, do_sample=False, pad_token_id=0
    )
    assert ours == generated[0, 100:].tolist()


def test_empty_folder_is_refused(tmp_path):
    fails(NotAModelError, tmp_path, "contains no config.json", "give the folder")


def test_revision_of_a_folder_is_refused(folder):
    fails(SettingError, folder, "revision applies to hub ids only", revision="main")
    fails(SettingError, "bundled", "revision applies to hub ids only", revision="main")


@pytest.mark.parametrize("device", ["tpu", "cuda:99", "", "cpu:7", None])
def test_unavailable_device_is_refused(folder, device):
    fails(SettingError, folder, "device is not available", "use auto or one of cpu", device=device)


@pytest.mark.parametrize("dtype", ["int8", "float64", "", None, torch.int8])
def test_unsupported_dtype_is_refused(folder, dtype):
    fails(SettingError, folder, "dtype is not a dtype", "use auto or one of float32", dtype=dtype)


# --- config.json ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [b"", b'{"model_type": ', b"[" * 100_000, b"\xff\xfe"],
    ids=["empty", "cut", "deep", "no text"],
)
def test_config_that_is_not_json_is_refused(folder, content):
    (folder / "config.json").write_bytes(content)
    fails(NotAModelError, folder, "config.json of tiny-llama is not valid JSON", "download")


@pytest.mark.parametrize(
    "config",
    [
        *[[], "llama", None, {}, {"model_type": "no-such-model"}, {"model_type": None}],
        *[{"model_type": 3}, {"model_type": ["llama"]}],
    ],
    ids=str,
)
def test_config_of_unknown_model_is_refused(folder, config):
    (folder / "config.json").write_text(json.dumps(config))
    # If the type is missing, transformers guesses it from the folder's name: here "llama".
    elsewhere = folder.rename(folder.with_name("nameless"))
    fails(NotAModelError, elsewhere, "config.json of nameless describes no model", "check the file")


@pytest.mark.parametrize(
    "changes",
    [
        {"hidden_size": "wide"},
        {"hidden_size": 0},
        {"hidden_size": None},
        {"hidden_size": 33},
        {"num_key_value_heads": 0},
        {"num_hidden_layers": -1},
        {"num_hidden_layers": 10},
        {"vocab_size": 0},
        {"hidden_act": "no-such-function"},
        {"rope_parameters": {"rope_type": "no-such-type"}},
        {"dtype": "no-such-dtype"},
        {"max_position_embeddings": "x"},
        {"layer_types": ["no_such_attention"] * 2},
        {"pad_token_id": 10_000},
        {"eos_token_id": "x"},
        {"architectures": 3},
        {"quantization_config": {"quant_method": "no-such-method"}},
    ],
    ids=str,
)
def test_impossible_config_value_is_refused_or_harmless(folder, changes):
    edit_json(folder / "config.json", **changes)
    try:
        model = load_model(folder)
    except ModelError as error:
        assert str(error).endswith(".") and "\n" not in str(error)
    else:
        # Some are harmless (transformers ignores them); then the model must really work.
        Decoder(model, "Hello").step()


@pytest.mark.parametrize("where", ["config.json", "tokenizer_config.json"])
def test_code_shipped_with_a_model_never_runs(folder, where):
    source = f"from pathlib import Path\nPath({str(folder / 'imported')!r}).touch()\n"
    (folder / "canary.py").write_text(source)
    if where == "config.json":
        auto_map = {"AutoConfig": "canary.Config", "AutoModelForCausalLM": "canary.Model"}
        edit_json(folder / where, model_type="of-its-own", auto_map=auto_map)
        fails(RemoteCodeError, folder, "its own Python code, which is not run", "choose a model")
    else:
        auto_map = {"AutoTokenizer": ["canary.Tokenizer", "canary.Tokenizer"]}
        edit_json(folder / where, tokenizer_class="CanaryTokenizer", auto_map=auto_map)
        with pytest.raises(ModelError):
            load_model(folder)
    assert not (folder / "imported").exists(), "the code of the model was run"


def test_auto_map_on_a_known_type_is_ignored(folder):
    source = f"from pathlib import Path\nPath({str(folder / 'imported')!r}).touch()\n"
    (folder / "canary.py").write_text(source)
    auto_map = {"AutoConfig": "canary.Config", "AutoModelForCausalLM": "canary.Model"}
    edit_json(folder / "config.json", auto_map=auto_map)
    assert type(load_model(folder).hf) is hf.LlamaForCausalLM
    assert not (folder / "imported").exists(), "the code of the model was run"


def test_encoder_decoder_model_is_refused(folder):
    hf.T5Config(
        d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=2, vocab_size=VOCAB
    ).save_pretrained(folder)
    fails(NotAModelError, folder, "encoder-decoder model (t5)", "choose a causal language model")


def test_encoder_only_model_is_refused(folder):
    hf.ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2).save_pretrained(folder)
    fails(NotAModelError, folder, "causal language model")


# --- Tokenizer -----------------------------------------------------------------------------------


def test_folder_without_tokenizer_is_refused(folder):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    fails(TokenizerError, folder, "add its")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"model": {"type": "Magic"}}'])
def test_damaged_tokenizer_is_refused(folder, content):
    (folder / "tokenizer.json").write_text(content)
    fails(TokenizerError, folder, "add its tokenizer.json")
