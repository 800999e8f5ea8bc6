"""Loading a model: what works, and one clear sentence for each way it can fail.

The models are made on the spot: a Llama 32 wide, two layers deep, and a tokenizer of single bytes.
"""

import json
import random
import shutil
import struct
from pathlib import Path
from types import SimpleNamespace

import httpx2  # what huggingface_hub makes its requests with
import pytest
import torch
import transformers as hf
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from engine import checkpoint
from engine.decoder import Decoder
from engine.errors import (
    LogitsError,
    ModelError,
    ModelNotFoundError,
    NotAModelError,
    RemoteCodeError,
    SettingError,
    TokenizerError,
    UnsafeWeightsError,
    WeightsError,
)
from engine.model import load_model

VOCAB = 260


def tiny_tokenizer() -> hf.PreTrainedTokenizerFast:
    """One token per byte, and an end of text."""
    pieces = {piece: place for place, piece in enumerate(pre_tokenizers.ByteLevel.alphabet())}
    tokenizer = Tokenizer(models.BPE(pieces, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|end|>", "<|pad|>", "<|user|>", "<|reply|>"])
    return hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")


def tiny_config(**changes) -> hf.LlamaConfig:
    sizes = {
        "vocab_size": VOCAB,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 64,
        "bos_token_id": None,
        "eos_token_id": 256,
        "pad_token_id": None,
        "tie_word_embeddings": False,
    }
    return hf.LlamaConfig(**(sizes | changes))


def tiny_model(**changes) -> hf.LlamaForCausalLM:
    torch.manual_seed(1)
    return hf.LlamaForCausalLM(tiny_config(**changes))


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny-llama"
    tiny_model().save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def folder(original, tmp_path) -> Path:
    """A whole model that a test may spoil."""
    return Path(shutil.copytree(original, tmp_path / "tiny-llama"))


def edit_json(path: Path, **changes) -> None:
    data = json.loads(path.read_text("utf-8")) | changes
    data = {name: value for name, value in data.items() if value is not ...}
    path.write_text(json.dumps(data), "utf-8")


def fails(kind: type[Exception], source: object, *parts: str, **arguments) -> str:
    """`load_model` must fail in exactly this way; returns the sentence."""
    with pytest.raises(kind) as caught:
        load_model(source, **arguments)
    message = str(caught.value)
    assert type(caught.value) is kind, f"a {kind.__name__} was expected: {caught.value!r}"
    for part in parts:
        assert part in message, f"{message!r} does not say {part!r}"
    assert message.endswith(".") and "\n" not in message and ";" in message, (
        f"not one sentence with a remedy: {message!r}"
    )
    return message


# --- What works ----------------------------------------------------------------------------------


def test_a_folder_loads_and_steps(folder):
    for source in (folder, str(folder)):
        model = load_model(source)
        assert (model.name, model.source, model.revision) == ("tiny-llama", str(folder), None)
        assert (model.vocab_size, model.context_length, model.eos_ids) == (VOCAB, 64, (256,))
        assert model.notices == ()
        assert len(list(Decoder(model, "Hello").run(4))) <= 4


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_a_dtype_asked_for_is_the_dtype_given(folder, dtype):
    assert load_model(folder, dtype=dtype).dtype == getattr(torch, dtype)
    assert load_model(folder, dtype=getattr(torch, dtype)).dtype == getattr(torch, dtype)


def test_auto_keeps_a_float32_checkpoint_float32(folder):
    assert load_model(folder).dtype == torch.float32
    # The same where config.json does not say what the weights are.
    edit_json(folder / "config.json", dtype=..., torch_dtype=...)
    assert load_model(folder).dtype == torch.float32


def test_auto_never_invents_a_third_dtype(tmp_path):
    tiny_model().to(torch.bfloat16).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    assert load_model(tmp_path).dtype in (torch.bfloat16, torch.float32)


def test_a_model_in_several_files_loads(tmp_path):
    tiny_model().save_pretrained(tmp_path, max_shard_size="20KB")
    tiny_tokenizer().save_pretrained(tmp_path)
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    assert load_model(tmp_path).notices == ()


def test_pickles_beside_safetensors_are_left_alone(folder):
    canary(folder / "pytorch_model.bin")
    assert load_model(folder).notices == ()
    assert not (folder / "opened").exists()


def test_tied_weights_are_not_missing(tmp_path):
    tiny_model(tie_word_embeddings=True).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    assert load_model(tmp_path).notices == ()


# --- Notices: it loads, and a person should know -------------------------------------------------


def test_a_model_without_an_end_of_text_says_so(tmp_path):
    tiny_model(eos_token_id=None).save_pretrained(tmp_path)
    tokenizer = tiny_tokenizer()
    tokenizer.eos_token = None
    tokenizer.save_pretrained(tmp_path)
    model = load_model(tmp_path)
    assert model.eos_ids == ()
    assert ["no end-of-text token" in notice for notice in model.notices] == [True]


def test_a_tokenizer_smaller_than_the_output_says_so(tmp_path):
    tiny_model(vocab_size=320).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    model = load_model(tmp_path)
    (notice,) = model.notices
    assert "The tokenizer has 260 entries and the model scores 320; the other 60 ids" in notice
    assert "<id 260>" in notice and model.vocabulary.label(260) == "<id 260>"


def test_tensors_that_nothing_uses_are_mentioned(folder):
    weights = load_file(folder / "model.safetensors")
    save_file(weights | {"extra.weight": torch.zeros(3)}, folder / "model.safetensors")
    assert load_model(folder).notices == (
        "1 tensors in the weights are not used by this architecture.",
    )


def test_several_ends_of_text(folder):
    edit_json(folder / "generation_config.json", eos_token_id=[256, 258, 9_999])
    assert load_model(folder).eos_ids == (256, 258), "ids that the model does not score are no ends"


# --- Nothing there -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        *["../x/y z", "/no/such/folder", "a/b/c", "", " ", "C:\\models\\x", "\\\\host\\x", "a\nb"],
        *[
            "-x",
            "http://localhost/x",
            "file:///etc",
            "owner/",
            "/name",
            "owner//name",
            "a\x00b",
        ],
    ],
    ids=lambda source: repr(source[:24]),
)
def test_neither_a_folder_nor_a_hub_id(source):
    with pytest.raises(ModelNotFoundError, match="such as owner/name"):
        load_model(source)


