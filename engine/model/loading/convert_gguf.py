"""Convert a GGUF file to a folder in transformers' format, in a process of its own.

    python -m engine.model.loading.convert_gguf FILE FOLDER

It writes a line of JSON for each stage, and one for a failure. Quantised weights are computed in
float32 and stored in bfloat16, those of an unquantised file in its own dtype.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import gguf
import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    PretrainedConfig,
)
from transformers import GgufConfig as Unpacked
from transformers.utils import logging as transformers_logging

from engine.errors import (
    DecodingError,
    NotAModelError,
    OutOfMemoryError,
    TokenizerError,
    WeightsError,
    msg,
)
from engine.model.loading.files import first_line
from engine.model.loading.gguf import ABOUT, parts_of
from engine.model.loading.memory import free_bytes

# transformers reads the file for configuration, tokenizer and weights, and makes a map of all names
# for each layer, which takes seconds each time.
gguf.GGUFReader = cache(gguf.GGUFReader)
gguf.get_tensor_name_map = cache(gguf.get_tensor_name_map)
_DTYPES = {"ALL_F32": torch.float32, "MOSTLY_F16": torch.float16}
# Parts of transformers' peak beyond the finished model, as measured: one tensor in float32, and
# what is imported.
_MORE_BYTES = 1_000_000_000
_END_KEYS = ("eos_token_id", "eot_token_id", "eom_token_id")
# The names of a file's sampling settings in transformers.
_SAMPLING = {
    "temp": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "penalty_repeat": "repetition_penalty",
}


def main(file: Path, folder: Path) -> int:
    """Convert a file; return the status of the process."""
    _limit_memory(free_bytes(torch.device("cpu")))
    try:
        for stage in convert(file, folder):
            print(json.dumps({"stage": stage}), flush=True)
    except DecodingError as error:
        said = error.message
        print(
            json.dumps({"failure": [type(error).__name__, said.template, [*said.values.values()]]})
        )
        return 1
    return 0


def convert(file: Path, folder: Path) -> Iterator[str]:
    """Convert a file; yield the name of each stage before it begins.

    Raises:
        NotAModelError, WeightsError, TokenizerError: what cannot be converted.
        OutOfMemoryError: there is too little memory or disk space.
    """
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    yield msg("Reading the GGUF file")
    reader = _read(file)
    kind = _kind(reader)
    dtype = _DTYPES.get(kind, torch.bfloat16)
    _check_room(file.name, sum(int(one.n_elements) for one in reader.tensors), dtype, folder)
    try:
        config = AutoConfig.from_pretrained(file.parent, gguf_file=file.name)
    except Exception as error:  # transformers has errors of several kinds for it
        raise _unknown(file.name, reader, error) from error
    _set_head_size(config, reader)
    yield msg("Converting the tokenizer")
    try:
        tokenizer = AutoTokenizer.from_pretrained(file.parent, config=config, gguf_file=file.name)
        if not tokenizer("A text of a few tokens")["input_ids"]:
            raise ValueError("it has no tokens for letters")
    except Exception as error:
        raise TokenizerError(
            "The tokenizer in {name} cannot be converted ({error}); use another file of this "
            "model, or its original folder.",
            (file.name, first_line(error)),
        ) from error
    yield msg("Converting the weights")
    try:
        model = AutoModelForCausalLM.from_pretrained(
            file.parent,
            config=config,
            gguf_file=file.name,
            dtype=dtype,
            quantization_config=Unpacked(dequantize=True),
        )
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise _too_large(file.name) from error
    except Exception as error:
        raise _unknown(file.name, reader, error) from error
    yield msg("Writing the copy")
    model.generation_config = _generation(reader, model.generation_config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    about = {"file": file.name, "quantisation": kind.removeprefix("MOSTLY_").removeprefix("ALL_")}
    (folder / ABOUT).write_text(json.dumps(about))


def _read(file: Path) -> gguf.GGUFReader:
    """Return the reader that transformers will use, with the tensors of all parts."""
    try:
        reader, *others = (gguf.GGUFReader(str(part)) for part in parts_of(file))
        for other in others:
            reader.tensors.extend(other.tensors)
        return reader
    except NotAModelError:
        raise
    except MemoryError as error:
        raise _too_large(file.name) from error
    except Exception as error:  # numpy's, of cut values and shapes
        raise WeightsError(
            "{name} is damaged or cut short ({error}); download it again.",
            (file.name, first_line(error)),
        ) from error


def _value(reader: gguf.GGUFReader, key: str) -> Any:
    field = reader.get_field(key)
    return None if field is None else field.contents()


def _kind(reader: gguf.GGUFReader) -> str:
    """Return the name of the file's quantisation."""
    number = _value(reader, gguf.Keys.General.FILE_TYPE)
    try:
        return gguf.LlamaFileType(number).name
    except ValueError:  # none, or a new one: that of most numbers
        counts: dict[str, int] = {}
        for tensor in reader.tensors:
            name = tensor.tensor_type.name
            counts[name] = counts.get(name, 0) + int(tensor.n_elements)
        most = max(counts, key=counts.__getitem__, default="F32")
        return {"F32": "ALL_F32"}.get(most, f"MOSTLY_{most}")


