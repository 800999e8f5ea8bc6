"""What weights and caches are stored in, and what is assumed of the scales of each kind."""

from __future__ import annotations

from dataclasses import dataclass

from transformers import PretrainedConfig

from engine.cache_formula import Storage

_HALF = Storage("16-bit", 16)
_BLOCK_128 = 128 * 128

CACHE_STORAGES = {
    storage.name: storage
    for storage in (
        Storage("bfloat16 or float16", 16, about="16 bits a value"),
        Storage("float32", 32, about="32 bits a value"),
        Storage("fp8", 8, about="8 bits a value; one scale a tensor is not counted"),
        Storage("int8, groups of 32", 8, 32, 16, "a 16-bit scale for 32 values: 8.5 bits a value"),
        Storage("4-bit, groups of 32", 4, 32, 16, "a 16-bit scale for 32 values: 4.5 bits a value"),
    )
}


@dataclass(frozen=True)
class WeightStorage:
    """What the weights are stored in.

    Embedding and output tables, norms and biases are seldom quantised, so they are apart.

    Attributes:
        name: for the screen.
        matrices: of linear layers.
        experts: of routed experts.
        rest: tables, norms and biases.
        about: what is assumed.
    """

    name: str
    matrices: Storage
    experts: Storage
    rest: Storage
    about: str


def _all(storage: Storage) -> WeightStorage:
    return WeightStorage(storage.name, storage, storage, storage, storage.about)


def _quantised(storage: Storage) -> WeightStorage:
    about = f"{storage.about}; tables, norms and biases in 16 bits"
    return WeightStorage(storage.name, storage, storage, _HALF, about)


_MXFP4 = Storage("MXFP4", 4, 32, 8)

_HALF_WEIGHTS = "bfloat16 or float16"
AS_DECLARED = "as in config.json"
_DECLARED = {  # by `quant_method` of a configuration
    "mxfp4": "experts in MXFP4",
    "fp8": "fp8",
    "fbgemm_fp8": "fp8",
    "awq": "4-bit",
    "gptq": "4-bit",
}
WEIGHT_STORAGES = {
    storage.name: storage
    for storage in (
        _all(Storage(_HALF_WEIGHTS, 16, about="16 bits a weight")),
        _all(Storage("float32", 32, about="32 bits a weight")),
        _quantised(Storage("fp8", 8, _BLOCK_128, 32, "a 32-bit scale for 128 x 128 weights")),
        _quantised(Storage("int8", 8, 128, 16, "a 16-bit scale for 128 weights: 8.125 bits")),
        _quantised(
            Storage("4-bit", 4, 128, 20, "a scale of 16 bits and a zero point of 4: 4.16 bits")
        ),
        WeightStorage(
            "experts in MXFP4",
            _HALF,
            _MXFP4,
            _HALF,
            "routed experts with an 8-bit scale for 32 weights, 4.25 bits; all else in 16 bits",
        ),
    )
}


def declared_storage(config: PretrainedConfig) -> str:
    """What a configuration says that its weights are stored in: a key of `WEIGHT_STORAGES`.

    16 bits where it says nothing, or names a kind that is not known here.
    """
    quantised = getattr(config, "quantization_config", None)
    method = quantised.get("quant_method") if isinstance(quantised, dict) else None
    dtype = str(getattr(config, "dtype", "")).removeprefix("torch.")
    usual = "float32" if dtype == "float32" else _HALF_WEIGHTS
    return _DECLARED.get(str(method), usual)
