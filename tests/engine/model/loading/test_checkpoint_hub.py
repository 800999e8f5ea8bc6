"""Models from the hub, which the test simulates."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import httpx2  # huggingface_hub makes its requests with it
import pytest
from huggingface_hub import constants
from huggingface_hub._tree_cache import TreeCacheEntry, write_tree_cache
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from engine.errors import ModelError, ModelNotFoundError, UnsafeWeightsError, WeightsError
from engine.model import is_here, load_model
from engine.model.loading import checkpoint
from engine.tokenizing import cached_tokenizers, load_tokenizer
from tests.engine.model.loading.folders import fails

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def answer(status: int) -> httpx2.Response:
    return httpx2.Response(status, request=httpx2.Request("GET", "https://huggingface.co/api"))


class Hub:
    """A stand-in for the two calls that `engine.model.loading.checkpoint` makes."""

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


def test_repository_is_fetched_at_one_commit(hub):
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


def test_tokenizer_loads_from_hub_or_copy_without_weights(hub):
    """Fetch it also from a repository of pickles, none of which is read."""
    hub.files = [name for name in hub.files if not name.endswith(".safetensors")]
    hub.files += ["pytorch_model.bin"]
    assert load_tokenizer("owner/tiny").notices == ()
    assert not [name for name in hub.asked[-1][3] if not name.endswith(".json")]
    hub.model_info_raises, hub.cached = OSError("no network"), hub.folder
    (notice,) = load_tokenizer("owner/tiny").notices
    assert "out of reach" in notice


def test_tokenizers_in_the_cache_are_found(tmp_path):
    for name in ("models--owner--b-c", "models--gpt2", "datasets--owner--d"):
        place = tmp_path / name / "snapshots" / COMMIT
        place.mkdir(parents=True)
        (place / "tokenizer_config.json").write_text("{}")
    (tmp_path / "models--owner--weights" / "snapshots" / COMMIT).mkdir(parents=True)
    assert cached_tokenizers(tmp_path) == ["gpt2", "owner/b-c"]


def test_pickle_or_gguf_repository_is_refused_before_fetching(hub):
    hub.files = ["config.json", "pytorch_model.bin"]
    fails(UnsafeWeightsError, "owner/tiny", "owner/tiny has its weights only as a pickle")
    hub.files = ["config.json", "model.gguf"]
    fails(WeightsError, "owner/tiny", "owner/tiny has its weights in a GGUF file")
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
def test_hub_refusal_is_reported(hub, during, error, parts):
    setattr(hub, f"{during}_raises", error)
    hub.cached = hub.folder  # an old copy must not hide the hub's refusal
    fails(ModelNotFoundError, "owner/tiny", *parts, revision="v9")


UNREACHABLE = [
    httpx2.ConnectError("Name or service not known"),
    ConnectionResetError("reset"),
    HfHubHTTPError("busy", response=answer(503)),
    LocalEntryNotFoundError("offline"),
]


@pytest.mark.parametrize("during", ["model_info", "download"])
@pytest.mark.parametrize("error", UNREACHABLE, ids=lambda error: type(error).__name__)
def test_earlier_copy_is_used_when_hub_is_unreachable(hub, during, error):
    setattr(hub, f"{during}_raises", error)
    hub.cached = hub.folder
    model = load_model("owner/tiny")
    (notice,) = model.notices
    assert "out of reach" in notice and "owner/tiny" in notice
    assert model.revision == COMMIT


@pytest.mark.parametrize("error", UNREACHABLE, ids=lambda error: type(error).__name__)
def test_unreachable_hub_without_a_copy_is_reported(hub, error):
    said = ("no folder 'owner/tiny', and the hub could not be reached", "at revision v9")
    for during in ("model_info", "download"):
        setattr(hub, f"{during}_raises", error)
        fails(ModelNotFoundError, "owner/tiny", *said, "check the connection", revision="v9")
        setattr(hub, f"{during}_raises", None)


def test_incomplete_copy_is_reported_as_missing_weights(hub):
    hub.model_info_raises = httpx2.ConnectError("no network")
    hub.cached = hub.folder
    (hub.folder / "model.safetensors").unlink()
    fails(WeightsError, "owner/tiny", "contains no weights")


def test_full_disk_is_not_blamed_on_hub(hub):
    hub.download_raises = OSError(28, "No space left on device")
    hub.cached = hub.folder
    with pytest.raises(ModelError, match="No space left on device"):
        load_model("owner/tiny")


def test_complete_copy_loads_without_asking_the_hub(original, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(checkpoint, "HfApi", lambda *_, **__: pytest.fail("the hub was asked"))
    place = tmp_path / "models--owner--tiny"
    folder = Path(shutil.copytree(original, place / "snapshots" / COMMIT))
    write_tree_cache(str(place), COMMIT, {"README.md": TreeCacheEntry(1, "0", None, None, None)})
    assert is_here("owner/tiny", COMMIT)
    model = load_model("owner/tiny", revision=COMMIT, local_files_only=True)
    assert (model.revision, model.notices) == (COMMIT, ())
    weights = (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"a": weights.name, "b": "model-00002-of-00002.safetensors"}})
    )
    assert not is_here("owner/tiny", COMMIT), "a file of two is missing"
    weights.unlink()
    assert not is_here("owner/tiny", COMMIT), "the page of tokens fetches all but the weights"
