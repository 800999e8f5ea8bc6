"""Find a folder's weight files, read their headers, and load them into a model.

Only headers are read until it is clear that the files fit the configuration. Tensors are then
copied one by one into this process' memory, on their device. A mapped file would kill the process
if it were truncated afterwards.
"""

from __future__ import annotations

import json
import math
import re
import struct
import threading
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from transformers import PreTrainedModel
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.modeling_utils import LoadStateDictConfig, str_to_torch_dtype

from engine.errors import UnsafeWeightsError, WeightsError
from engine.model.loading.files import GGUF, first_line, no_gguf, open_regular, read_json

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
_SHARD = re.compile(r"model-\d+-of-\d+\.safetensors")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_RUN_IN = (torch.float32, torch.bfloat16, torch.float16)
# Architectures of which transformers converts no weight, apart from renaming legacy ones.
UNCONVERTED = frozenset({"llama", "qwen3"})
# Most bytes of tables that a model computes (rotations, masks) and that no weight file contains.
_MOST_COMPUTED_BYTES = 1_000_000_000
# Most bytes of a file's header, whose parsing blocks this process' other threads for 0.2 s. That is
# enough for 30,000 tensors in a file.
_MOST_HEADER_BYTES = 4_000_000


class Weights:
    """The weight files of a folder, with their headers read.

    Attributes:
        name: the folder's name.
        files: the files that transformers would load, in order.
        shapes: shape of each stored tensor, by its name in the files.
        numbers: count of the numbers in all files.
        bytes: size of the files.
        dtype: the dtype of the first floating-point tensor; float32 if there is none.
    """

    def __init__(self, folder: Path) -> None:
        """Read the headers.

        Raises:
            WeightsError: a file is missing, damaged or truncated.
            UnsafeWeightsError: there are only pickled weights.
        """
        self.name = folder.name
        self.files = weight_files(folder)
        self._stored: dict[str, _Stored] = {}
        for file in self.files:
            self._stored |= _stored_in(file, self.name)
        self.shapes = {key: stored.shape for key, stored in self._stored.items()}
        self.numbers = sum(math.prod(shape) for shape in self.shapes.values())
        self.bytes = sum(file.stat().st_size for file in self.files)
        found = (stored.dtype for stored in self._stored.values())
        self.dtype = next((dtype for dtype in found if dtype in _RUN_IN), torch.float32)

    def check_fit(self, model: PreTrainedModel) -> None:
        """Refuse a model that needs more numbers than the files contain, before any is allocated.

        Args:
            model: the model on PyTorch's meta device, which has shapes and no data.

        Raises:
            WeightsError: it needs more, or it computes tables larger than any in use.
        """
        stored = set(model.state_dict())
        computed = sum(b.nbytes for name, b in model.named_buffers() if name not in stored)
        if computed > _MOST_COMPUTED_BYTES:
            raise WeightsError(
                "The configuration of {name} asks for {computed:,.0f} GB of computed "
                "tables; check max_position_embeddings in its config.json.",
                (self.name, computed / 1e9),
            )
        needed = sum(weight.numel() for weight in model.parameters())  # tied ones once
        # A small shortage is left to the loading itself, which reports tensors by name.
        if needed <= 1.25 * self.numbers + 1_000_000:
            return
        for name, weight in model.state_dict().items():
            found = self.shapes.get(name)
            if found is not None and found != tuple(weight.shape):
                raise unfit(self.name, name, found, weight.shape)
        raise WeightsError(
            "The weights of {name} do not fit its configuration: the files contain "
            "{numbers:,} numbers, and config.json asks for {needed:,}; download the model "
            "again or check config.json.",
            (self.name, self.numbers, needed),
        )

    def fill(self, model: PreTrainedModel, device: torch.device, dtype: torch.dtype) -> dict:
        """Load the weights into a model on the meta device, each straight onto `device`.

        `from_pretrained` does the same in the same order, but maps the files, and needs the
        accelerate package for devices other than the CPU.

        Returns:
            transformers' report: missing, unexpected and mismatched names.
        """
        # Listing all architectures' conversions takes longer than loading a small model.
        has_own_names = self._stored.keys() <= model.state_dict().keys()
        is_read_as_stored = has_own_names and model.config.model_type in UNCONVERTED
        config = LoadStateDictConfig(
            pretrained_model_name_or_path=self.name,
            ignore_mismatched_sizes=True,  # they are refused by name, with what was loaded
            device_map={"": device},
            dtype=dtype,
            dtype_plan=model._get_dtype_plan(dtype),
            weight_mapping=(
                [] if is_read_as_stored else get_model_conversion_mapping(model, None, None)
            ),
        )
        info, _ = model._load_pretrained_model(model, self._stored, None, config)
        return model._finalize_model_loading(model, config, info).to_dict()


class _Stored:
    """A tensor in a file, which transformers reads by ``[...]`` when it needs it."""

    def __init__(
        self, file: _WeightFile, start: int, shape: Sequence[int], dtype: torch.dtype | None
    ) -> None:
        self._file = file
        self._start = start
        self.shape = tuple(shape)
        self.dtype = dtype

    def __getitem__(self, index) -> torch.Tensor:
        if self.dtype is None:
            raise OSError(f"{self._file.name} holds numbers of a kind that PyTorch does not have")
        # Read into PyTorch's memory: safetensors would briefly need a second copy, and its memory
        # is aligned by chance, which sums may depend on.
        tensor = torch.empty(self.shape, dtype=self.dtype, device="cpu")
        if tensor.numel():
            self._file.read_into(memoryview(tensor.view(-1).view(torch.uint8).numpy()), self._start)
        return tensor[index]


