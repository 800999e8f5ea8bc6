"""Speculative decoding against plain decoding: acceptance, tokens per pass, time.

    python -m benchmarks speculative [--model bundled] [--draft bundled-draft] [--quick]

Plain decoding and the draft lengths 1 to 8 take turns on the same prompts, settings and seeds, at
several temperatures. Times exclude the prefill.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import torch

from benchmarks.report import Report, at_most
from engine.model import LanguageModel, load_model
from engine.sampling import SamplingSettings, SpeculativeSettings
from engine.study import SpeedTrial

PROMPT = "Once upon a time"
OWN = 0.3  # maximum for our own part of a round, besides the passes of both models
LOOKUP = "none"  # in place of a draft: prompt lookup


def measure(
    report: Report,
    model: LanguageModel,
    draft: LanguageModel | None,
    temperature: float,
    options: argparse.Namespace,
) -> None:
    """Measure one table: every draft length at one temperature."""
    name = "prompt lookup" if draft is None else draft.name
    dtype = str(model.dtype).removeprefix("torch.")
    report.section(f"{model.name} {dtype} with {name}, T = {temperature:g}")
    settings = SpeculativeSettings(SamplingSettings(temperature=temperature))
    lengths = range(1, options.lengths + 1)
    sizes = {"lengths": lengths, "tokens": options.tokens, "turns": options.turns}
    trial = SpeedTrial(model, options.prompt, draft, settings, **sizes)
    for _ in trial:
        pass
    curve = trial.result()
    report.add("plain decoding", curve.plain.ms_per_token, "ms/token")
    lines = []
    for point in curve.points:
        found, fall = point.acceptance, point.waterfall
        largest = fall.largest
        report.add(
            f"g = {point.length}: plain time / speculative time",
            point.measured,
            "x",
            detail=f"largest loss: {largest.name} {largest.change:+.2f}",
            acceptance=found.rate or 0.0,
            tokens_per_pass=found.tokens_per_pass,
            ms_per_token=point.cost.ms_per_token,
            predicted=point.predicted,
            draft_cost=fall.draft_cost,
            verify_cost=fall.verify_cost,
            losses={loss.name: loss.change for loss in fall.losses},
        )
        figures = (found.rate or 0.0, found.tokens_per_pass, fall.draft_cost, fall.verify_cost)
        lines.append((f"g = {point.length}", *figures, point.predicted, point.measured))
    costs = [point.cost for point in curve.points]
    own = sum(cost.shape_ms + cost.other_ms for cost in costs)
    models = sum(cost.draft_ms + cost.target_ms for cost in costs)
    report.add("chains and bookkeeping / passes of the models", own / models, goal=at_most(OWN))
    header = ("", "acceptance", "tokens per pass", "c", "v", "predicted x", "measured x")
    report.table(header, lines)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks speculative", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--model", default="bundled", help="bundled, a folder or a hub id")
    parser.add_argument("--draft", default="bundled-draft", help=f"the same; {LOOKUP}: no model")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16 or float16")
    parser.add_argument("--temperatures", default="0,0.7,1", help="with commas between them")
    parser.add_argument("--lengths", type=int, default=8, help="longest draft")
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument("--tokens", type=int, default=96, help="most tokens of a text")
    parser.add_argument("--turns", type=int, default=5, help="how often each is measured")
    parser.add_argument("--quick", action="store_true", help="few tokens: to see that it runs")
    options = parser.parse_args(arguments)
    if options.quick:
        options.lengths, options.tokens, options.turns = 2, 12, 1
        options.temperatures = "0.7"
    return options


def main(arguments: Sequence[str] | None = None) -> dict:
    """Measure, print, and return the content of the JSON line."""
    options = parse(arguments)
    report = Report("speculative")
    print(f"CPU threads: {torch.get_num_threads()}")
    model = load_model(options.model, dtype=options.dtype)
    draft = None if options.draft == LOOKUP else load_model(options.draft, dtype=options.dtype)
    for temperature in options.temperatures.split(","):
        measure(report, model, draft, float(temperature), options)
    return report.finish()


if __name__ == "__main__":
    main()