@pytest.mark.parametrize("source", ["owner/name", "name", "..", "a..b/c--d", "owner/" + "n" * 200])
def test_a_hub_id_without_a_connection_or_a_copy(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if source == "..":
        fails(NotAModelError, source, "config.json")  # that is a folder
    else:
        fails(ModelNotFoundError, source, source)


def test_a_source_longer_than_any_file_name():
    with pytest.raises(ModelNotFoundError):
        load_model("x" * 10_000)


@pytest.mark.parametrize("source", [None, 3, True, b"bundled", ["a"]])
def test_a_source_that_is_no_text(source):
    with pytest.raises((ModelError, SettingError)):
        load_model(source)


def test_a_file_instead_of_a_folder(folder):
    for name in ("config.json", "model.safetensors"):
        fails(NotAModelError, folder / name, "is a file; give the folder")


def test_an_empty_folder(tmp_path):
    fails(NotAModelError, tmp_path, "holds no config.json", "give the folder")


def test_a_revision_of_a_folder(folder):
    fails(SettingError, folder, "revision applies to hub ids only, got 'main'", revision="main")
    fails(SettingError, "bundled", "revision applies to hub ids only", revision="main")


@pytest.mark.parametrize("device", ["tpu", "cuda:99", "", "CPU", "cpu:7", None, 3])
def test_a_device_that_is_not_there(folder, device):
    fails(SettingError, folder, "device is not available", "use auto or one of cpu", device=device)


@pytest.mark.parametrize("dtype", ["int8", "float64", "", "fp32", None, torch.int8, 3])
def test_a_dtype_that_models_are_not_run_in(folder, dtype):
    fails(SettingError, folder, "dtype is not a dtype", "use auto or one of float32", dtype=dtype)


# --- config.json ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    ["", "not json", "{", '{"model_type": ', "[" * 100_000, "\xff\xfe".encode("latin-1")],
    ids=["empty", "words", "cut", "cut in a value", "deep", "no text"],
)
def test_a_config_that_is_no_json(folder, content):
    data = content if isinstance(content, bytes) else content.encode()
    (folder / "config.json").write_bytes(data)
    fails(NotAModelError, folder, "config.json of tiny-llama is no valid JSON", "download")


