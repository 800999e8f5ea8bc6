"""Read config.json, check it against the weight files, and build a configuration from it.

A few bytes of config.json can ask for any amount of time and memory, even just to build the
configuration. So its numbers are compared with the weight files first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from transformers import AutoConfig, GenerationConfig, PretrainedConfig

from engine.errors import NotAModelError, RemoteCodeError, WeightsError, msg
from engine.model.loading.files import check_size, first_line, other_format, read_json

# Keys that give a number of layers; each layer has at least one tensor.
_LAYERS = re.compile(r"(^|_)(n_layer|layers|blocks|stages|depths?)$", re.IGNORECASE)
MOST_LAYERS = 10_000  # more than any model has; this many take a few seconds to build
_FEW_LAYERS = 512  # always allowed: some configurations name layers that they do not build
_REPEATS = re.compile(r"(heads?|experts|labels)$", re.IGNORECASE)
_MOST_REPEATS = 20_000  # some models have this many experts, none this many heads or labels
# Attention that is part of PyTorch. Other kinds are downloaded from the hub as compiled code.
_OWN_ATTENTION = (None, "sdpa", "eager")


def read_declared(folder: Path) -> object:
    """Return the contents of config.json, as plain values.

    Raises:
        NotAModelError: the file is missing, or it is not JSON.
    """
    path = folder / "config.json"
    if not path.is_file():
        raise NotAModelError(
            other_format(folder)
            or msg(
                "{folder} contains no config.json, so it is not a model in transformers' format; "
                "give the folder that contains config.json and *.safetensors.",
                folder,
            )
        )
    try:
        declared = read_json(path)
        check_size(declared)
    except (ValueError, OSError) as error:
        raise NotAModelError(
            "The config.json of {name} is not valid JSON ({error}); download the model again.",
            (folder.name, first_line(error)),
        ) from error
    return declared


def check_layers(name: str, declared: object, tensors: int) -> None:
    """Refuse more layers than the weight files can contain, and too many heads, experts or labels.

    Args:
        name: the folder's name.
        declared: contents of config.json.
        tensors: number of tensors in the weight files.

    Raises:
        WeightsError: config.json asks for more layers than there are tensors.
        NotAModelError: it asks for more heads, experts or labels than any model has.
    """
    check_repeats(name, declared)
    most = min(max(tensors, _FEW_LAYERS), MOST_LAYERS)
    for key, value in numbers(declared):
        if _LAYERS.search(key) and value > most:
            raise WeightsError(
                "The weights of {name} do not fit its configuration: {key} is {value:,}, and the "
                "weight files contain {tensors:,} tensors; download the model again or check "
                "config.json.",
                (name, key, value, tensors),
            )


def check_repeats(name: str, declared: object, most_layers: float = math.inf) -> None:
    """Refuse more heads, experts or labels than any model has; raises `NotAModelError`.

    `most_layers` limits the layers of a configuration without weights.
    """
    for key, value in numbers(declared):
        is_layers = _LAYERS.search(key) is not None
        most = most_layers if is_layers else _MOST_REPEATS
        if (is_layers or _REPEATS.search(key)) and value > most:
            raise NotAModelError(
                "The config.json of {name} cannot be used: {key} is {value:,}, and at most "
                "{most_repeats:,} is allowed; check the file or choose another model.",
                (name, key, value, most),
            )


def numbers(value: object, key: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number in a JSON value, as (key, number)."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from numbers(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner, key)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield key, value


def make_config(folder: Path, declared: object) -> tuple[PretrainedConfig, list[str]]:
    """Build a folder's configuration with transformers; returns it, and notices for the user.

    Raises:
        NotAModelError: transformers does not support the model, or it is of the wrong kind.
        RemoteCodeError: it needs Python code that comes with the model.
    """
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        notices = _use_own_attention(config)
        text = config.get_text_config(decoder=True)
    except MemoryError:
        raise
    except Exception as error:  # configuration classes check their values in their own ways
        if isinstance(declared, dict) and "auto_map" in declared:
            raise RemoteCodeError(
                "{name} comes with its own Python code, which is not run; choose a model "
                "whose architecture is part of transformers.",
                folder.name,
            ) from error
        raise NotAModelError(
            "The config.json of {name} describes no model that transformers knows "
            "({error}); check the file or choose another model.",
            (folder.name, first_line(error)),
        ) from error
    if not isinstance(text, PretrainedConfig):
        raise NotAModelError(
            "The config.json of {name} has a text_config, decoder or generator, which "
            "no {model_type} model has; check the file or choose another model.",
            (folder.name, config.model_type),
        )
    if config.is_encoder_decoder:
        raise NotAModelError(
            "{name} is an encoder-decoder model ({model_type}); choose a causal language model.",
            (folder.name, config.model_type),
        )
    return config, notices


def _use_own_attention(config: PretrainedConfig) -> list[str]:
    """Use PyTorch's attention, as any other would be downloaded; returns notices for the user."""
    named = [part._attn_implementation for part in _parts(config)]
    foreign = [str(name) for name in named if name not in _OWN_ATTENTION]
    if not foreign:
        return []
    for part in _parts(config):
        part._attn_implementation = None
    return [f"config.json asks for the attention of {foreign[0][:80]}; PyTorch's own is used."]


def _parts(config: PretrainedConfig) -> Iterator[PretrainedConfig]:
    yield config
    for name in config.sub_configs:
        part = getattr(config, name, None)
        if isinstance(part, PretrainedConfig):
            yield from _parts(part)


def generation_config(folder: Path) -> GenerationConfig:
    """Return the settings of `generate`, such as ends of text, as `from_pretrained` finds them.

    Raises:
        NotAModelError: generation_config.json is damaged.
    """
    if (folder / "generation_config.json").is_file():
        try:
            return GenerationConfig.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError, TypeError) as error:
            raise NotAModelError(
                "The generation_config.json of {name} cannot be used "
                "({error}); repair it, or remove it to do without its settings.",
                (folder.name, first_line(error)),
            ) from error
    return GenerationConfig.from_pretrained(
        folder, config_file_name="config.json", _from_model_config=True, local_files_only=True
    )
