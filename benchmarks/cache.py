"""Cost of the cache per step: ours, which grows in place, against transformers' DynamicCache.

    python -m benchmarks cache [--sizes bundled,0.5B] [--turns N] [--quick]

Both hold the same random keys and values, and take turns. First come the caches alone: one token's
keys and values are written in every layer. Then come whole forward passes, whose logits must be
equal bit for bit.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from transformers import DynamicCache
from transformers.cache_utils import Cache
from transformers.utils import logging as transformers_logging

from benchmarks.measures.models import (
    SIZES,
    bare_kernels,
    chosen_dtype,
    dtype_name,
    load,
    synchronizer,
)
from benchmarks.report import Goal, Report, at_least
from benchmarks.timing import Case, Times, in_turns, ratio
from engine.model import LanguageModel
from engine.model.cache_size import cache_size
from engine.model.kernels import keep_freed_memory

POSITIONS = (512, 2048, 4096)
TURNS = 24
# From here on our cache must be the faster one, alone and within the pass.
_GOAL_FROM = 2048
OURS, THEIRS = "ours", "DynamicCache"

States = list[tuple[torch.Tensor, torch.Tensor]]  # keys and values of each layer


def measure_growth(report: Report, model: LanguageModel, positions: int, turns: int) -> None:
    """Measure one step at `positions` positions, with each cache."""
    with torch.inference_mode():
        made = {OURS: model.new_cache(), THEIRS: DynamicCache(config=model.hf.config)}
        past, token = _states(model, positions), _states(model, 1)
        for cache in made.values():
            _write(cache, past)
    alone = _compared(
        model, {name: partial(_write, cache, token) for name, cache in made.items()}, turns
    )
    _report(report, f"cache alone, {positions:,} positions", alone, at_least(1.0), positions)

    for name, cache in made.items():
        cache.crop(positions - cache.get_seq_length())
        assert cache.get_seq_length() == positions, name
    loops = {name: _Loop(model, cache) for name, cache in made.items()}
    passes = _compared(model, {name: loop.step for name, loop in loops.items()}, turns)
    same = all(map(np.array_equal, loops[OURS].logits, loops[THEIRS].logits))
    size = cache_size(made[OURS])
    _report(
        report,
        f"forward pass, {positions:,} positions",
        passes,
        None,
        positions,
        detail=f"logits {'bit-equal' if same else 'NOT bit-equal'}; "
        f"held / values {size.held / size.logical:.3f}",
        bit_equal=same,
        held_bytes=size.held,
        value_bytes=size.logical,
    )


def _states(model: LanguageModel, tokens: int) -> States:
    """Return random keys and values of `tokens` tokens, in the shapes of this model."""
    probe = DynamicCache(config=model.hf.config)
    model.forward([0], probe, 0)
    return [
        tuple(_random(part, tokens) for part in (layer.keys, layer.values))
        for layer in probe.layers
    ]


def _random(like: torch.Tensor, tokens: int) -> torch.Tensor:
    rows, heads, _, size = like.shape
    generator = torch.Generator(like.device).manual_seed(tokens)
    return torch.empty(rows, heads, tokens, size, dtype=like.dtype, device=like.device).normal_(
        generator=generator
    )


def _write(cache: Cache, states: States) -> None:
    for index, (keys, values) in enumerate(states):
        cache.update(keys, values, index)


class _Loop:
    """Forward passes of one token at a time, the same for every cache."""

    def __init__(self, model: LanguageModel, cache: Cache) -> None:
        self._model, self._cache = model, cache
        self.logits: list[np.ndarray] = []

    def step(self) -> None:
        ids = torch.tensor([[len(self.logits) % 97]], device=self._model.device)
        inputs = self._model.inputs(ids, self._cache, self._cache.get_seq_length())
        self.logits.append(self._model.hf(**inputs).logits[0, -1].float().cpu().numpy())


def _compared(
    model: LanguageModel, runs: dict[str, Callable[[], None]], turns: int
) -> dict[str, Times]:
    cases = {name: Case(run, partial(bare_kernels, model)) for name, run in runs.items()}
    return in_turns(cases, turns, synchronize=synchronizer(model), warm_up=2)


def _report(
    report: Report,
    title: str,
    times: dict[str, Times],
    goal: Goal | None,
    positions: int,
    detail: str = "",
    **more: object,
) -> None:
    gain = ratio(times[THEIRS], times[OURS])
    report.add(
        f"DynamicCache / ours, {title}",
        gain.value,
        "x",
        goal=goal if positions >= _GOAL_FROM else None,
        detail=f"{times[THEIRS].own_ms:.3f} / {times[OURS].own_ms:.3f} ms, {gain.words}"
        + (f"; {detail}" if detail else ""),
        theirs=times[THEIRS].to_dict(),
        ours=times[OURS].to_dict(),
        wall_ratio=gain.wall,
        cpu_ratio=gain.cpu,
        **more,
    )


def main(arguments: Sequence[str] | None = None) -> dict:
    """Measure, print, and return the content of the JSON line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks cache", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--sizes", default="bundled,0.5B", help=f"of {', '.join(SIZES)}")
    parser.add_argument("--turns", type=int, default=TURNS, help="steps with each cache")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--quick", action="store_true", help="short: to see that it runs")
    options = parser.parse_args(arguments)
    positions = POSITIONS
    if options.quick:
        options.sizes, options.turns, positions = "bundled", 2, (64, _GOAL_FROM)
    names = [name for name in options.sizes.split(",") if name]
    unknown = [name for name in names if name not in SIZES]
    if unknown:
        parser.error(f"--sizes: {unknown[0]!r} is unknown; known are {', '.join(SIZES)}")
    transformers_logging.set_verbosity_error()
    keep_freed_memory()  # as loading a model does
    report = Report("cache")
    for name in names:
        model = load(name, chosen_dtype(name, options.device), options.device)
        report.section(f"{name}, {options.device}, {dtype_name(model)}")
        for count in positions:
            measure_growth(report, model, count, options.turns)
    return report.finish()


if __name__ == "__main__":
    main()