def test_a_masked_diffusion_model(folder):
    edit_json(folder / "config.json", is_causal=False)
    fails(
        NotAModelError,
        folder,
        "tiny-llama is a masked diffusion model, not a causal language model; open it with "
        "load_diffusion_model.",
    )
    edit_json(folder / "config.json", is_causal=True)
    assert load_model(folder).vocab_size == VOCAB


@pytest.mark.parametrize(
    "config",
    [
        *[[], 3, "llama", None, {}, {"model_type": "no-such-model"}, {"model_type": None}],
        *[{"model_type": 3}, {"model_type": ["llama"]}, {"hidden_size": 3}],
    ],
    ids=str,
)
def test_a_config_that_describes_no_known_model(folder, config):
    (folder / "config.json").write_text(json.dumps(config))
    # Where the type is missing, transformers guesses it from the folder's name: here "llama".
    elsewhere = folder.rename(folder.with_name("nameless"))
    fails(NotAModelError, elsewhere, "config.json of nameless describes no model", "check the file")


@pytest.mark.parametrize(
    "changes",
    [
        {"hidden_size": "wide"},
        {"hidden_size": -32},
        {"hidden_size": 0},
        {"hidden_size": None},
        {"hidden_size": 33},
        {"num_attention_heads": 0},
        {"num_key_value_heads": 3},
        {"num_key_value_heads": 0},
        {"num_hidden_layers": "two"},
        {"num_hidden_layers": -1},
        {"num_hidden_layers": 10},
        {"vocab_size": 0},
        {"vocab_size": -1},
        {"hidden_act": "no-such-function"},
        {"rope_parameters": {"rope_type": "no-such-type"}},
        {"rope_parameters": 3},
        {"head_dim": 0},
        {"dtype": "no-such-dtype"},
        {"dtype": 3},
        {"intermediate_size": "x"},
        {"max_position_embeddings": "x"},
        {"layer_types": ["no_such_attention"] * 2},
        {"pad_token_id": 10_000},
        {"eos_token_id": "x"},
        {"architectures": 3},
        {"quantization_config": {"quant_method": "no-such-method"}},
        {"quantization_config": 3},
    ],
    ids=str,
)
def test_a_config_with_an_impossible_value(folder, changes):
    edit_json(folder / "config.json", **changes)
    try:
        model = load_model(folder)
    except ModelError as error:
        assert str(error).endswith(".") and "\n" not in str(error)
    else:
        # Some are harmless (transformers ignores them): then the model must really work.
        Decoder(model, "Hello").step()


@pytest.mark.parametrize("where", ["config.json", "tokenizer_config.json"])
def test_code_that_comes_with_a_model_is_never_run(folder, where):
    source = f"from pathlib import Path\nPath({str(folder / 'imported')!r}).touch()\n"
    (folder / "canary.py").write_text(source)
    if where == "config.json":
        auto_map = {"AutoConfig": "canary.Config", "AutoModelForCausalLM": "canary.Model"}
        edit_json(folder / where, model_type="of-its-own", auto_map=auto_map)
        fails(RemoteCodeError, folder, "Python code of its own, which is not run", "choose a model")
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


def test_an_encoder_decoder_model(folder):
    hf.T5Config(
        d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=2, vocab_size=VOCAB
    ).save_pretrained(folder)
    fails(NotAModelError, folder, "encoder-decoder model (t5)", "choose a causal language model")


