"""Every architecture's formula against the cache that transformers actually builds.

`python -m tests.engine.calculator.real_caches` builds a small model of each in bfloat16. It reads a
batch of tokens past every window, and prints the formula's bytes next to the tensors' bytes.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import warnings
from dataclasses import dataclass
from unittest import mock

import torch
import transformers

from engine.cache_formula import TENSORS, CacheFormula, in_symbols
from engine.model import cache as caches
from engine.model.cache_layers import formula_of
from engine.model.cache_size import cache_size, layer_sizes
from tests.engine.model import small_configs
from tests.engine.tiny_models import seeded

ROWS, PROMPT, STEPS = 3, 20, 5
POSITIONS = PROMPT + STEPS
# No two of these sizes are equal, and none is hidden size divided by heads. So a formula that
# confuses two sizes is caught. An architecture that refuses them gets its usual small ones.
DISTINCT = {
    "head_dim": 12,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 6,
    "v_head_dim": 10,
    "kv_lora_rank": 14,
    "index_head_dim": 20,
}


@dataclass(frozen=True)
class Measured:
    """A cache after `POSITIONS` positions, and the formula of its configuration.

    Attributes:
        formula: from the configuration alone.
        bytes: the size of each layer's tensors.
        held: all memory held for them, in bytes.
    """

    formula: CacheFormula
    bytes: tuple[int, ...]
    held: int

    @property
    def predicted(self) -> tuple[int, ...]:
        """The bytes that the formula gives for each layer."""
        layers = self.formula.layers
        return tuple(
            int(ROWS * self.formula.of_layer(layer, POSITIONS, TENSORS)) for layer in layers
        )


def measure(model_type: str, dtype: torch.dtype = torch.bfloat16, **changes: object) -> Measured:
    """Build a small model of an architecture, and read a prompt and some tokens.

    Args:
        changes: sizes that replace those of the small configurations.
    """
    with mock.patch.dict(small_configs.SMALL, DISTINCT | changes):
        try:
            return _measure(model_type, dtype)
        except Exception:  # each architecture refuses sizes in its own way
            if changes:
                raise
    return _measure(model_type, dtype)


def _measure(model_type: str, dtype: torch.dtype) -> Measured:
    hf = small_configs.build(model_type).to(dtype)
    config = hf.config.get_text_config(decoder=True)
    cache = caches.new_cache(config)
    names = inspect.signature(hf.forward).parameters
    given = {"cache_params" if "cache_params" in names else "past_key_values": cache}
    with seeded(0), torch.inference_mode():
        hf(input_ids=torch.randint(0, 60, (ROWS, PROMPT)), use_cache=True, **given)
        for _ in range(STEPS):
            hf(input_ids=torch.randint(0, 60, (ROWS, 1)), use_cache=True, **given)
    formula = formula_of(hf.config, dtype)
    each = [size.logical for size in layer_sizes(cache)]
    return Measured(formula, tuple(each), cache_size(cache).held)


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    kinds: dict[str, tuple[str, int, int]] = {}
    equal, others = 0, []
    for model_type in sys.argv[1:] or small_configs.MODEL_TYPES:
        found = _found(model_type)
        if isinstance(found, str):
            others.append(f"{model_type}: {found}")
            continue
        equal += found.predicted == found.bytes
        for layer, predicted, measured in zip(
            found.formula.layers, found.predicted, found.bytes, strict=True
        ):
            if predicted != measured:
                others.append(f"{model_type}: UNEQUAL {layer.kind} {predicted} {measured}")
            kinds.setdefault(layer.kind, (model_type, layer, predicted, measured))
    print(
        f"Cache of {ROWS} texts at {POSITIONS} positions, transformers {transformers.__version__}"
    )
    print(f"\n{equal} architectures equal to the byte\n")
    print("| Kind of layer | First seen in | Formula, values | Computed | Measured | Equal |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind, (model_type, layer, predicted, measured) in kinds.items():
        is_equal = "yes" if predicted == measured else "NO"
        cells = (kind, model_type, in_symbols(layer), f"{predicted:,}", f"{measured:,}", is_equal)
        print("| " + " | ".join(cells) + " |")
    print("\nNot compared:", *others, sep="\n- ")


def _found(model_type: str) -> Measured | str:
    """Measure in bfloat16, or in float32 if that fails; return the error if neither works."""
    problem = ""
    for dtype in (torch.bfloat16, torch.float32):
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                return measure(model_type, dtype)
        except Exception as error:  # whatever an architecture raises is its result
            problem = " ".join(str(error).split())[:120]
    return problem


if __name__ == "__main__":
    main()
