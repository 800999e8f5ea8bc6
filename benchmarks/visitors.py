"""Waiting times of one visitor while others use the same model, measured in the engine alone.

    python -m benchmarks visitors [--model bundled] [--seconds 30] [--quick]

Every visitor is a thread with a separate text, as in the app, and all share one model. A step is
timed by the wall clock from the press to its end. So these figures need an idle machine. The
printed load reveals a machine that is busy otherwise.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial

import numpy as np
import torch

from benchmarks.measures.company import (
    LENGTH,
    Pace,
    Seen,
    batches,
    contrastive,
    prefills,
    rebuilds,
    steps,
    sweeps,
    together,
)
from benchmarks.measures.models import describe
from benchmarks.report import Goal, Report, at_most
from engine.decoding import MOST_CANDIDATES, MOST_ROWS
from engine.model import LanguageModel, load_model
from engine.runner.runner import CHUNK

PERSON = 0.1  # seconds between two steps of a visitor who steps as fast as a person can
CALM = 1.0  # for a visitor who looks at each step
BESIDE, CROWDS = (1, 8, 20, 30), (35, 60, 100)
BOUND = 20  # visitors next to whom a step has a goal
EVICTED = (300, 900)


def measure(report: Report, model: LanguageModel, options: argparse.Namespace) -> None:
    """Measure all figures of one model."""
    seconds, once = options.seconds, partial(steps, model)
    person = Pace(PERSON, seconds)
    report.section(f"{model.name}, one visitor, a step each {PERSON * 1e3:.0f} ms")
    alone = together(seconds, once(person))[0]
    _waits(report, "alone", alone, at_most(60))
    batch_alone = together(seconds / 3, batches(model, options.rows))[0]
    beside = together(seconds, once(person), batches(model, options.rows))
    _waits(report, f"beside a batch of {options.rows} rows", beside[0], at_most(60))
    _kept(report, "batch beside the visitor: tokens/s", beside[1], batch_alone)
    prefill_alone = together(seconds / 3, prefills(model, options.prompt))[0]
    beside = together(seconds, once(person), prefills(model, options.prompt))
    _waits(report, f"beside prompts of {options.prompt:,} tokens", beside[0], at_most(100))
    _kept(report, "prompts beside the visitor: tokens/s", beside[1], prefill_alone)
    calm = Pace(CALM, seconds)
    for count in options.beside:
        others = (once(calm, seed) for seed in range(1, count + 1))
        seen = together(seconds, once(person), *others)[0]
        goal = at_most(250) if count <= BOUND else None
        _waits(report, f"beside {_counted(count)}, a step a second", seen, goal)
    sweep = sweeps(model)
    search = contrastive(model, options.candidates)
    beside = together(seconds, once(person), sweep, search)
    _waits(report, "beside a sweep and contrastive search", beside[0], at_most(100))
    report.add("sweep meanwhile: tokens/s", beside[1].per_second)
    report.add(f"contrastive search, k = {options.candidates}: tokens/s", beside[2].per_second)
    _crowds(report, model, options)
    for length in options.evicted:
        _eviction(report, model, length, seconds / 2)


def _counted(count: int) -> str:
    """Return a count with its noun: "1 visitor", "8 visitors"."""
    return f"{count} visitor{'' if count == 1 else 's'}"


def _crowds(report: Report, model: LanguageModel, options: argparse.Namespace) -> None:
    report.section(f"{model.name}, many visitors, a step a second each")
    for count in options.crowds:
        calm = Pace(CALM, options.crowd_seconds)
        seen = together(
            options.crowd_seconds, *(steps(model, calm, seed) for seed in range(1, count + 1))
        )
        every = Seen.of_all(seen)
        _waits(report, f"{count} visitors", every)
        share = every.done / every.wanted
        report.add(
            f"{count} visitors: steps done / wanted",
            share,
            detail=f"{every.done:,} of {every.wanted:,}",
            done=every.done,
            wanted=every.wanted,
        )


def _eviction(report: Report, model: LanguageModel, length: int, seconds: float) -> None:
    report.section(f"{model.name}, the first step after an eviction, {length} tokens generated")
    evicted = rebuilds(model, length)
    other, seen = together(seconds, steps(model, Pace(PERSON, seconds)), evicted)
    _waits(report, "the step that makes its cache again", seen)
    passes = sorted(set(seen.notes), key=seen.notes.count)[-1]
    report.add("passes of it", len(passes), detail=_listed(passes), passes=passes)
    _waits(report, "another visitor meanwhile", other)


def _listed(passes: Sequence[int]) -> str:
    shown = ", ".join(map(str, passes[:8]))
    return f"of {shown}{', ...' if len(passes) > 8 else ''} tokens"


def _waits(report: Report, name: str, seen: Seen, goal: Goal | None = None) -> None:
    p50, p95 = (float(value) for value in np.percentile(seen.ms, (50, 95)))
    cpu = float(np.percentile(seen.cpu_ms, 95))
    longest = max(seen.ms)
    report.add(
        f"{name}: p95",
        p95,
        "ms",
        goal=goal,
        detail=(
            f"p50 {p50:.1f}, max {longest:.0f} ms, {len(seen.ms)} steps; "
            f"CPU of all meanwhile, p95 {cpu:.1f} ms"
        ),
        p50=p50,
        max=longest,
        cpu_p95=cpu,
        cpu_p50=float(np.median(seen.cpu_ms)),
        samples=len(seen.ms),
    )


def _kept(report: Report, name: str, beside: Seen, alone: Seen) -> None:
    """Report how much work others still complete while one visitor steps."""
    share = beside.per_second / alone.per_second
    report.add(
        name,
        beside.per_second,
        detail=f"{share:.2f} x of {alone.per_second:,.0f} alone",
        alone=alone.per_second,
        share=share,
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks visitors", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--model", default="bundled", help="bundled, a folder or a hub id")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each measurement")
    parser.add_argument("--quick", action="store_true", help="short: to see that it runs")
    options = parser.parse_args(arguments)
    options.rows, options.prompt, options.candidates = MOST_ROWS, LENGTH, MOST_CANDIDATES
    options.beside, options.crowds, options.evicted = BESIDE, CROWDS, EVICTED
    options.crowd_seconds = options.seconds * 2 / 3
    if options.quick:
        options.seconds = options.crowd_seconds = min(1.0, options.seconds)
        options.rows, options.prompt, options.candidates = 16, CHUNK + 8, 8
        options.beside, options.crowds, options.evicted = (2,), (3,), (20,)
    return options


def main(arguments: Sequence[str] | None = None) -> dict:
    """Measure, print, and return the content of the JSON line."""
    options = parse(arguments)
    report = Report("visitors")
    threads = torch.get_num_threads()
    model = load_model(options.model)
    print(
        f"CPU threads: {threads}; single tokens: {describe(model.kernels)}; "
        f"{str(model.dtype).removeprefix('torch.')}; "
        f"OMP_WAIT_POLICY {os.environ.get('OMP_WAIT_POLICY')}; "
        f"Python hands over after {sys.getswitchinterval() * 1e3:g} ms"
    )
    measure(report, model, options)
    return report.finish()


if __name__ == "__main__":
    main()