def test_an_encoder_only_model(folder):
    hf.ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2).save_pretrained(folder)
    fails(NotAModelError, folder, "causal language model")


# --- Weights -------------------------------------------------------------------------------------


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def header_size(path: Path) -> int:
    return 8 + struct.unpack("<Q", path.read_bytes()[:8])[0]


@pytest.mark.parametrize(
    "place", ["empty", "in the length", "in the header", "after the header", "in the data", "last"]
)
def test_weights_that_were_cut_short(folder, place):
    path = folder / "model.safetensors"
    header, size = header_size(path), path.stat().st_size
    cut(
        path,
        {
            "empty": 0,
            "in the length": 5,
            "in the header": header // 2,
            "after the header": header,
            "in the data": (header + size) // 2,
            "last": size - 1,
        }[place],
    )
    fails(WeightsError, folder, "model.safetensors of tiny-llama is damaged or cut short")


def test_a_download_page_instead_of_weights(folder):
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n" * 3)
    fails(WeightsError, folder, "damaged or cut short", "download the model again")


def test_an_index_that_names_a_missing_file(tmp_path):
    tiny_model().save_pretrained(tmp_path, max_shard_size="20KB")
    tiny_tokenizer().save_pretrained(tmp_path)
    lost = sorted(tmp_path.glob("*.safetensors"))[1]
    lost.unlink()
    fails(WeightsError, tmp_path, "lacks 1 of", f"for example {lost.name}", "download")


@pytest.mark.parametrize(
    "content",
    [
        *["", "{", "[]", "3", "{}", '{"weight_map": 3}', '{"weight_map": {"a": 3}}'],
        *['{"weight_map": {"a": ["b"]}}', '{"weight_map": {"a": null}}', "[" * 100_000],
        *['{"weight_map": {"a": "a\\u0000b"}}', '{"weight_map": {"a": "../../x.safetensors"}}'],
    ],
    ids=lambda content: content[:32],
)
def test_an_index_that_is_damaged(folder, content):
    (folder / "model.safetensors.index.json").write_text(content)
    fails(WeightsError, folder)


def test_an_index_that_points_out_of_the_folder(folder):
    weights = folder / "model.safetensors"
    names = dict.fromkeys(load_file(weights), "../elsewhere.safetensors")
    weights.rename(folder.parent / "elsewhere.safetensors")
    shutil.copy(folder.parent / "elsewhere.safetensors", folder / "other.safetensors")
    index = {"metadata": {}, "weight_map": names}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    fails(WeightsError, folder)


def test_an_index_that_is_no_text(folder):
    (folder / "model.safetensors.index.json").write_bytes(b"\xff\xfe\x00")
    fails(WeightsError, folder)


def test_tensors_that_are_missing(folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    del weights["model.layers.1.mlp.up_proj.weight"], weights["lm_head.weight"]
    save_file(weights, path)
    fails(WeightsError, folder, "lack 2 tensors, for example lm_head.weight", "stay random")


def test_a_tensor_of_another_shape(folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    weights["model.norm.weight"] = torch.ones(31)
    save_file(weights, path)
    fails(WeightsError, folder, "do not fit its configuration", "check config.json")


def test_tensors_of_integers(folder):
    path = folder / "model.safetensors"
    save_file({name: w.to(torch.int32) for name, w in load_file(path).items()}, path)
    try:
        Decoder(load_model(folder), "Hello").step()
    except ModelError as error:
        assert str(error).endswith(".")


def test_weights_that_are_no_numbers_are_noticed_at_the_first_step(folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    weights["model.norm.weight"][3] = torch.nan
    save_file(weights, path)
    decoder = Decoder(load_model(folder), "Hello")
    with pytest.raises(LogitsError, match="260 NaN"):
        decoder.step()
    assert decoder.steps == []


class Opened:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def canary(path: Path) -> None:
    torch.save({"weight": Opened(path.parent / "opened")}, path)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "x.pth", "x.ckpt", "x.pkl"])
def test_pickled_weights_are_refused_unopened(folder, name):
    (folder / "model.safetensors").unlink()
    canary(folder / name)
    fails(UnsafeWeightsError, folder, f"only as a pickle ({name})", "convert it to safetensors")
    assert not (folder / "opened").exists(), "the pickle was opened"
    torch.load(folder / name, weights_only=False)
    assert (folder / "opened").exists(), "the canary is dead: this test proves nothing"


def test_no_weights_at_all(folder):
    (folder / "model.safetensors").unlink()
    fails(WeightsError, folder, "holds no weights (*.safetensors)", "download the whole model")


def test_weights_that_are_a_folder(folder):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").mkdir()
    fails(WeightsError, folder, "damaged or cut short")


# --- Tokenizer -----------------------------------------------------------------------------------


def test_no_tokenizer(folder):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    fails(TokenizerError, folder, "add its")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "3", '{"model": {"type": "Magic"}}'])
def test_a_tokenizer_that_is_damaged(folder, content):
    (folder / "tokenizer.json").write_text(content)
    fails(TokenizerError, folder, "add its tokenizer.json")