class _WeightFile:
    """An open weight file, read by several threads."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._file = open_regular(path)
        self._lock = threading.Lock()
        (size,) = struct.unpack("<Q", self._file.read(8))
        self.data = 8 + size  # where the tensors begin
        if size > _MOST_HEADER_BYTES and self.data <= path.stat().st_size:
            raise WeightsError(
                "The header of {file} in {name} is {size:,.1f} MB, and at most {most:,.0f} "
                "MB is read; split the model into more files.",
                (path.name, path.parent.name, size / 1e6, _MOST_HEADER_BYTES / 1e6),
            )

    @cached_property
    def header(self) -> dict[str, dict]:
        """The header's entry for each tensor; read only after safetensors has checked it."""
        self._file.seek(8)
        return json.loads(self._file.read(self.data - 8))

    def read_into(self, memory: memoryview, start: int) -> None:
        """Fill `memory` with the data that begins `start` bytes after the header."""
        done = 0
        with self._lock:
            self._file.seek(self.data + start)
            while done < len(memory):
                read = self._file.readinto(memory[done:])
                if not read:
                    raise OSError(f"{self.name} became shorter while it was read")
                done += read


def unfit(folder: str, tensor: str, stored: Iterable[int], wanted: Iterable[int]) -> WeightsError:
    """Return the error for a tensor whose shape differs from the configuration's."""
    shapes = [" x ".join(map(str, shape)) or "a number" for shape in (stored, wanted)]
    return WeightsError(
        "The weights of {folder} do not fit its configuration: {tensor} is {shapes}, "
        "and config.json asks for {shapes2}; download the model again or check config.json.",
        (folder, tensor, shapes[0], shapes[1]),
    )


def wanted_weights(name: str, files: Iterable[str]) -> list[str]:
    """Return the files of a repository that contain the weights that transformers loads.

    Repositories may contain the same weights twice, the second time under the authors' own names.

    Raises:
        WeightsError: there are none.
        UnsafeWeightsError: there are only pickled weights.
    """
    files = list(files)
    if WEIGHTS in files:
        return [WEIGHTS]
    shards = sorted(file for file in files if _SHARD.fullmatch(file))
    if INDEX in files and shards:
        return shards
    raise _nothing_to_load(name, files)


def _nothing_to_load(name: str, files: Iterable[str]) -> WeightsError | UnsafeWeightsError:
    others = sorted(file for file in files if file.endswith(".safetensors"))
    if others:
        return WeightsError(
            "{name} has weights only as {others}, which transformers does not load; "
            "choose a model with {weights}, or with several files and their index.",
            (name, others[0][:80], WEIGHTS),
        )
    pickles = sorted(file for file in files if file.endswith(_PICKLES))
    if pickles:
        return UnsafeWeightsError(
            "{name} has its weights only as a pickle ({pickles}), which could run code when "
            "opened; convert it to safetensors or choose a model that has them.",
            (name, pickles[0]),
        )
    if any(file.endswith(GGUF) for file in files):
        return WeightsError(no_gguf(name))
    return WeightsError(
        "{name} contains no weights (*.safetensors); download the whole model, not only its "
        "configuration.",
        name,
    )


def weight_files(folder: Path) -> list[Path]:
    """Return the files that transformers would load; an index is checked even if not needed.

    Raises:
        WeightsError: a file is missing.
        UnsafeWeightsError: there are only pickled weights.
    """
    names = _indexed(folder)
    single = folder / WEIGHTS
    if single.exists():
        return [single]
    if not names:
        raise _nothing_to_load(folder.name, [path.name for path in folder.iterdir()])
    lost = [name for name in names if not (folder / name).is_file()]
    if lost:
        raise WeightsError(
            "{name} lacks {lost} of {names} weight files, for example "
            "{lost2}; download the model again.",
            (folder.name, len(lost), len(names), lost[0]),
        )
    return [folder / name for name in names]


def _indexed(folder: Path) -> list[str]:
    index = folder / INDEX
    if not index.is_file():
        return []
    try:
        names = set(read_json(index)["weight_map"].values())
        outside = [name for name in names if Path(name).name != name]
        if outside:
            raise ValueError(f"{outside[0]!r} is not in this folder")
        others = [name for name in names if not name.endswith(".safetensors")]
        if others:
            raise ValueError(f"{others[0]!r} is not a safetensors file")
    except (ValueError, KeyError, AttributeError, TypeError, OSError) as error:
        raise WeightsError(
            "{name} of {name2} cannot be used ({error}); download the model again.",
            (index.name, folder.name, first_line(error)),
        ) from error
    return sorted(names)


def _stored_in(path: Path, name: str) -> dict[str, _Stored]:
    """Return the tensors of one file by name; safetensors checks its header."""
    stored = {}
    try:
        file = _WeightFile(path)
        # This checks that header and size agree. "pread": the default would map the file.
        checked = safe_open(path, framework="pt", backend="pread")
        for key in checked.keys():  # noqa: SIM118 - no mapping, keys() is all it has
            part = checked.get_slice(key)
            start, _ = file.header[key]["data_offsets"]
            dtype = str_to_torch_dtype.get(part.get_dtype())
            stored[key] = _Stored(file, start, part.get_shape(), dtype)
    except (SafetensorError, OSError, ValueError, KeyError, struct.error) as error:
        raise WeightsError(
            "{name} of {name2} is damaged or cut short ({error}); download the model again.",
            (path.name, name, first_line(error)),
        ) from error
    return stored
