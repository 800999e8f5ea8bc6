"""Memory bandwidth and its use by decoding; memory of the record; benefit of the cache."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
import torch

from benchmarks.measures.company import prompt_ids
from benchmarks.measures.models import (
    COMMON,
    SETTINGS,
    BareLoop,
    Effort,
    Size,
    bare_kernels,
    synchronizer,
    weight_bytes,
)
from benchmarks.report import Report, at_least, at_most
from benchmarks.timing import Case, Times, in_turns, timed_ms
from engine.decoder import Decoder
from engine.model import Kernels, LanguageModel
from engine.runner.turns import exclusive


def measure_bandwidth(device: torch.device, threads: int, quick: bool) -> tuple[float, str]:
    """Return the bytes per second at which memory can be read, and the fastest way.

    Reads a buffer well above the caches in several ways, with as many threads as decoding uses. The
    quick form uses a small buffer.
    """
    size = 2**24 if quick else 2**28 if device.type == "cpu" else 2**32
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    buffer = torch.ones(size // 4, dtype=torch.float32, device=device)
    half = torch.ones(size // 2, dtype=torch.bfloat16, device=device).view(-1, 4096)
    row, half_row = torch.ones(4096, device=device), torch.ones(1, 4096, device=device).bfloat16()
    ways = {
        "float32 sum": lambda: buffer.sum(),
        "float32 maximum": lambda: buffer.amax(),
        "float32 matrix times row": lambda: buffer.view(-1, 4096) @ row,
        "bf16 matrix times row": lambda: torch.nn.functional.linear(half_row, half),
    }
    sync = partial(torch.cuda.synchronize, device) if device.type == "cuda" else None
    try:
        with torch.inference_mode(), bare_flags(device):
            turns = 3 if quick else 6
            times = in_turns(
                {name: Case(run) for name, run in ways.items()}, turns, synchronize=sync
            )
    finally:
        torch.set_num_threads(before)
    way = min(times, key=lambda name: times[name].best_ms)
    return size / (times[way].best_ms * 1e-3), way


@contextmanager
def bare_flags(device: torch.device) -> Iterator[None]:
    """Turn oneDNN off, as for single rows; does nothing on a GPU."""
    with exclusive(Kernels(onednn=device.type != "cpu")):
        yield


def report_bandwidth(
    report: Report,
    model: LanguageModel,
    size: Size,
    times: dict[str, Times],
    floors: Sequence[tuple[float, str]],
    *,
    is_goal: bool,
) -> None:
    """Report the minimum time of a step, and how close we come."""
    speed, way = max(floors)
    needed = weight_bytes(model)
    floor_ms = needed / speed * 1e3
    report.add(
        "memory bandwidth",
        speed / 1e9,
        "GB/s",
        detail=f"{way}; {needed / 1e6:,.0f} MB of weights a step, at least {floor_ms:.2f} ms",
        way=way,
        weight_bytes=needed,
        floor_ms=floor_ms,
    )
    goal = at_least(size.bandwidth) if is_goal and size.bandwidth else None
    report.add("share of it reached, bare", floor_ms / times["bare"].own_ms, goal=goal)
    report.add("share of it reached, recorded", floor_ms / times[COMMON].own_ms)


def measure_record(report: Report, model: LanguageModel, effort: Effort) -> None:
    """Measure the memory of a recorded step, and the time to restore an old row."""
    count = 4 if effort.quick else 48
    decoder = Decoder(model, prompt_ids(model, 8), SETTINGS[COMMON])
    for _ in range(4):
        decoder.step()
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(count):
        decoder.step()
    gc.collect()
    objects = (tracemalloc.get_traced_memory()[0] - before) / count
    tracemalloc.stop()
    cache = model.new_cache()
    model.forward(prompt_ids(model, 8), cache, 0)
    forward = model.forward([5], cache, 8)
    if forward.hidden is None or not model.replays_exactly:
        report.note("rows of this model are kept in a file: its output layer cannot be run alone")
        return
    hidden = forward.hidden.untyped_storage().nbytes()  # tracemalloc does not see tensors
    report.add(
        "kept per step, full vocabulary exact",
        (hidden + objects) / 1024,
        "KiB",
        goal=at_most(5.0),
        detail=f"hidden state {hidden:,.0f} B, objects {objects:,.0f} B; "
        f"a float32 row would be {model.vocab_size * 4:,} B",
        hidden_bytes=hidden,
        object_bytes=objects,
        row_bytes=model.vocab_size * 4,
    )
    replay = partial(model.replay, forward.hidden, tokens=1, parity=False)
    same = bool(np.array_equal(replay(), forward.logits))
    times = in_turns({"replay": Case(replay)}, 3 + effort.rounds)["replay"]
    report.add(
        "replay of an old row",
        times.ms,
        "ms",
        detail="bit-equal" if same else "NOT bit-equal: rows are kept in a file",
        bit_equal=same,
    )


def measure_history(report: Report, model: LanguageModel, effort: Effort) -> None:
    """Measure a fork, and a rewind with its first step, at a short and a long context."""
    for positions in (16, 64) if effort.quick else (64, 512):
        decoder = Decoder(model, prompt_ids(model, positions - 8), SETTINGS[COMMON])
        for _ in range(8):
            decoder.step()
        fork = in_turns({"fork": Case(decoder.fork)}, 5 * effort.rounds)["fork"]
        report.add(f"fork at {positions} positions", fork.ms, "ms", goal=at_most(0.2))
        rewound, first, second = [], [], []
        for _ in range(effort.rounds):
            twin = decoder.fork()
            rewound.append(timed_ms(partial(twin.rewind, 4)))
            first.append(timed_ms(twin.step))
            second.append(timed_ms(twin.step))
        report.add(
            f"rewind by 4 and first step at {positions} positions",
            float(np.median(np.add(rewound, first))),
            "ms",
            detail=f"rewind alone {np.median(rewound):.3f}, the step after {np.median(second):.2f}",
            rewind_ms=float(np.median(rewound)),
            second_step_ms=float(np.median(second)),
        )


def measure_cache(report: Report, model: LanguageModel, times: dict, effort: Effort) -> None:
    """Measure a step with the cache against one without, and prefill against decode."""
    sync = synchronizer(model)
    turns = 2 if effort.quick else 1 + effort.rounds
    few, many = (16, 64) if effort.quick else (64, 256)

    def uncached(ids: torch.Tensor) -> None:
        model.hf(input_ids=ids, use_cache=False, logits_to_keep=1)

    for positions in (few, many):
        ids = prompt_ids(model, positions)
        loop = BareLoop(model, ids)
        row = torch.tensor([ids], device=model.device)
        cases = {
            "cached": Case(loop.step, partial(bare_kernels, model)),
            "uncached": Case(partial(uncached, row), partial(exclusive, model.kernels, tokens=2)),
        }
        both = in_turns(cases, turns, synchronize=sync)
        report.add(
            f"step without cache / with, at {positions} positions",
            both["uncached"].ms / both["cached"].ms,
            "x",
            detail=f"{both['uncached'].ms:.1f} / {both['cached'].ms:.2f} ms",
            uncached_ms=both["uncached"].ms,
            cached_ms=both["cached"].ms,
        )
    ids = prompt_ids(model, many)
    prefill = in_turns(
        {"prefill": Case(lambda: model.forward(ids, model.new_cache(), 0))}, turns, synchronize=sync
    )["prefill"]
    speed = len(ids) / prefill.ms * 1e3
    decode = 1e3 / times[COMMON].ms
    report.add(
        f"prefill of {many} tokens",
        speed,
        "tokens/s",
        detail=f"decode {decode:.1f} tokens/s: prefill is {speed / decode:.1f}x as fast per token",
        decode_tokens_per_s=decode,
    )
