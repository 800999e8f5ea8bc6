"""Finding a checkpoint and reading it, with one clear error for each way that can fail.

A hub repository is fetched into the hub's own cache first (weights in safetensors, configuration
and tokenizer, nothing else), so that local folders and repositories are read by the same code.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from huggingface_hub import HfApi, snapshot_download, try_to_load_from_cache
from huggingface_hub.errors import (
    GatedRepoError,
    HFValidationError,
    HTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import tqdm
from safetensors import SafetensorError, safe_open
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as transformers_logging

from engine.errors import (
    ModelError,
    ModelNotFoundError,
    NotAModelError,
    OutOfMemoryError,
    RemoteCodeError,
    SettingError,
    TokenizerError,
    UnsafeWeightsError,
    WeightsError,
)
from engine.kernels import cpu_dtype

_MODELS = Path(__file__).resolve().parent.parent / "models"
BUNDLED_FOLDER = _MODELS / "target"
BUNDLED_DIFFUSION_FOLDER = _MODELS / "diffusion"

_HUB_ID = re.compile(r"[\w][\w.\-]*(/[\w][\w.\-]*)?")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_TEXT_FILES = (".json", ".txt", ".model", ".jinja", ".tiktoken")
_REFUSED = (GatedRepoError, RevisionNotFoundError, RepositoryNotFoundError)
_UNREACHABLE = (HTTPError, OSError)  # the client's errors, and those of the network underneath
_SAFETENSORS_DTYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}


# Told what happens, how much of it is done and of how much (None: unknown; a download in bytes).
# Whatever it raises ends the loading and is passed on.
Progress = Callable[[str, int, int | None], None]


def untold(what: str, done: int, total: int | None) -> None:
    """The `Progress` of somebody who does not want to know."""


@dataclass(frozen=True)
class Located:
    """Where a model lies on this machine.

    Attributes:
        folder: configuration, weights and tokenizer.
        commit: the hub repository's commit, None for local models.
        notices: sentences that a person should see.
    """

    folder: Path
    commit: str | None = None
    notices: tuple[str, ...] = ()


def locate(
    source: str | Path,
    revision: str | None,
    progress: Progress = untold,
    *,
    is_causal: bool = True,
) -> Located:
    """The folder that holds a model, fetched first if it is a hub id.

    `is_causal` says which of the bundled models ``bundled`` is: the language model, or the masked
    diffusion model.

    Raises:
        ModelNotFoundError: neither a folder nor a repository within reach.
        SettingError: a revision for something that has none.
    """
    text = str(Path(source).expanduser()) if str(source).startswith("~") else str(source)
    is_folder = text == "bundled" or _is_folder(text)
    if is_folder and revision is not None:
        remedy = "leave it out for local models"
        raise SettingError("revision", revision, "applies to hub ids only", remedy)
    if text == "bundled":
        return Located(BUNDLED_FOLDER if is_causal else BUNDLED_DIFFUSION_FOLDER)
    if is_folder:
        return Located(Path(text))
    if len(text) < 4096 and Path(text).is_file():
        raise NotAModelError(
            f"{text} is a file; give the folder that holds config.json and the weights."
        )
    if not _HUB_ID.fullmatch(text):
        raise ModelNotFoundError(
            f"There is no folder {text!r}, and it is no hub id; give an existing folder, or an id "
            "such as owner/name."
        )
    return _fetch(text, revision, progress)


def _is_folder(text: str) -> bool:
    try:
        return bool(text) and Path(text).is_dir()  # Path("") would be the current folder
    except OSError:  # longer than any file name
        return False


def _fetch(hub_id: str, revision: str | None, progress: Progress) -> Located:
    """Fetch what loading needs; without a connection, use what an earlier visit left behind."""
    at = f" at revision {revision}" if revision else ""
    notices: tuple[str, ...] = ()
    try:
        try:
            # One plain request: listing files would retry for 20 seconds without a connection.
            progress(f"Asking the hub for {hub_id}", 0, None)
            info = HfApi().model_info(hub_id, revision=revision, timeout=10, files_metadata=True)
            sizes = {file.rfilename: getattr(file, "size", None) for file in info.siblings or ()}
            wanted = _wanted_files(hub_id, list(sizes))
            bars = _bars(hub_id, info.sha, {name: sizes[name] for name in wanted}, progress)
            folder = Path(
                snapshot_download(hub_id, revision=info.sha, allow_patterns=wanted, **bars)
            )
        except _REFUSED:
            raise
        except _UNREACHABLE as error:
            _refuse_local_failure(error)
            folder = Path(snapshot_download(hub_id, revision=revision, local_files_only=True))
            notices = (f"The hub is out of reach: this is the copy of {hub_id} fetched before.",)
    except GatedRepoError as error:
        raise ModelNotFoundError(
            f"The hub repository {hub_id} asks for permission first; request access on its page "
            "and log in with `hf auth login`."
        ) from error
    except RevisionNotFoundError as error:
        raise ModelNotFoundError(
            f"The hub repository {hub_id} has no revision {revision}; check its branches and tags."
        ) from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise ModelNotFoundError(
            f"There is neither a folder nor a hub repository named {hub_id}; check the spelling, "
            "or log in with `hf auth login` if it is private."
        ) from error
    except _UNREACHABLE as error:
        raise ModelNotFoundError(
            f"There is no folder {hub_id!r}, and the hub could not be reached to look for {hub_id}"
            f"{at}; check the connection, or give a folder that holds the model."
        ) from error
    return Located(folder, folder.name, notices)


def _bars(
    hub_id: str, commit: str, sizes: dict[str, int | None], progress: Progress
) -> dict[str, type[tqdm]]:
    """How a download reports; without `progress`, by the client's own bars in the terminal."""
    if progress is untold:
        return {}
    total = sum(
        size or 0
        for name, size in sizes.items()
        if not isinstance(try_to_load_from_cache(hub_id, name, revision=commit), str)
    )
    return {"tqdm_class": _byte_counter(f"Downloading {hub_id}", total, progress)}