# --- Fuzz ----------------------------------------------------------------------------------------


def mutated(data: bytes, rng: random.Random) -> bytes:
    copy = bytearray(data)
    header = 8 + struct.unpack("<Q", data[:8])[0]
    for _ in range(rng.choice([1, 1, 4])):
        # Mostly in the length and the header, where damage changes what the rest means.
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


def test_damaged_weights_give_a_model_or_a_named_error(folder):
    path = folder / "model.safetensors"
    data = path.read_bytes()
    rng = random.Random(11)
    outcomes = {"loaded": 0, "refused": 0}
    for case in range(300):
        path.write_bytes(mutated(data, rng))
        try:
            Decoder(load_model(folder), [1, 2, 3]).step()
            outcomes["loaded"] += 1
        except (ModelError, LogitsError) as error:
            assert str(error).endswith(".") and "\n" not in str(error)
            outcomes["refused"] += 1
        except BaseException as error:
            raise AssertionError(f"case {case} raises {error!r}") from error
    print(outcomes)
    assert outcomes["refused"] > 150, f"most damage to a header should be noticed: {outcomes}"


# --- The hub, played by the test -----------------------------------------------------------------

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def answer(status: int) -> httpx2.Response:
    return httpx2.Response(status, request=httpx2.Request("GET", "https://huggingface.co/api"))


