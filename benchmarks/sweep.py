"""Speed of batched generation, against the same texts from single decoders.

    python -m benchmarks sweep [--model bundled] [--grid 5] [--seeds 4] [--tokens 64] [--quick]

Texts fill a grid of temperature times top-p in batches of several widths. Single decoders write a
sample of the same rows, in turns within one run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from benchmarks.report import Report, at_most
from benchmarks.timing import Case, Times, in_turns, timed_ms
from engine.decoder import Decoder
from engine.decoding import MOST_ROWS, Batch, Row
from engine.model import LanguageModel, load_model
from engine.sampling import SamplingSettings
from engine.study import Axis, Sweep

PROMPT = "Once upon a time"
WIDTHS = (8, 32, MOST_ROWS)
SECONDS = 60  # limit for the usual grid on the bundled model and two cores


@dataclass
class Counted:
    """Work to be timed, and the tokens of its last run."""

    rows: list[Row]
    model: LanguageModel
    width: int | None  # None: single decoders, one after another
    texts: list[list[int]] = field(default_factory=list)

    def __call__(self) -> None:
        if self.width is None:
            self.texts = [self._lone(row) for row in self.rows]
            return
        batch = Batch(self.model, self.rows, max_rows=self.width)
        for _ in batch.run():
            pass
        self.texts = [text.token_ids for text in batch.texts]

    def _lone(self, row: Row) -> list[int]:
        decoder = Decoder(self.model, row.prompt, row.settings)
        for _ in decoder.run(row.max_new_tokens):
            pass
        return decoder.token_ids

    @property
    def tokens(self) -> int:
        """Number of tokens of the last run."""
        return sum(map(len, self.texts))


def grid(cells: int, seeds: int, tokens: int) -> Sweep:
    """Create a grid of temperature times top-p, with typical values."""
    return Sweep(
        SamplingSettings(),
        Axis("temperature", np.linspace(0.4, 1.2, cells).round(3)),
        Axis("top_p", np.linspace(0.6, 1.0, cells).round(3)),
        [PROMPT],
        range(seeds),
        tokens,
    )


def rows_of(sweep: Sweep) -> list[Row]:
    """Return the rows that a sweep runs, in its order."""
    return [
        Row(sweep.prompts[0], cell.settings.replace(seed=seed), sweep.max_tokens)
        for seed in sweep.seeds
        for cell in sweep.cells
    ]


def measure(report: Report, model: LanguageModel, options: argparse.Namespace) -> None:
    """Measure batches and single decoders in turns, then a whole sweep with its tables."""
    sweep = grid(options.grid, options.seeds, options.tokens)
    rows = rows_of(sweep)
    sample = rows[:: max(1, len(rows) // options.lone)]
    report.section(f"{model.name}, {model.device} {str(model.dtype).removeprefix('torch.')}")
    report.note(f"{len(rows)} texts of at most {sweep.max_tokens} tokens; lone: {len(sample)}")
    works = {f"batch of {width}": Counted(rows, model, width) for width in WIDTHS}
    works["lone decoders"] = Counted(sample, model, None)
    cases = {name: Case(work) for name, work in works.items()}
    synchronize = torch.cuda.synchronize if model.device.type == "cuda" else None
    # One case is a whole grid, so a warm-up turn would take as long as the measurement.
    Counted(sample[:2], model, 2)()
    times = in_turns(cases, options.rounds, warm_up=0, synchronize=synchronize)
    _speeds(report, works, times, by_wall=model.device.type == "cuda")
    _twins(report, works)
    _whole_sweep(report, model, sweep)


def _speeds(
    report: Report, works: dict[str, Counted], times: dict[str, Times], *, by_wall: bool
) -> None:
    busy = not by_wall and any(item.busy for item in times.values())
    if busy:
        report.note("other programs had the processor; ratios go by CPU time")
    rate = {
        name: works[name].tokens / ((item.cpu_ms if busy else item.ms) / 1e3)
        for name, item in times.items()
    }
    for name, item in times.items():
        report.add(
            f"{name}: tokens/s by the wall clock",
            works[name].tokens / (item.ms / 1e3),
            detail=f"{item.ms / 1e3:.2f} s, CPU {item.cpu_ms / 1e3:.2f} s",
            tokens=works[name].tokens,
            **item.to_dict(),
        )
    for name in times:
        if works[name].width is not None:
            value = rate[name] / rate["lone decoders"]
            report.add(f"{name}: speed / lone decoders' speed", value, "x")


def _twins(report: Report, works: dict[str, Counted]) -> None:
    """Count the texts that equal the single decoder's: all in float32, fewer in bfloat16."""
    lone = works["lone decoders"]
    place = {id(row): index for index, row in enumerate(works[f"batch of {MOST_ROWS}"].rows)}
    for name, work in works.items():
        if work.width is None:
            continue
        pairs = [
            (text, work.texts[place[id(row)]])
            for row, text in zip(lone.rows, lone.texts, strict=True)
        ]
        same = sum(one == other for one, other in pairs)
        report.add(f"{name}: texts equal to the lone decoder's", same, f"of {len(pairs)}")


def _whole_sweep(report: Report, model: LanguageModel, sweep: Sweep) -> None:
    run = sweep.run(model)

    def fill() -> None:
        for _ in run:
            pass

    seconds = timed_ms(fill) / 1e3
    report.add("whole sweep", seconds, "s", goal=at_most(SECONDS), texts=sweep.count)
    seconds = timed_ms(lambda: run.result().pivot("self_bleu")) / 1e3
    report.add("metrics, table, heatmap of that", seconds, "s")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks sweep", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--model", default="bundled", help="bundled, a folder or a hub id")
    parser.add_argument("--dtypes", default="auto,float32", help="of auto, float32, bfloat16 ...")
    parser.add_argument("--grid", type=int, default=5, help="values on each axis")
    parser.add_argument("--seeds", type=int, default=4, help="texts per cell")
    parser.add_argument("--tokens", type=int, default=64, help="most tokens of a text")
    parser.add_argument("--lone", type=int, default=20, help="rows also run by lone decoders")
    parser.add_argument("--rounds", type=int, default=3, help="turns")
    parser.add_argument("--quick", action="store_true", help="a small grid: to see that it runs")
    options = parser.parse_args(arguments)
    if options.quick:
        options.grid, options.seeds, options.tokens = 3, 2, 4
        options.lone, options.rounds = 2, 1
    return options


def main(arguments: Sequence[str] | None = None) -> dict:
    """Measure, print, and return the content of the JSON line."""
    options = parse(arguments)
    report = Report("sweep")
    print(f"CPU threads: {torch.get_num_threads()}")
    for dtype in options.dtypes.split(","):
        measure(report, load_model(options.model, dtype=dtype), options)
    return report.finish()


if __name__ == "__main__":
    main()