def _check_room(name: str, numbers: int, dtype: torch.dtype, folder: Path) -> None:
    """Refuse a model that memory or disk cannot hold."""
    bytes_ = numbers * dtype.itemsize
    free = free_bytes(torch.device("cpu"))
    if free is not None and bytes_ + _MORE_BYTES > free:
        raise OutOfMemoryError(
            "To convert {name} takes {needed:,.1f} GB of memory, and {free:,.1f} GB are free; use "
            "a smaller model.",
            (name, (bytes_ + _MORE_BYTES) / 1e9, free / 1e9),
        )
    left = shutil.disk_usage(folder.parent).free
    if 1.1 * bytes_ > left:
        raise OutOfMemoryError(
            "The converted copy of {name} takes {needed:,.1f} GB of disk space, and {free:,.1f} GB "
            "are free; make room, or name another folder by DECODING_DATA.",
            (name, bytes_ / 1e9, left / 1e9),
        )


def _limit_memory(free: int | None) -> None:
    """Let an allocation beyond the free memory fail, where the system allows it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    if free is not None and math.isfinite(free):
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        most = free if hard == resource.RLIM_INFINITY else min(free, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _set_head_size(config: PretrainedConfig, reader: gguf.GGUFReader) -> None:
    """Set the size of a head, which transformers leaves at its default for some architectures."""
    architecture = _value(reader, gguf.Keys.General.ARCHITECTURE)
    size = _value(reader, gguf.Keys.Attention.KEY_LENGTH.format(arch=architecture))
    if size is not None and getattr(config, "head_dim", None) is not None:
        config.head_dim = int(size)


def _generation(reader: gguf.GGUFReader, given: GenerationConfig) -> GenerationConfig:
    """Return settings of `generate`: the file's end tokens and its sampling settings."""
    ends = (_value(reader, f"tokenizer.ggml.{key}") for key in _END_KEYS)
    found = sorted({int(end) for end in ends if end is not None})
    if found:
        given.eos_token_id = found if len(found) > 1 else found[0]
    for key, name in _SAMPLING.items():
        value = _value(reader, f"general.sampling.{key}")
        if value is not None:
            setattr(given, name, value)
            given.do_sample = True
    return given


def _unknown(name: str, reader: gguf.GGUFReader, error: Exception) -> NotAModelError:
    architecture = str(_value(reader, gguf.Keys.General.ARCHITECTURE))[:40]
    kinds = sorted({tensor.tensor_type.name for tensor in reader.tensors})
    return NotAModelError(
        "{name} (architecture {architecture}, weights in {kinds}) cannot be converted ({error}); "
        "run it on a llama.cpp server, and choose that as the model.",
        (name, architecture, ", ".join(kinds), first_line(error)),
    )


def _too_large(name: str) -> OutOfMemoryError:
    return OutOfMemoryError("Memory ran out while {name} was converted; use a smaller model.", name)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