class Hub:
    """Stands in for the two calls that `engine.checkpoint` makes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = [path.name for path in folder.iterdir()]
        self.model_info_raises: Exception | None = None
        self.download_raises: Exception | None = None
        self.cached: Path | None = None
        self.asked: list[tuple] = []

    def model_info(self, hub_id, *, revision=None, timeout=None, **_):
        assert timeout, "a request without a time limit can hang for ever"
        self.asked.append(("model_info", hub_id, revision))
        if self.model_info_raises:
            raise self.model_info_raises
        siblings = [SimpleNamespace(rfilename=name) for name in self.files]
        return SimpleNamespace(sha=COMMIT, siblings=siblings)

    def snapshot_download(
        self, hub_id, *, revision=None, allow_patterns=None, local_files_only=False
    ):
        self.asked.append(("download", hub_id, revision, allow_patterns, local_files_only))
        if local_files_only:
            if self.cached is None:
                raise LocalEntryNotFoundError("no copy")
            return str(self.cached)
        if self.download_raises:
            raise self.download_raises
        return str(self.folder)


@pytest.fixture
def hub(original, tmp_path, monkeypatch) -> Hub:
    folder = Path(shutil.copytree(original, tmp_path / COMMIT))
    played = Hub(folder)
    monkeypatch.setattr(checkpoint, "HfApi", lambda *_, **__: played)
    monkeypatch.setattr(checkpoint, "snapshot_download", played.snapshot_download)
    monkeypatch.chdir(tmp_path)
    return played


def test_a_repository_is_fetched_at_one_commit_and_loaded(hub):
    model = load_model("owner/tiny", revision="v1")
    assert (model.name, model.source, model.revision) == ("owner/tiny", "owner/tiny", COMMIT)
    assert model.notices == ()
    (_, _, asked), (_, _, fetched, _, offline) = hub.asked
    assert (asked, fetched, offline) == ("v1", COMMIT, False), (
        "what was looked at is what is fetched"
    )


def test_only_weights_configuration_and_tokenizer_are_fetched(hub):
    hub.files += ["pytorch_model.bin", "canary.py", "model.gguf", "onnx/model.onnx", "x.msgpack"]
    hub.files += ["original/consolidated.safetensors", "README.md", "flax.pkl"]
    load_model("owner/tiny")
    wanted = set(hub.asked[-1][3])
    assert wanted == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }


def test_a_repository_of_pickles_is_refused_before_anything_is_fetched(hub):
    hub.files = ["config.json", "pytorch_model.bin"]
    fails(UnsafeWeightsError, "owner/tiny", "owner/tiny has its weights only as a pickle")
    hub.files = ["config.json", "model.gguf"]
    fails(WeightsError, "owner/tiny", "owner/tiny holds no weights")
    assert [call[0] for call in hub.asked] == ["model_info"] * 2


@pytest.mark.parametrize("during", ["model_info", "download"])
@pytest.mark.parametrize(
    ("error", "parts"),
    [
        (GatedRepoError("x", response=answer(403)), ["asks for permission", "`hf auth login`"]),
        (
            RevisionNotFoundError("x", response=answer(404)),
            ["has no revision v9", "check its branches and tags"],
        ),
        (
            RepositoryNotFoundError("x", response=answer(401)),
            ["neither a folder nor a hub repository named owner/tiny", "check the spelling"],
        ),
    ],
    ids=["gated", "revision", "repository"],
)
def test_what_the_hub_refuses_is_named(hub, during, error, parts):
    setattr(hub, f"{during}_raises", error)
    hub.cached = hub.folder  # an old copy must not hide that the hub said no
    fails(ModelNotFoundError, "owner/tiny", *parts, revision="v9")


UNREACHABLE = [
    httpx2.ConnectError("Name or service not known"),
    httpx2.ReadTimeout("timed out"),
    ConnectionResetError("reset"),
    HfHubHTTPError("busy", response=answer(503)),
    LocalEntryNotFoundError("offline"),
]


@pytest.mark.parametrize("during", ["model_info", "download"])
@pytest.mark.parametrize("error", UNREACHABLE, ids=lambda error: type(error).__name__)
def test_without_a_connection_an_earlier_copy_is_used_and_announced(hub, during, error):
    setattr(hub, f"{during}_raises", error)
    hub.cached = hub.folder
    model = load_model("owner/tiny")
    assert model.notices == (
        "The hub is out of reach: this is the copy of owner/tiny fetched before.",
    )
    assert model.revision == COMMIT


@pytest.mark.parametrize("during", ["model_info", "download"])
@pytest.mark.parametrize("error", UNREACHABLE, ids=lambda error: type(error).__name__)
def test_without_a_connection_and_without_a_copy(hub, during, error):
    setattr(hub, f"{during}_raises", error)
    fails(
        ModelNotFoundError,
        "owner/tiny",
        "no folder 'owner/tiny', and the hub could not be reached",
        "at revision v9",
        "check the connection",
        revision="v9",
    )


def test_an_earlier_copy_that_is_not_whole_is_an_error_of_its_own(hub):
    hub.model_info_raises = httpx2.ConnectError("no network")
    hub.cached = hub.folder
    (hub.folder / "model.safetensors").unlink()
    fails(WeightsError, "owner/tiny", "holds no weights")


@pytest.mark.parametrize("cached", [True, False])
def test_a_full_disk_is_not_blamed_on_the_hub(hub, cached):
    hub.download_raises = OSError(28, "No space left on device")
    hub.cached = hub.folder if cached else None
    with pytest.raises(ModelError, match="No space left on device"):
        load_model("owner/tiny")
