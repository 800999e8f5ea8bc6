"""Find a checkpoint and read it, with a separate error for each way in which that can fail.

A hub repository is first fetched into the hub's own cache: weights in safetensors, configuration
and tokenizer, nothing else. So the same code reads local folders and repositories.
"""

from __future__ import annotations

import errno
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
    IncompleteSnapshotError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import tqdm
from safetensors import SafetensorError
from transformers import (
    AutoModelForCausalLM,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as transformers_logging

from engine.errors import (
    DecodingError,
    ModelError,
    ModelNotFoundError,
    NotAModelError,
    OutOfMemoryError,
    SettingError,
    WeightsError,
    msg,
)
from engine.model.chat_template import has_chat_template
from engine.model.chat_template import prepare as prepare_templates
from engine.model.kernels import cpu_dtype
from engine.model.loaded import is_out_of_memory
from engine.model.loading import gguf, offered
from engine.model.loading.configuration import (
    check_layers,
    generation_config,
    make_config,
    read_declared,
)
from engine.model.loading.files import (
    BUNDLED_DIFFUSION_FOLDER,
    BUNDLED_DRAFT_FOLDER,
    BUNDLED_FOLDER,
    TEXT_FILES,
    check_folder,
    first_line,
    other_format,
)
from engine.model.loading.memory import free_bytes
from engine.model.loading.tokenizer_files import read_tokenizer
from engine.model.loading.weights import Weights, unfit, wanted_weights, weight_files

BUNDLED, BUNDLED_DRAFT = "bundled", "bundled-draft"

_HUB_ID = re.compile(r"[\w][\w.\-]*(/[\w][\w.\-]*)?")
_REFUSED = (GatedRepoError, RevisionNotFoundError, RepositoryNotFoundError)
_UNREACHABLE = (HTTPError, OSError)  # the client's errors, and those of the network underneath


# Receives the activity, the amount done and the total (None: unknown), in bytes for a download. An
# exception that it raises ends the loading and propagates.
Progress = Callable[[str, int, int | None], None]


def untold(what: str, done: int, total: int | None) -> None:
    """Ignore the progress; the default `Progress`."""


@dataclass(frozen=True)
class Located:
    """Location of a model on this machine.

    Attributes:
        folder: the folder with configuration, weights and tokenizer.
        commit: the hub repository's commit, None for local models.
        notices: sentences that a person should see.
        quantisation: that of the GGUF file which the folder is a copy of; else empty.
    """

    folder: Path
    commit: str | None = None
    notices: tuple[str, ...] = ()
    quantisation: str = ""


def locate(
    source: str | Path,
    revision: str | None,
    progress: Progress = untold,
    *,
    is_causal: bool = True,
    with_weights: bool = True,
    local_files_only: bool = False,
) -> Located:
    """Return the folder of a model, downloaded first if the source is a hub id.

    `is_causal` decides which of the bundled models ``bundled`` is: the language model, or the
    masked diffusion model. ``bundled-draft`` is the language model's draft. Without weights, only
    the files of configuration and tokenizer are downloaded; with local files only, nothing is.

    Raises:
        ModelNotFoundError: neither a folder nor a repository that can be reached.
        SettingError: a revision for a source without revisions.
    """
    text = _expanded(source)
    if offered.is_offered(text):
        text = str(offered.fetched(text, progress, local_files_only=local_files_only))
    is_file = _is_file(text)
    is_folder = text in (BUNDLED, BUNDLED_DRAFT) or _is_folder(text) or is_file
    if is_folder and revision is not None:
        remedy = msg("leave it out for local models")
        raise SettingError("revision", revision, "applies to hub ids only", remedy)
    if text == BUNDLED_DRAFT:
        return Located(BUNDLED_DRAFT_FOLDER)
    if text == BUNDLED:
        return Located(BUNDLED_FOLDER if is_causal else BUNDLED_DIFFUSION_FOLDER)
    if is_file and gguf.is_gguf(Path(text)):
        folder = gguf.copy_of(Path(text), progress)
        return Located(folder, quantisation=gguf.quantisation_of(folder))
    if is_file:
        raise NotAModelError(
            other_format(Path(text))
            or msg(
                "{text} is a file; give the folder that contains config.json and the weights.", text
            )
        )
    if is_folder:
        return Located(Path(text))
    if not _HUB_ID.fullmatch(text):
        raise ModelNotFoundError(
            "There is no folder {text}, and it is not a hub id; give an existing folder, or an "
            "id such as owner/name.",
            repr(text),
        )
    return _fetch(text, revision, progress, with_weights, local_files_only)


def is_here(source: str, revision: str | None = None) -> bool:
    """Return whether a model needs no download: bundled, a folder or GGUF file, or fetched."""
    if source in (BUNDLED, BUNDLED_DRAFT) or _is_folder(_expanded(source)):
        return True
    if offered.is_offered(source):
        return offered.is_fetched(source)
    if gguf.is_gguf(Path(source)):
        return _is_file(_expanded(source))
    if not _HUB_ID.fullmatch(source):
        return False
    try:
        config = try_to_load_from_cache(source, "config.json", revision=revision)
        return isinstance(config, str) and bool(weight_files(Path(config).parent))
    except (HFValidationError, ModelError):
        return False


def _expanded(source: str | Path) -> str:
    return str(Path(source).expanduser()) if str(source).startswith("~") else str(source)


def _is_folder(text: str) -> bool:
    try:
        return bool(text) and Path(text).is_dir()  # Path("") would be the current folder
    except OSError:  # longer than any file name
        return False


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # longer than any file name, or with a null character
        return False


def _fetch(
    hub_id: str,
    revision: str | None,
    progress: Progress,
    with_weights: bool,
    local_files_only: bool,
) -> Located:
    """Download the files that loading needs; without a connection, use an earlier copy."""
    asked = msg("{hub_id} at revision {revision}", (hub_id, revision)) if revision else hub_id
    notices: tuple[str, ...] = ()
    try:
        if local_files_only:
            folder = _copy(hub_id, revision)
            return Located(folder, folder.name)
        try:
            # One plain request: listing files would retry for 20 seconds without a connection.
            progress(msg("Asking the hub for {hub_id}", hub_id), 0, None)
            info = HfApi().model_info(hub_id, revision=revision, timeout=10, files_metadata=True)
            sizes = {file.rfilename: getattr(file, "size", None) for file in info.siblings or ()}
            wanted = _wanted_files(hub_id, list(sizes), with_weights)
            bars = _bars(hub_id, info.sha, {name: sizes[name] for name in wanted}, progress)
            folder = Path(
                snapshot_download(hub_id, revision=info.sha, allow_patterns=wanted, **bars)
            )
        except _REFUSED:
            raise
        except _UNREACHABLE as error:
            _refuse_local_failure(error)
            folder = _copy(hub_id, revision)
            notices = (
                msg(
                    "The hub is out of reach: this is the copy of {hub_id} fetched before.", hub_id
                ),
            )
    except GatedRepoError as error:
        raise ModelNotFoundError(
            "The hub repository {hub_id} asks for permission first; request access on its page "
            "and log in with `hf auth login`.",
            hub_id,
        ) from error
    except RevisionNotFoundError as error:
        raise ModelNotFoundError(
            "The hub repository {hub_id} has no revision {revision}; check its branches and tags.",
            (hub_id, revision),
        ) from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise ModelNotFoundError(
            "There is neither a folder nor a hub repository named {hub_id}; check the spelling, "
            "or log in with `hf auth login` if it is private.",
            hub_id,
        ) from error
    except _UNREACHABLE as error:
        raise ModelNotFoundError(
            "There is no folder {hub_id}, and the hub could not be reached to look for {asked}"
            "; check the connection, or give a folder that contains the model.",
            (repr(hub_id), asked),
        ) from error
    return Located(folder, folder.name, notices)


def _copy(hub_id: str, revision: str | None) -> Path:
    """Return the copy in the hub's cache, which lacks the files that loading does not need."""
    try:
        return Path(snapshot_download(hub_id, revision=revision, local_files_only=True))
    except IncompleteSnapshotError as error:
        return Path(error.snapshot_path)


def _bars(
    hub_id: str, commit: str, sizes: dict[str, int | None], progress: Progress
) -> dict[str, type[tqdm]]:
    """Return the option by which a download reports to `progress`; none for `untold`."""
    if progress is untold:
        return {}
    total = sum(
        size or 0
        for name, size in sizes.items()
        if not isinstance(try_to_load_from_cache(hub_id, name, revision=commit), str)
    )
    return {"tqdm_class": _byte_counter(msg("Downloading {hub_id}", hub_id), total, progress)}


def _byte_counter(what: str, total: int, progress: Progress) -> type[tqdm]:
    """Return a progress-bar class for the hub's client that draws nothing and calls `progress`.

    The client makes several bars for one download: bytes received, bytes on the disk, files.
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
    """Raise `ModelError` for an OSError of a full or read-only disk, not of a lost connection."""
    codes = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
    if isinstance(error, OSError) and error.errno in codes:
        raise ModelError(
            "The model could not be stored ({strerror}); make room in the hub's cache "
            "folder, or set HF_HOME to another one.",
            error.strerror,
        ) from error


def _wanted_files(hub_id: str, files: list[str], with_weights: bool) -> list[str]:
    top = [name for name in files if "/" not in name]
    weights = wanted_weights(hub_id, top) if with_weights else []
    return weights + [name for name in top if name.endswith(TEXT_FILES)]


def load(
    folder: Path,
    device: torch.device,
    dtype: torch.dtype | None,
    progress: Progress = untold,
    *,
    is_causal: bool = True,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, list[str]]:
    """Read the configuration, weights and tokenizer from a folder.

    Args:
        folder: a model in transformers' format.
        device: where the weights go.
        dtype: dtype of the weights; None to choose one.
        progress: receives the activity.
        is_causal: whether to load a causal language model or a masked diffusion model, which
            config.json marks with ``"is_causal": false``. The other kind is refused.

    Returns:
        Model, tokenizer, and sentences that a person should see.

    Raises:
        ModelError: a subclass that says what is wrong with the folder.
        OutOfMemoryError: the device cannot hold the weights.
    """
    progress(msg("Reading configuration and tokenizer"), 0, None)
    problem = None
    try:
        return _load(folder, device, dtype, progress, is_causal)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        problem = msg(
            "{device} does not have enough memory for {name}; use a smaller model or a "
            "smaller dtype.",
            (device, folder.name),
        )
    # Raised here, without a cause: a cause would keep alive what was loaded so far.
    raise OutOfMemoryError(problem)


def _load(
    folder: Path,
    device: torch.device,
    dtype: torch.dtype | None,
    progress: Progress,
    is_causal: bool,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, list[str]]:
    check_folder(folder)
    declared = read_declared(folder)
    # The cheapest refusals first: nothing is built before the headers of the weights are known.
    weights = Weights(folder)
    check_layers(folder.name, declared, len(weights.shapes))
    config, notices = make_config(folder, declared)
    _refuse_the_other_kind(folder.name, config, is_causal)
    if dtype is None:
        dtype = _stored_dtype(config, weights)
        if device.type == "cpu":
            dtype = cpu_dtype(dtype)
    empty = _empty_model(folder.name, config, dtype)
    generation = generation_config(folder) if empty.can_generate() else None
    is_quantized = getattr(empty.config, "quantization_config", None) is not None
    if not is_quantized:  # quantised weights have fewer numbers than their model
        weights.check_fit(empty)
    tokenizer = read_tokenizer(folder, most_ids=empty.get_input_embeddings().weight.shape[0])
    if has_chat_template(tokenizer):
        prepare_templates()
    _refuse_without_memory(folder.name, empty, device)
    progress(msg("Reading {bytes:,.1f} MB of weights", weights.bytes / 1e6), 0, None)
    transformers_logging.disable_progress_bar()
    try:
        if is_quantized:
            model, info = _load_quantized(folder, config, device, dtype)
        else:
            model, info = empty, weights.fill(empty, device, dtype)
            if generation is not None:
                model.generation_config = generation
    except (SafetensorError, RuntimeError, OSError) as error:
        if is_out_of_memory(error):
            raise
        raise WeightsError(
            "The weights of {name} do not fit its configuration ({error}); "
            "download the model again or check config.json.",
            (folder.name, first_line(error)),
        ) from error
    except (MemoryError, DecodingError):
        raise
    except Exception as error:  # quantisations and architectures raise errors of their own
        if is_quantized:
            raise _unread_quantisation(folder.name, empty.config, error) from error
        raise _no_language_model(folder.name, error) from error
    if (folder / "adapter_config.json").is_file():
        notices.append(
            msg("The adapter in this folder is not applied: these are the base weights.")
        )
    notices += _check_complete(folder.name, info)
    return model, tokenizer, notices


def _no_language_model(name: str, error: Exception) -> NotAModelError:
    return NotAModelError(
        "{name} is not a causal language model that transformers knows ({error}); choose a "
        "model made for text generation.",
        (name, first_line(error)),
    )


def _unread_quantisation(name: str, config: PretrainedConfig, error: Exception) -> WeightsError:
    declared = config.quantization_config
    of = declared.get("quant_method") if isinstance(declared, dict) else declared.quant_method
    return WeightsError(
        "The weights of {name} are quantised ({of}) and cannot be "
        "read here ({error}); install what that names, or choose 16-bit weights.",
        (name, str(getattr(of, "value", of))[:40], first_line(error)),
    )


def _stored_dtype(config: PretrainedConfig, weights: Weights) -> torch.dtype:
    dtype = getattr(config, "dtype", None)
    return dtype if isinstance(dtype, torch.dtype) else weights.dtype


def _empty_model(name: str, config: PretrainedConfig, dtype: torch.dtype) -> PreTrainedModel:
    """Return the model with shapes but without data, which takes almost no memory."""
    try:
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config, dtype=dtype, trust_remote_code=False)
        model.get_input_embeddings().weight.shape[0]
        return model.eval()
    except Exception as error:  # architectures raise errors of their own about a configuration
        if is_out_of_memory(error):
            raise
        raise _no_language_model(name, error) from error


def _refuse_without_memory(name: str, empty: PreTrainedModel, device: torch.device) -> None:
    tensors = (*empty.parameters(), *empty.buffers())
    needed, free = sum(tensor.nbytes for tensor in tensors), free_bytes(device)
    if free is not None and needed > free:
        raise OutOfMemoryError(
            "The weights of {name} take {needed:,.1f} GB, and {device} has "
            "{free:,.1f} GB free; use a smaller model or a smaller dtype.",
            (name, needed / 1e9, device, free / 1e9),
        )


def _load_quantized(
    folder: Path, config: PretrainedConfig, device: torch.device, dtype: torch.dtype
) -> tuple[PreTrainedModel, dict]:
    """Load quantised weights by `from_pretrained`: each kind has its own loader and package."""
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
    for weight in model.parameters():
        weight.data = weight.data.clone()  # no longer mapped from the file
    return model.to(device), info


def _check_complete(name: str, info: dict) -> list[str]:
    """Refuse weights that do not fill the model; returns a notice about unused ones."""
    mismatched = sorted(info["mismatched_keys"], key=lambda entry: entry[0])
    if mismatched:
        raise unfit(name, *mismatched[0])
    missing = sorted(info["missing_keys"])
    if missing:
        raise WeightsError(
            "The weights of {name} lack {missing} tensors, for example {missing2}, "
            "which would stay random; download the model again.",
            (name, len(missing), missing[0]),
        )
    unexpected = len(info["unexpected_keys"])
    if not unexpected:
        return []
    return [f"{unexpected} tensors in the weights are not used by this architecture."]


def _refuse_the_other_kind(name: str, config: PretrainedConfig, is_causal: bool) -> None:
    """Refuse the wrong kind of model, which would give fluent nonsense instead of an error."""
    kinds = {True: msg("a causal language model"), False: msg("a masked diffusion model")}
    found = bool(getattr(config, "is_causal", True))  # as transformers reads it
    if found is not is_causal:
        kind, wanted = kinds[found], kinds[is_causal]
        loader = "load_model" if found else "load_diffusion_model"
        raise NotAModelError(
            "{name} is {kind}, not {wanted}; open it with {loader}.", (name, kind, wanted, loader)
        )
