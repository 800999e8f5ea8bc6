"""Sources of a configuration: a name, a folder, the hub's cache, a pasted text.

A configuration from outside is not trusted. It may name only architectures of transformers, and no
code that comes with it is run. Its numbers are bounded before anything is built from them.
"""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import try_to_load_from_cache
from huggingface_hub.errors import HFValidationError
from transformers import PretrainedConfig

from engine.calculator.shapes import known_shapes
from engine.errors import ModelError, ModelNotFoundError, NotAModelError, msg
from engine.model.loading.configuration import check_repeats, make_config, numbers, read_declared
from engine.model.loading.files import MAX_JSON_BYTES

_MOST_LAYERS = 256  # the deepest models in use have about half as many
_MOST = 2**24  # of any other size: above every vocabulary and context in use
_LAYERS = re.compile(r"(^|_)(n_layer|layers|blocks|stages|depths?)$", re.IGNORECASE)
_LAYER_COUNTS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_NO_SIZE = re.compile(r"(_id|_ids|_token|theta|_idx|_index|size_in_bytes)$", re.IGNORECASE)


@dataclass(frozen=True)
class Described:
    """A model described by its configuration alone.

    Attributes:
        name: display name.
        source: where its fields were read.
        config: the configuration that transformers makes from its fields.
        notices: remarks to show to the visitor.
    """

    name: str
    source: str
    config: PretrainedConfig
    notices: tuple[str, ...] = ()

    @staticmethod
    def named(name: str) -> Described:
        """Describe a well-known model; see `known_shapes`.

        Raises:
            ModelNotFoundError: there is no model of this name.
        """
        shape = known_shapes().get(name)
        if shape is None:
            raise ModelNotFoundError(
                "There is no shape named {name}; choose one of {value}.",
                (repr(name), ", ".join(known_shapes())),
            )
        return _described(name, shape.cited, shape.declared)

    @staticmethod
    def in_folder(folder: str | Path) -> Described:
        """Describe the model in a folder by its config.json.

        Raises:
            ModelNotFoundError: there is no such folder.
            NotAModelError: the folder does not contain a usable config.json.
        """
        path = Path(folder).expanduser()
        if not str(folder).strip() or not path.is_dir():
            raise ModelNotFoundError(
                "There is no folder {folder}; type the path of a folder that contains config.json.",
                repr(str(folder)),
            )
        return _described(path.name, "config.json of the folder", read_declared(path))

    @staticmethod
    def in_hub_cache(hub_id: str, revision: str | None = None) -> Described:
        """Describe the model in a cached hub repository; nothing is downloaded.

        Raises:
            ModelNotFoundError: it is not in the cache.
        """
        try:
            found = try_to_load_from_cache(hub_id, "config.json", revision=revision)
        except HFValidationError:
            found = None
        if not isinstance(found, str):
            raise ModelNotFoundError(
                "The configuration of {hub_id} is not in the hub's cache on this computer; open "
                "the model once, or paste its config.json.",
                repr(hub_id),
            )
        return _described(hub_id, f"config.json of {hub_id}", read_declared(Path(found).parent))

    @staticmethod
    def pasted(text: str) -> Described:
        """Describe a model by a config.json that was typed or pasted.

        Raises:
            NotAModelError: it is not JSON, is too large, or does not describe a model.
        """
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent, "the pasted text")
            folder.mkdir()
            data = text.encode("utf-8", "replace")
            if len(data) > MAX_JSON_BYTES["config.json"]:
                raise NotAModelError(
                    "The pasted text is {data:,.1f} MB, and at most {max_json_bytes:,.0f} MB "
                    "is read; paste one config.json.",
                    (len(data) / 1e6, MAX_JSON_BYTES["config.json"] / 1e6),
                )
            (folder / "config.json").write_bytes(data)
            try:
                declared = read_declared(folder)
            except NotAModelError as error:
                raise NotAModelError(
                    "The pasted text is not valid JSON ({cause}); paste all of one "
                    "config.json, from its first brace to its last.",
                    error.__cause__,
                ) from error
        return _described(msg("Pasted configuration"), "the pasted config.json", declared)


def _described(name: str, source: str, declared: object) -> Described:
    if not isinstance(declared, dict) or not isinstance(declared.get("model_type"), str):
        raise NotAModelError(
            "The configuration of {name} has no model_type, so it is not that of a model; "
            "use the config.json of a model in transformers' format.",
            name,
        )
    check_repeats(name, declared)
    _check_sizes(name, declared)
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent, name.replace("/", " ")[:100])
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(declared), "utf-8")
        try:
            config, notices = make_config(folder, declared)
        except ModelError as error:  # it has the model's name from the folder, as plain text
            said = error.message
            values = tuple(name if value == name else value for value in said.values.values())
            raise type(error)(said.template, values) from error
    return Described(name, source, config, tuple(notices))


def _check_sizes(name: str, declared: object) -> None:
    """Refuse a model that would take minutes or gigabytes to build, even without weights."""
    for key, value in numbers(declared):
        most = _MOST_LAYERS if _LAYERS.search(key) else _MOST
        if key in _LAYER_COUNTS and value < 1:
            raise NotAModelError(
                "The configuration of {name} cannot be used: {key} is {value:,.0f}, and a model "
                "has at least 1 layer; check config.json.",
                (name, key, value),
            )
        if value > most and not _NO_SIZE.search(key):
            raise NotAModelError(
                "The configuration of {name} cannot be used: {key} is {value:,.0f}, and at "
                "most {most:,} is allowed; check config.json.",
                (name, key, value, most),
            )
