"""Load a model by name: bundled, a folder, or a hub id; `loading` has the steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch

from engine.errors import DecodingError, NotAModelError, OutOfMemoryError, SettingError, msg
from engine.model.diffusion_model import DiffusionModel
from engine.model.kernels import Kernels
from engine.model.language_model import LanguageModel
from engine.model.loaded import is_out_of_memory
from engine.model.loading import checkpoint, offered
from engine.model.loading.checkpoint import BUNDLED, BUNDLED_DRAFT
from engine.model.loading.memory import make_room

_Loaded = TypeVar("_Loaded")


def load_model(
    source: str | Path = BUNDLED,
    *,
    device: str = "auto",
    dtype: str | torch.dtype = "auto",
    revision: str | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
    kernels: Kernels | None = None,
    local_files_only: bool = False,
) -> LanguageModel:
    """Load a causal language model.

    Only safetensors weights are read, and no code that comes with a model is run.

    Args:
        source: ``"bundled"``, its draft ``"bundled-draft"``, a local folder in transformers'
            format, a GGUF file, a name from `offered.toml` such as ``"smollm2"``, or a hub id.
        device: ``"auto"`` (a GPU if there is one), ``"cpu"``, ``"cuda"``, ``"cuda:1"``,
            ``"mps"``.
        dtype: ``"auto"`` (the checkpoint's, or float32 if a CPU is faster with it),
            ``"float32"``, ``"bfloat16"`` or ``"float16"``.
        revision: commit, tag or branch of a hub repository.
        progress: receives the activity, the amount done and the total (None: unknown), in bytes for
            a download. An exception that it raises ends the loading and propagates.
        kernels: those that a trace names, to reproduce its text on a different CPU; None for the
            usual ones of this CPU.
        local_files_only: whether to use only files on this machine.

    Raises:
        ModelError: one subclass for each way it can fail (see `engine.errors`).
        SettingError: an unknown device or dtype.
    """
    kind = partial(LanguageModel, kernels=kernels)
    return _load(
        kind,
        source,
        device,
        dtype,
        revision,
        progress,
        is_causal=True,
        local_files_only=local_files_only,
    )


def load_diffusion_model(
    source: str | Path = BUNDLED,
    *,
    device: str = "auto",
    dtype: str | torch.dtype = "auto",
    revision: str | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
    kernels: Kernels | None = None,
) -> DiffusionModel:
    """Load a masked diffusion model: one whose config.json has ``"is_causal": false``.

    Arguments, safety and errors are those of `engine.model.load_model`; ``"bundled"`` is the
    bundled diffusion model.

    Raises:
        ModelError: one subclass for each way it can fail; `NotAModelError` for a causal model.
        SettingError: an unknown device or dtype.
    """
    kind = partial(DiffusionModel, kernels=kernels)
    return _load(kind, source, device, dtype, revision, progress, is_causal=False)


def _load(
    kind: Callable[..., _Loaded],
    source: str | Path,
    device: str,
    dtype: str | torch.dtype,
    revision: str | None,
    progress: Callable[[str, int, int | None], None] | None,
    *,
    is_causal: bool,
    local_files_only: bool = False,
) -> _Loaded:
    """Load a model of any kind; the arguments and the errors are those of `load_model`.

    If memory does not suffice, unused memory is released and loading is retried once.

    Args:
        kind: makes the result from the transformers model and tokenizer; accepts `name`, `source`,
            `revision` and `notices` by keyword, as `LanguageModel` does.
        is_causal: whether the result is a causal language model or a masked diffusion model.
    """
    place = _device(device)
    wanted = _dtype(dtype)
    progress = progress or checkpoint.untold
    located = checkpoint.locate(
        source, revision, progress, is_causal=is_causal, local_files_only=local_files_only
    )
    once = partial(_loaded, kind, source, located, place, wanted, progress, is_causal=is_causal)
    try:
        return once()
    except OutOfMemoryError:
        if not make_room(place):
            raise
    return once()  # out here: the error would keep alive what the first try allocated


def _loaded(
    kind: Callable[..., _Loaded],
    source: str | Path,
    located: checkpoint.Located,
    place: torch.device,
    wanted: torch.dtype | None,
    progress: Callable[[str, int, int | None], None],
    *,
    is_causal: bool,
) -> _Loaded:
    hf, tokenizer, notices = checkpoint.load(
        located.folder, place, wanted, progress, is_causal=is_causal
    )
    progress(msg("Trying the model out"), 0, None)
    is_named = str(source) in (BUNDLED, BUNDLED_DRAFT) or offered.is_offered(str(source))
    path = Path(source).expanduser()
    name = str(source)
    if path.is_file() and not is_named:
        name = path.name
    elif path.is_dir() and not is_named:
        name = located.folder.resolve().name
    try:
        return kind(
            hf,
            tokenizer,
            name=name,
            quantisation=located.quantisation,
            source=str(source),
            revision=located.commit,
            notices=(*located.notices, *notices),
        )
    except Exception as error:  # its first forward pass
        if not is_out_of_memory(error) and not isinstance(error, OutOfMemoryError):
            if isinstance(error, DecodingError):
                raise
            raise NotAModelError(
                "{name} loads but cannot be run ({error}); check its config.json "
                "or choose another model.",
                (located.folder.name, error),
            ) from error
    # Raised here, without a cause and without the model: they would stay as long as the error.
    del hf, tokenizer
    raise OutOfMemoryError(
        "{place} does not have enough memory to run {name}; use a smaller model or a smaller "
        "dtype.",
        (place, located.folder.name),
    )


def _device(device: str) -> torch.device:
    available = ["cpu"]
    if torch.cuda.is_available():
        available += ["cuda", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        available.append("mps")
    if str(device) == "auto":
        return torch.device("cuda" if "cuda" in available else available[-1])
    if str(device) not in available:
        remedy = msg("use auto or one of {available}", ", ".join(available))
        raise SettingError("device", str(device), "is not available on this machine", remedy)
    return torch.device(device)


def _dtype(dtype: str | torch.dtype) -> torch.dtype | None:
    known = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    name = str(dtype).removeprefix("torch.")
    if name == "auto":
        return None
    if name not in known:
        remedy = msg("use auto or one of {known}", ", ".join(known))
        raise SettingError("dtype", name, "is not a dtype that models can run in", remedy)
    return known[name]
