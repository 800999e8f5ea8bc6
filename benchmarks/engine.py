"""Speed and memory of the engine, compared with the bare model, transformers, and the memory limit.

    python -m benchmarks.engine [--sizes bundled,0.13B,0.5B] [--steps N] [--rounds N] [--quick]

Models other than the bundled one have the shapes of well-known ones and random weights. Their last
norm is scaled so that their logits are about as sharp as a trained model's. Speed depends on the
shapes, not on the values of the weights. The parts are in `benchmarks.measures`. ``--sizes ''``
measures only the shaping pipeline.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Sequence
from functools import partial

import torch
from transformers.utils import logging as transformers_logging

from benchmarks.measures.decoding import measure_generate, measure_kernels, measure_steps
from benchmarks.measures.memory import (
    measure_bandwidth,
    measure_cache,
    measure_history,
    measure_record,
    report_bandwidth,
)
from benchmarks.measures.models import (
    BUNDLED,
    SIZES,
    Effort,
    chosen_dtype,
    default_threads,
    describe,
    dtype_name,
    load,
)
from benchmarks.measures.pipelines import measure_pipelines
from benchmarks.report import Report
from benchmarks.timing import timed_ms
from engine.model import load_model
from engine.model.kernels import keep_freed_memory, speed_up_exponentials


def measure_size(report: Report, name: str, effort: Effort, device: str) -> None:
    """Measure everything on one model, in bf16 and in float32."""
    size = SIZES[name]
    chosen = chosen_dtype(name, device)
    dtypes = [torch.bfloat16] if size.gpu_only else [torch.bfloat16, torch.float32]
    models = {}
    for dtype in dtypes:
        start = time.perf_counter()
        model = load(name, dtype, device)
        models[dtype] = model
        report.section(f"{name}, {model.device.type}, {dtype_name(model)}")
        if dtype == dtypes[0]:
            other = "" if chosen == dtype else f"; the engine would choose {chosen} here"
            report.note(
                f"{model.parameters / 1e6:.1f}M parameters, V={model.vocab_size:,}, "
                f"replays exactly: {model.replays_exactly}{other}"
            )
        if model.device.type == "cpu":
            report.note(f"kernels for single tokens: {describe(model.kernels)}")
        if name == BUNDLED:
            again = timed_ms(partial(load_model, device=device, dtype=dtype))
            first = (time.perf_counter() - start) * 1e3 - again
            report.add("load, files in the page cache", again, "ms", first_ms=first)
        is_goal = dtype == torch.bfloat16
        floors = [measure_bandwidth(model.device, model.kernels.threads, effort.quick)]
        times = measure_steps(report, model, size, effort, is_goal=is_goal)
        floors.append(measure_bandwidth(model.device, model.kernels.threads, effort.quick))
        report_bandwidth(report, model, size, times, floors, is_goal=is_goal)
        if model.device.type == "cpu":
            measure_kernels(report, model, effort)
        if dtype == dtypes[0]:
            measure_record(report, model, effort)
            measure_history(report, model, effort)
            measure_cache(report, model, times, effort)
    report.section(f"{name}, {device}, against generate")
    report.note(
        "same dtype, settings and prompt, from the first token on, so without the prefill; it "
        "returns a dictionary, and keeps scores and logits where that is said"
    )
    named = {dtype_name(model): model for model in models.values()}
    measure_generate(report, named, size, effort)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    on_cpu = [name for name, size in SIZES.items() if not size.gpu_only]
    parser.add_argument("--sizes", default=",".join(on_cpu), help=f"of {', '.join(SIZES)}")
    parser.add_argument("--steps", type=int, help="decode steps per round; default by size")
    parser.add_argument("--rounds", type=int, help="rounds whose samples are put together")
    parser.add_argument("--threads", type=int, help="CPU threads to start from; default PyTorch's")
    parser.add_argument("--quick", action="store_true", help="fewer repeats: to see that it runs")
    options = parser.parse_args(arguments)
    options.sizes = [name for name in options.sizes.split(",") if name]
    unknown = [name for name in options.sizes if name not in SIZES]
    if unknown:
        parser.error(f"--sizes: {unknown[0]!r} is unknown; known are {', '.join(SIZES)}")
    return options


def main(arguments: Sequence[str] | None = None) -> dict:
    """Measure, print, and return the content of the JSON line."""
    options = parse(arguments)
    transformers_logging.set_verbosity_error()
    effort = Effort(options.steps, options.rounds or (1 if options.quick else 3), options.quick)
    if options.quick and effort.steps is None:
        effort = Effort(6, effort.rounds, True)
    if options.threads:
        torch.set_num_threads(options.threads)
    report = Report("engine")
    print(f"CPU threads: {default_threads()}")
    keep_freed_memory()  # as loading a model does, and so does this:
    speed_up_exponentials()
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    measure_pipelines(report, effort)
    for device in devices:
        for name in options.sizes:
            if SIZES[name].gpu_only and device == "cpu":
                report.section(f"{name}, cpu")
                report.note("not measured: too large for a CPU")
                continue
            measure_size(report, name, effort, device)
            gc.collect()
    if "cuda" not in devices:
        report.section("GPU")
        report.note("not measured: no CUDA device here")
    return report.finish()


if __name__ == "__main__":
    main()