def _byte_counter(what: str, total: int, progress: Progress) -> type[tqdm]:
    """What the hub's client takes for a progress bar; it draws nothing and tells `progress`.

    The client makes several bars for one download: bytes that have come, bytes on the disk, files.
    """

    class ByteCounter(tqdm):
        furthest = 0

        def __init__(self, *args, **kwargs) -> None:
            super().__init__(*args, **kwargs | {"disable": True})
            self._counts_bytes = kwargs.get("unit") == "B"

        def update(self, n: float | None = 1) -> None:
            self.n += n or 0  # a disabled bar does not count
            if self._counts_bytes and self.n > ByteCounter.furthest:
                ByteCounter.furthest = self.n
                progress(what, min(int(self.n), total) if total else int(self.n), total or None)

    return ByteCounter


def _refuse_local_failure(error: BaseException) -> None:
    """A full or read-only disk is an OSError as a lost connection is, and no fault of the hub."""
    codes = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
    if isinstance(error, OSError) and error.errno in codes:
        raise ModelError(
            f"The model could not be stored ({error.strerror}); make room in the hub's cache "
            "folder, or set HF_HOME to another one."
        ) from error


def _wanted_files(hub_id: str, files: list[str]) -> list[str]:
    top = [name for name in files if "/" not in name]
    weights = [name for name in top if name.endswith(".safetensors")]
    if not weights:
        _refuse_without_safetensors(hub_id, top)
    return weights + [name for name in top if name.endswith(_TEXT_FILES)]


def load(
    folder: Path,
    device: torch.device,
    dtype: torch.dtype | None,
    progress: Progress = untold,
    *,
    is_causal: bool = True,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, list[str]]:
    """Read configuration, weights and tokenizer of a folder.

    Args:
        folder: a model in transformers' format.
        device: where the weights go.
        dtype: what they are stored in; None chooses.
        progress: told what happens.
        is_causal: whether a causal language model is wanted, or a masked diffusion model, which
            config.json marks by ``"is_causal": false``. The other kind is refused.

    Returns:
        Model, tokenizer, and sentences that a person should see.

    Raises:
        ModelError: a subclass that says what is wrong with the folder.
        OutOfMemoryError: the device cannot hold the weights.
    """
    progress("Reading configuration and tokenizer", 0, None)
    config = _read_config(folder)
    _refuse_the_other_kind(folder.name, config, is_causal)
    shards = _check_weights(folder)
    tokenizer = _read_tokenizer(folder)
    if dtype is None:
        dtype = _checkpoint_dtype(config, shards[0])
        if device.type == "cpu":
            dtype = cpu_dtype(dtype)
    transformers_logging.disable_progress_bar()
    size = sum(shard.stat().st_size for shard in shards)
    progress(f"Reading {size / 1e6:,.1f} MB of weights", 0, None)
    try:
        model, info = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            dtype=dtype,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are refused below, by name
        )
        model = model.to(device)
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise OutOfMemoryError(
            f"{device} has not enough memory for the weights of {folder.name}; use a smaller model "
            "or a smaller dtype."
        ) from error
    except (SafetensorError, RuntimeError, OSError) as error:
        raise WeightsError(
            f"The weights of {folder.name} do not fit its configuration ({_first_line(error)}); "
            "download the model again or check config.json."
        ) from error
    except Exception as error:  # an architecture's own way to object to its configuration
        raise NotAModelError(
            f"{folder.name} is no causal language model that transformers knows "
            f"({_first_line(error)}); choose a model made for text generation."
        ) from error
    unfit = sorted(info["mismatched_keys"], key=lambda entry: entry[0])
    if unfit:
        name, stored, wanted = unfit[0]
        shapes = [" x ".join(map(str, shape)) or "a number" for shape in (stored, wanted)]
        raise WeightsError(
            f"The weights of {folder.name} do not fit its configuration: {name} is {shapes[0]}, "
            f"and config.json asks for {shapes[1]}; download the model again or check config.json."
        )
    missing = sorted(info["missing_keys"])
    if missing:
        raise WeightsError(
            f"The weights of {folder.name} lack {len(missing)} tensors, for example {missing[0]}, "
            "which would stay random; download the model again."
        )
    notices = []
    unexpected = len(info["unexpected_keys"])
    if unexpected:
        notices.append(f"{unexpected} tensors in the weights are not used by this architecture.")
    return model, tokenizer, notices


