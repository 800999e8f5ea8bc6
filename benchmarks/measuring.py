"""The measurements of the cache page: their duration, their figures, a neighbour's waiting times.

    python -m benchmarks measuring [--model bundled] [--positions 1024] [--every 16] [--quick]

Each runs alone first, then repeatedly next to a visitor who takes a step each second in a separate
text. Both share one process, as in the app. A step is timed by the wall clock from the press to its
end. So these figures need an idle machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from benchmarks.measures.company import Pace, Seen, Work, prompt_ids, steps, together
from benchmarks.measures.models import SIZES, chosen_dtype, describe, dtype_name, load
from benchmarks.report import Report, at_most
from engine.measure import (
    BATCH,
    DECODE,
    PREFILL,
    Measurement,
    Plan,
    PrefillAndDecode,
    PrefillAndDecodeMeasurement,
    PrefixMeasurement,
    PrefixResult,
    QuantisedMeasurement,
    QuantisedResult,
    ReadText,
    Roofline,
    RooflineMeasurement,
    WithAndWithout,
    WithAndWithoutMeasurement,
    median,
    p95,
)
from engine.model import LanguageModel, Quantisation

CALM = 1.0  # seconds between two steps of the neighbour
GOAL_MS = 250.0  # as with 20 visitors
PROMPT = 9

Made = Callable[[], Measurement]


def measurements(model: LanguageModel, options: argparse.Namespace) -> Mapping[str, Made]:
    """Return the measurements by section of the page."""
    ids = prompt_ids(model, PROMPT)
    plan = replace(Plan.usual(model, options.batches), **options.smaller)
    text = partial(WithAndWithoutMeasurement, model, ids, options.positions, options.every)
    grid = partial(PrefillAndDecodeMeasurement, model, *options.grid)
    read = ReadText(tuple(ids), options.read)
    how = Quantisation(residual=options.residual)
    prompt = prompt_ids(model, options.shared)
    return {
        "with and without": text,
        "prefill and decode": grid,
        "roofline": partial(RooflineMeasurement, model, plan),
        "quantised": partial(QuantisedMeasurement, model, read, how, options.compares),
        "prefix reuse": partial(
            PrefixMeasurement, model, prompt, ids, ids[1:], [options.shared // 4, options.shared]
        ),
    }


def measure(report: Report, model: LanguageModel, options: argparse.Namespace) -> None:
    """Measure all figures of one model."""
    report.section(f"{model.name}, {dtype_name(model)}, a neighbour alone")
    pace = Pace(CALM, options.seconds)
    _waits(report, "a step each second", together(options.seconds, steps(model, pace))[0], None)
    for name, made in measurements(model, options).items():
        report.section(f"{model.name}, {dtype_name(model)}, {name}")
        start = time.perf_counter()
        measurement = made()
        for _ in measurement.run():
            pass
        report.add("measured alone in", time.perf_counter() - start, "s")
        SAID[type(measurement.result)](report, measurement.result)
        seen = together(options.seconds, steps(model, pace), _again_and_again(made))[0]
        _waits(report, "the neighbour meanwhile", seen, GOAL_MS)


def _again_and_again(made: Made) -> Work:
    """Return work that repeats the measurement part by part until the time is over."""

    def work(seen: Seen, over: Callable[[], bool]) -> None:
        while not over():
            for _ in made().run():
                if over():
                    return

    return work


def _waits(report: Report, name: str, seen: Seen, goal: float | None) -> None:
    report.add(
        f"{name}: p95",
        p95(seen.ms),
        "ms",
        goal=None if goal is None else at_most(goal),
        detail=f"median {median(seen.ms):.1f}, longest {max(seen.ms):.0f} ms, {seen.done} steps",
        median=median(seen.ms),
        longest=max(seen.ms),
        steps=seen.done,
    )


# --- results of the measurements ------------------------------------------------------------------


def _text(report: Report, result: WithAndWithout) -> None:
    last = result.positions[-1]
    cached, without = median(result.cached_ms[-16:]), median(result.uncached_ms[-3:])
    report.add(f"a step at {last:,} positions, with the cache", cached, "ms")
    report.add(
        f"a step at {last:,} positions, without",
        without,
        "ms",
        detail=f"{without / cached:.1f} x; {result.passes[-1]} passes",
    )
    whole = result.uncached_seconds
    how = "estimated from those measured" if result.is_sampled else "measured"
    report.add("all steps with the cache", result.cached_seconds, "s")
    report.add(
        "all steps without", whole, "s", detail=f"{how}; {whole / result.cached_seconds:.1f} x"
    )
    report.add("tokens read with the cache", result.cached_tokens)
    report.add("tokens read without", result.uncached_tokens)
    difference = result.difference
    report.note(
        "both texts are the same"
        if difference is None
        else f"the texts differ first at {difference.position:,} tokens, the two logits "
        f"{difference.margin:.3g} apart"
    )
    _speed(report, result.reference_ms)


def _grid(report: Report, result: PrefillAndDecode) -> None:
    cell = result.largest
    name = f"{cell.prompt:,} prompt, {cell.output:,} output tokens"
    report.add(f"prefill, {name}", cell.prefill_per_second, "tokens/s")
    report.add(f"decode, {name}", cell.decode_per_second, "tokens/s")
    report.add(
        "an output token / an input token", cell.per_output / (cell.first / cell.prompt), "x"
    )
    _speed(report, result.reference_ms)


def _roof(report: Report, result: Roofline) -> None:
    report.add("memory bandwidth", result.bandwidth.best / 1e9, "GB/s", detail=result.bandwidth.way)
    report.add("as little as the weights", result.small_bandwidth.best / 1e9, "GB/s")
    report.add("arithmetic", result.peak.best / 1e9, "GFLOP/s", detail=result.peak.dtype)
    for one in result.of_kind(DECODE):
        predicted = result.predicted_per_second(one)
        report.add(
            f"decode after {one.positions:,} tokens",
            one.per_second,
            "tokens/s",
            detail=f"predicted {predicted:,.1f}: {one.per_second / predicted:.2f} of it",
            predicted=predicted,
        )
    if result.layers is not None:
        layers = result.layers
        report.add("overhead of a layer", layers.overhead_ms(result.bandwidth.best), "ms")
        report.add("output layer", layers.head_ms, "ms")
        report.add("all else of a step", layers.around_ms, "ms")
        report.add("operator calls of a step", layers.calls)
    for one in (*result.of_kind(PREFILL), *result.of_kind(BATCH)):
        name = f"{one.kind} of {one.tokens if one.kind == PREFILL else one.rows:,}"
        share = one.rate / result.roof(one.intensity)
        detail = f"{one.intensity:.1f} operations per byte, {share:.3f} of the roof"
        report.add(name, one.per_second, "tokens/s", detail=detail)
    _speed(report, result.reference_ms)


def _quantised(report: Report, result: QuantisedResult) -> None:
    first = result.along[0].how.exact_positions
    for point, along in zip(result.points, result.along, strict=False):
        parts = along.parted_after
        report.add(
            f"{along.bits} bits: mean KL",
            1e3 * point.mean_kl_bits,
            "millibits",
            detail=f"largest {1e3 * point.largest_kl_bits:.2g}; likeliest token changed at "
            f"{point.changed} of {point.positions}; "
            f"{point.bytes / result.exact_bytes:.3f} of {result.exact_bytes:,} bytes; "
            + ("texts do not part" if parts is None else f"texts part after {parts} tokens"),
            largest=1e3 * point.largest_kl_bits,
            changed=point.changed,
            bytes=point.bytes,
            parted_after=parts,
        )
    rounding = 1e3 * float(np.mean(result.rounding_kl_bits[first:]))
    report.add("rounding alone: mean KL", rounding, "millibits")


def _prefix(report: Report, result: PrefixResult) -> None:
    for one in result.lengths:
        report.add(
            f"{one.shared:,} of {one.tokens:,} tokens shared: full / reused",
            one.full / one.reused,
            "x",
            detail=f"{one.full:.1f} / {one.reused:.1f} ms; "
            f"logits differ by {one.largest_difference:.2g}",
        )


def _speed(report: Report, reference_ms: Sequence[float]) -> None:
    low, high = np.percentile(reference_ms, (5, 95))
    report.add("reference product, 95th / 5th percentile", float(high / low), "x")


SAID = {
    WithAndWithout: _text,
    PrefillAndDecode: _grid,
    Roofline: _roof,
    QuantisedResult: _quantised,
    PrefixResult: _prefix,
}


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks measuring", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--model", default="bundled", choices=list(SIZES))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--positions", type=int, default=1024, help="of the text with and without")
    parser.add_argument("--every", type=int, default=16, help="steps measured without the cache")
    parser.add_argument("--seconds", type=float, default=30.0, help="beside the neighbour")
    parser.add_argument("--quick", action="store_true", help="short: to see that it runs")
    options = parser.parse_args(arguments)
    options.grid, options.batches = ((16, 64, 256), (4, 16, 64), 3), (1, 2, 4, 8, 16, 32, 64)
    options.smaller, options.compares = {}, True
    options.read, options.residual, options.shared = 200, 32, 768
    if options.quick:
        options.smaller = {"prefills": (8,), "decodes": (8,), "memory": 2**20, "products": (64,)}
        options.seconds, options.positions, options.every = 0.2, 24, 8
        options.grid, options.batches = ((8,), (2,), 1), (1, 2)
        options.read, options.residual, options.shared, options.compares = 10, 2, 16, False
    return options


def main(arguments: Sequence[str] | None = None) -> dict:
    """Measure, print, and return the content of the JSON line."""
    options = parse(arguments)
    report = Report("measuring")
    model = load(options.model, chosen_dtype(options.model, options.device), options.device)
    print(f"{dtype_name(model)} on {model.device}; single tokens: {describe(model.kernels)}")
    measure(report, model, options)
    return report.finish()


if __name__ == "__main__":
    main()
