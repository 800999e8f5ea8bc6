"""Speed of recorded decoding: against bare forward passes, against `generate`, by CPU kernels."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from transformers import GenerationConfig, StoppingCriteria, StoppingCriteriaList

from benchmarks.measures.company import PROMPT_TOKENS, prompt_ids
from benchmarks.measures.models import (
    COMMON,
    FLAT_SPREAD,
    IN_A_ROW,
    LOGIT_SPREAD,
    SETTINGS,
    BareLoop,
    Effort,
    Size,
    bare_kernels,
    default_kernels,
    default_threads,
    describe,
    synchronizer,
)
from benchmarks.report import Report, at_least, at_most
from benchmarks.timing import Case, Times, in_turns, ratio
from engine.decoder import Decoder
from engine.model import LanguageModel
from engine.model.kernels import ENGINE_LOCK
from engine.sampling import SamplingSettings

PLAIN, KEEPING = "generate", "generate with scores and logits"


def measure_steps(
    report: Report, model: LanguageModel, size: Size, effort: Effort, *, is_goal: bool
) -> dict[str, Times]:
    """Measure recorded steps against bare forward passes, a few of each in turns."""
    steps = effort.steps or size.steps
    ids = prompt_ids(model, PROMPT_TOKENS)
    flat = SamplingSettings(temperature=LOGIT_SPREAD / FLAT_SPREAD, top_p=0.9)
    settings = SETTINGS | {"top-p 0.9, flat": flat}
    times: dict[str, Times] = {}
    last: dict[str, list] = {}
    for _ in range(effort.rounds):
        bare = BareLoop(model, ids)
        cases = {"bare": Case(bare.step, partial(bare_kernels, model))}
        decoders = {name: Decoder(model, ids, values) for name, values in settings.items()}
        for name, decoder in decoders.items():
            decoder.step()  # the prefill
            cases[name] = Case(decoder.step)
        measured = in_turns(
            cases, math.ceil(steps / IN_A_ROW), in_a_row=IN_A_ROW, synchronize=synchronizer(model)
        )
        for name, values in measured.items():
            times.setdefault(name, Times()).extend(values)
        for name, decoder in decoders.items():
            last.setdefault(name, []).extend(decoder.steps[1 + IN_A_ROW :])
    bare_times = times["bare"]
    report.add(
        "bare forward pass",
        bare_times.ms,
        "ms",
        detail=f"CPU {bare_times.cpu_ms:.2f}, best {bare_times.best_ms:.2f} ms",
        **bare_times.to_dict(),
    )
    for name in settings:
        steps_taken = last[name]
        parts = {
            part: float(np.median([getattr(step, part) for step in steps_taken]))
            for part in ("forward_ms", "shape_ms", "draw_ms", "total_ms")
        }
        survivors = int(np.median([step.survivors for step in steps_taken]))
        extra = ratio(times[name], bare_times, by_wall=model.device.type != "cpu")
        goal = at_most(size.ratio) if is_goal and size.ratio and name in SETTINGS else None
        report.add(
            f"recorded / bare, {name}",
            extra.value,
            "x",
            goal=goal,
            detail=(
                f"{extra.words}; {times[name].ms:.2f} ms, shape {parts['shape_ms']:.2f}, draw "
                f"{parts['draw_ms']:.2f}; {survivors:,} tokens left, "
                f"{times[name].page_faults - bare_times.page_faults:.0f} more page faults"
            ),
            wall_ratio=extra.wall,
            cpu_ratio=extra.cpu,
            survivors=survivors,
            **times[name].to_dict(),
            **{f"step_{part}": value for part, value in parts.items()},
        )
    return times


def measure_generate(
    report: Report, models: dict[str, LanguageModel], size: Size, effort: Effort
) -> None:
    """Compare tokens/s with `generate`, plain and with scores and logits, net of the prefill.

    Args:
        models: the same model by the name of its dtype; each is compared with itself.
    """
    steps = effort.steps or size.steps
    first = next(iter(models.values()))
    ids = prompt_ids(first, PROMPT_TOKENS)
    by_wall = first.device.type != "cpu"

    def our_block(model: LanguageModel) -> Times:
        sync = synchronizer(model) or (lambda: None)
        decoder = Decoder(model, ids, SETTINGS[COMMON])
        decoder.step()
        sync()
        return once(lambda: [decoder.step() for _ in range(steps)])

    blocks: dict[tuple[str, str], Callable[[], Times]] = {}
    for dtype, model in models.items():
        blocks["ours", dtype] = partial(our_block, model)
        blocks[PLAIN, dtype] = partial(generate, model, ids, steps + 1, False)
        blocks[KEEPING, dtype] = partial(generate, model, ids, steps + 1, True)
    times = {name: Times() for name in blocks}
    for _ in range(effort.rounds):
        for name, block in blocks.items():
            times[name].extend(block())
    for dtype in models:
        ours = times["ours", dtype]
        per_second = steps * 1e3 / ours.ms
        report.add(f"recorded decoding, {dtype}", per_second, "tokens/s", steps=steps)
        for name in (PLAIN, KEEPING):
            theirs = times[name, dtype]
            goal = None
            if name == KEEPING and not by_wall:
                goal = at_least(size.gain)
            if name == PLAIN and by_wall and dtype == "bfloat16":
                goal = at_least(3.0)
            gain = ratio(theirs, ours, by_wall=by_wall)
            report.add(
                f"ours / {name}, {dtype}",
                gain.value,
                "x",
                goal=goal,
                detail=f"{gain.words}; theirs {steps * 1e3 / theirs.ms:.1f} tokens/s",
                wall_ratio=gain.wall,
                cpu_ratio=gain.cpu,
                their_tokens_per_s=steps * 1e3 / theirs.ms,
                our_tokens_per_s=per_second,
            )


def once(run: Callable[[], object]) -> Times:
    """Return the times of a single run."""
    return in_turns({"once": Case(run)}, 1, warm_up=0)["once"]


class FirstToken(StoppingCriteria):
    """Never stops anything; records the time of the first token, which ends the prefill."""

    def __init__(self, synchronize: Callable[[], None] | None) -> None:
        self.wall = self.cpu = 0.0
        self._synchronize = synchronize

    def __call__(self, input_ids: torch.Tensor, scores: object, **others) -> torch.Tensor:
        if not self.wall:
            if self._synchronize:
                self._synchronize()
            self.wall, self.cpu = time.perf_counter(), time.thread_time()
        return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)


def generate(model: LanguageModel, ids: list[int], count: int, keep: bool) -> Times:
    """Run `generate` as users call it, with the settings of `COMMON` and PyTorch's own kernels.

    Returns:
        The time from the first token to the end.
    """
    settings = SETTINGS[COMMON]
    config = GenerationConfig(
        do_sample=True,
        temperature=settings.temperature,
        top_k=int(settings.top_k),
        top_p=settings.top_p,
        repetition_penalty=settings.repetition_penalty,
        max_new_tokens=count,
        pad_token_id=0,
        return_dict_in_generate=True,
        output_scores=keep,
        output_logits=keep,
    )
    inputs = torch.tensor([ids], device=model.device)
    sync = synchronizer(model)
    first = FirstToken(sync)
    with ENGINE_LOCK, default_kernels(), torch.random.fork_rng():
        torch.manual_seed(0)
        output = model.hf.generate(
            inputs,
            attention_mask=torch.ones_like(inputs),
            generation_config=config,
            stopping_criteria=StoppingCriteriaList([first]),
        )
        if sync:
            sync()
        wall, cpu = time.perf_counter() - first.wall, time.thread_time() - first.cpu
    generated = output.sequences.shape[1] - len(ids)
    if generated != count:
        raise RuntimeError(f"generate made {generated} tokens, not {count}")
    return Times([wall * 1e3], [cpu * 1e3])


def measure_kernels(report: Report, model: LanguageModel, effort: Effort) -> None:
    """Measure every way to run a decode step on this CPU, and the engine's choice."""
    every = default_threads()
    usual = replace(model.kernels, prefill_threads=every)
    name = "onednn_float32" if model.dtype == torch.float32 else "onednn"
    options = [
        replace(usual, threads=count, **{name: through_onednn})
        for through_onednn in (True, False)
        for count in sorted({1, every})
    ]
    ids = prompt_ids(model, PROMPT_TOKENS)
    loops = {kernels: BareLoop(model, ids) for kernels in options}
    cases = {kernels: Times() for kernels in options}
    for _ in range(effort.rounds):
        # A few steps of one kind, then of the next: a change of threads wakes and parks threads.
        for kernels, loop in loops.items():
            run = Case(loop.step, partial(bare_kernels, model, kernels))
            cases[kernels].extend(in_turns({"step": run}, 3)["step"])
    torch.set_num_threads(default_threads())
    fastest = min(cases, key=lambda kernels: cases[kernels].ms)
    chosen = next((k for k in options if k == model.kernels), None)
    listed = "; ".join(
        f"{describe(kernels)} {times.ms:.2f} (best {times.best_ms:.2f})"
        for kernels, times in cases.items()
    )
    if chosen is not None:
        report.add(
            f"kernels chosen ({describe(chosen)}) / fastest",
            cases[chosen].ms / cases[fastest].ms,
            "x",
            detail=f"ms a step: {listed}",
            ms={describe(kernels): times.ms for kernels, times in cases.items()},
            best_ms={describe(kernels): times.best_ms for kernels, times in cases.items()},
        )
