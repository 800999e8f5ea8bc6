"""Storage types of weights and caches, and the scales that each is assumed to have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from transformers import PretrainedConfig

from engine.cache_formula import Storage
from engine.errors import msg

_HALF = Storage("16-bit", 16)
_BLOCK_128 = 128 * 128

CACHE_STORAGES = {
    storage.name: storage
    for storage in (
        Storage(msg("bfloat16 or float16"), 16, about=msg("16 bits per value")),
        Storage(msg("float32"), 32, about=msg("32 bits per value")),
        Storage(msg("fp8"), 8, about=msg("8 bits per value; the scale per tensor is not counted")),
        Storage(
            msg("int8, groups of 32"),
            8,
            32,
            16,
            msg("a 16-bit scale per 32 values: 8.5 bits per value"),
        ),
        Storage(
            msg("4-bit, groups of 32"),
            4,
            32,
            16,
            msg("a 16-bit scale per 32 values: 4.5 bits per value"),
        ),
    )
}


@dataclass(frozen=True)
class WeightStorage:
    """Storage types of a model's weights, by kind of parameter.

    Embedding and output tables, norms and biases are seldom quantised, so they are separate.

    Attributes:
        name: display name.
        matrices: storage of linear layers.
        experts: storage of routed experts.
        rest: storage of tables, norms and biases.
        about: the assumptions.
    """

    name: str
    matrices: Storage
    experts: Storage
    rest: Storage
    about: str


def _all(storage: Storage) -> WeightStorage:
    return WeightStorage(storage.name, storage, storage, storage, storage.about)


def _quantised(storage: Storage) -> WeightStorage:
    about = msg("{about}; tables, norms and biases in 16 bits", storage.about)
    return WeightStorage(storage.name, storage, storage, _HALF, about)


_MXFP4 = Storage("MXFP4", 4, 32, 8)

_HALF_WEIGHTS = msg("bfloat16 or float16")
AS_DECLARED = msg("as in config.json")
WEIGHT_STORAGES = {
    storage.name: storage
    for storage in (
        _all(Storage(_HALF_WEIGHTS, 16, about=msg("16 bits per weight"))),
        _all(Storage(msg("float32"), 32, about=msg("32 bits per weight"))),
        _quantised(
            Storage(msg("fp8"), 8, _BLOCK_128, 32, msg("a 32-bit scale for 128 x 128 weights"))
        ),
        _quantised(
            Storage(
                msg("int8"),
                8,
                128,
                16,
                msg("a 16-bit scale per 128 weights: 8.125 bits per weight"),
            )
        ),
        _quantised(
            Storage(
                msg("4-bit"),
                4,
                128,
                20,
                msg("a 16-bit scale and a 4-bit zero point per 128 weights: 4.16 bits per weight"),
            )
        ),
        _quantised(
            Storage(
                msg("3-bit"),
                3,
                128,
                19,
                msg("a 16-bit scale and a 3-bit zero point per 128 weights: 3.15 bits per weight"),
            )
        ),
        _quantised(
            Storage(
                msg("2-bit"),
                2,
                128,
                18,
                msg("a 16-bit scale and a 2-bit zero point per 128 weights: 2.14 bits per weight"),
            )
        ),
        WeightStorage(
            msg("experts in MXFP4"),
            _HALF,
            _MXFP4,
            _HALF,
            msg(
                "routed experts in 4.25 bits, with an 8-bit scale per 32 weights; all else "
                "in 16 bits"
            ),
        ),
    )
}


# By `quant_method`, for files that need not say the number of bits.
_BY_METHOD = {
    "mxfp4": "experts in MXFP4",
    "fp8": "fp8",
    "fbgemm_fp8": "fp8",
    "mxfp8": "fp8",
    "nvfp4": "4-bit",
    "awq": "4-bit",
    "gptq": "4-bit",
    "bitnet": "2-bit",
}
_BY_BITS = {2: "2-bit", 3: "3-bit", 4: "4-bit", 8: "int8"}
_COUNTS = ("bits", "nbits", "num_bits", "w_bit", "weight_bits")
_SWITCHES = {"load_in_4bit": 4, "load_in_8bit": 8}
# "int8_dynamic_activation_int4_weight" names both: the one for the weights is tried first.
_SPELLED = (r"(?:int|float|fp)_?(\d+)_?weight", r"(?:int|float|fp|\bw)_?(\d+)")
_NOT_WEIGHTS = re.compile(
    r"activation|kv_cache|compute|input_act|input_tensors|output_|modules|block|^group_size", re.I
)


def declared_storage(config: PretrainedConfig) -> tuple[str, tuple[str, ...]]:
    """Return the key of `WEIGHT_STORAGES` that a configuration declares, and remarks on it.

    The number of bits is read from `quantization_config`, whose fields differ by method. If it
    gives no number, or one that is not listed here, 16 bits are assumed, with a remark.
    """
    dtype = str(getattr(config, "dtype", "")).removeprefix("torch.")
    usual = "float32" if dtype == "float32" else _HALF_WEIGHTS
    quantised = getattr(config, "quantization_config", None)
    if not isinstance(quantised, dict):
        return usual, ()
    method = str(quantised.get("quant_method"))
    bits = _declared_bits(quantised)
    is_float = any(re.search(r"fp8|float", text, re.I) for _, text in _said(quantised, str))
    if bits is None or method == "mxfp4":
        storage = _BY_METHOD.get(method)
    else:
        storage = "fp8" if bits == 8 and is_float else _BY_BITS.get(bits)
    if storage is not None:
        return storage, ()
    return usual, (
        f"config.json names the quantisation {method[:80]!r} without a number of bits that is "
        "known here, so its weights count as 16 bits each; choose what they are stored in.",
    )


def _declared_bits(quantised: dict) -> int | None:
    """Return the bits per weight that a `quantization_config` states, or None."""
    counts = dict(_said(quantised, int))
    if "nbits_per_codebook" in counts:  # AQLM: codes of a group of weights
        codes = counts["nbits_per_codebook"] * counts.get("num_codebooks", 1)
        return codes // max(1, counts.get("in_group_size", 8))
    for key in _COUNTS:
        if key in counts:
            return counts[key]
    for key, bits in _SWITCHES.items():
        if quantised.get(key):
            return bits
    texts = [text for _, text in _said(quantised, str)]
    for pattern in _SPELLED:
        for text in texts:
            if found := re.search(pattern, text, re.I):
                return int(found[1])
    return None


def _said(value: object, kind: type, key: str = "") -> Iterator[tuple[str, object]]:
    """Yield the values for weights in a `quantization_config`, of type `kind`, with their keys."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if not _NOT_WEIGHTS.search(str(name)):
                yield from _said(inner, kind, str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from _said(inner, kind, key)
    elif isinstance(value, kind) and not isinstance(value, bool):
        yield key, value