def _read_config(folder: Path) -> PretrainedConfig:
    path = folder / "config.json"
    if not path.is_file():
        raise NotAModelError(
            f"{folder} holds no config.json, so it is no model in transformers' format; give the "
            "folder that holds config.json and *.safetensors."
        )
    try:
        declared = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise NotAModelError(
            f"The config.json of {folder.name} is no valid JSON ({_first_line(error)}); "
            "download the model again."
        ) from error
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except Exception as error:  # configuration classes check their values in ways of their own
        if isinstance(declared, dict) and "auto_map" in declared:
            raise RemoteCodeError(
                f"{folder.name} brings Python code of its own, which is not run; choose a model "
                "whose architecture is part of transformers."
            ) from error
        raise NotAModelError(
            f"The config.json of {folder.name} describes no model that transformers knows "
            f"({_first_line(error)}); check the file or choose another model."
        ) from error
    if config.is_encoder_decoder:
        raise NotAModelError(
            f"{folder.name} is an encoder-decoder model ({config.model_type}); choose a causal "
            "language model."
        )
    return config


def _refuse_the_other_kind(name: str, config: PretrainedConfig, is_causal: bool) -> None:
    """Run the wrong way, either kind of model would give fluent nonsense instead of an error."""
    kinds = {
        True: ("a causal language model", "load_model"),
        False: ("a masked diffusion model", "load_diffusion_model"),
    }
    found = bool(getattr(config, "is_causal", True))  # as transformers reads it
    if found is not is_causal:
        (wanted, _), (kind, loader) = kinds[is_causal], kinds[found]
        raise NotAModelError(f"{name} is {kind}, not {wanted}; open it with {loader}.")


def _check_weights(folder: Path) -> list[Path]:
    """The safetensors files, opened once each so that a damaged one is named."""
    shards = sorted(folder.glob("*.safetensors"))
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        try:
            names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
            outside = [name for name in names if Path(name).name != name]
            if outside:
                raise ValueError(f"{outside[0]!r} is not in this folder")
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
            raise WeightsError(
                f"{index.name} of {folder.name} cannot be used ({_first_line(error)}); download "
                "the model again."
            ) from error
        lost = sorted(name for name in names if not (folder / name).is_file())
        if lost:
            raise WeightsError(
                f"{folder.name} lacks {len(lost)} of {len(names)} weight files, for example "
                f"{lost[0]}; download the model again."
            )
    if not shards:
        _refuse_without_safetensors(folder.name, [path.name for path in folder.iterdir()])
    for shard in shards:
        try:
            with safe_open(shard, framework="pt") as opened:
                opened.keys()
        except (SafetensorError, OSError) as error:
            raise WeightsError(
                f"{shard.name} of {folder.name} is damaged or cut short ({_first_line(error)}); "
                "download the model again."
            ) from error
    return shards


def _refuse_without_safetensors(name: str, files: list[str]) -> None:
    pickles = sorted(file for file in files if file.endswith(_PICKLES))
    if pickles:
        raise UnsafeWeightsError(
            f"{name} has its weights only as a pickle ({pickles[0]}), which could run code when "
            "opened; convert it to safetensors or choose a model that has them."
        )
    raise WeightsError(
        f"{name} holds no weights (*.safetensors); download the whole model, not only its "
        "configuration."
    )


def _checkpoint_dtype(config: PretrainedConfig, shard: Path) -> torch.dtype:
    dtype = getattr(config, "dtype", None)
    if isinstance(dtype, torch.dtype):
        return dtype
    with safe_open(shard, framework="pt") as opened:
        for key in opened.keys():  # noqa: SIM118 - no mapping, keys() is all it has
            found = _SAFETENSORS_DTYPES.get(opened.get_slice(key).get_dtype())
            if found is not None:
                return found
    return torch.float32


def _read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True
        )
    except Exception as error:
        # Tokenizer classes fail in ways of their own: OSError, ValueError, KeyError, and bare
        # Exceptions from the tokenizers library.
        raise TokenizerError(
            f"{folder.name} has no tokenizer that can be read ({_first_line(error)}); add its "
            "tokenizer.json and tokenizer_config.json."
        ) from error
    if len(tokenizer) == 0:
        raise TokenizerError(
            f"The tokenizer of {folder.name} has no entries; add its tokenizer.json."
        )
    return tokenizer


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    line = lines[0].strip().rstrip(".:")
    return line if len(line) <= 160 else line[:157] + "..."
