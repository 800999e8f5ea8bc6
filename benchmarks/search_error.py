"""Search error of beam search on 20 prompts, against the exact best text.

    python -m benchmarks search_error [--model bundled] [--tokens 8 16] [--quick]

For every prompt and length, beam searches of widths 1, 2, 4 and 8 run. An exact search then proves
which text of at most that length is the most likely (plain sum of log-probabilities). The model is
loaded in float32, in which passes over many rows round like single ones.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence

from benchmarks.report import Report, at_most
from engine.model import LanguageModel, load_model
from engine.study import BEAM_WIDTHS, SearchError, SearchErrorStudy

PROMPTS = (
    "Once upon a time",
    "Once upon a time there was a little",
    "The capital of France is",
    "The cat sat on the",
    "The sun rises in the",
    "She opened the door and",
    "My favourite food is",
    "In the middle of the forest",
    "The doctor told him to",
    "Water freezes at",
    "The largest planet is",
    "He was afraid of the",
    "The king lived in a",
    "On Monday, we went to",
    "A good friend is someone who",
    "The colour of the sky is",
    "They built the house out of",
    "When it rains,",
    "The teacher asked the class",
    "At the end of the day,",
)
TOKENS = (8, 16)
SECONDS = 60  # limit for 20 prompts of 8 tokens on two cores


def studied(model: LanguageModel, prompt: str, tokens: int) -> SearchError:
    """Study one prompt with all widths and the exact search."""
    study = SearchErrorStudy(model, prompt, tokens)
    for _ in study.run():
        pass
    return study.result


def main(arguments: Sequence[str] | None = None) -> dict[str, object]:
    """Run the benchmark; returns the content of the JSON line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks search_error")
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--tokens", type=int, nargs="+", default=TOKENS)
    parser.add_argument("--quick", action="store_true", help="2 prompts, 4 tokens")
    given = parser.parse_args(arguments)
    prompts, lengths = (PROMPTS[:2], (4,)) if given.quick else (PROMPTS, given.tokens)
    report = Report("search_error")
    model = load_model(given.model, dtype="float32")
    for tokens in lengths:
        results = [studied(model, prompt, tokens) for prompt in prompts]
        _report(report, tokens, results)
    return report.finish()


def _report(report: Report, tokens: int, results: Sequence[SearchError]) -> None:
    report.section(f"{len(results)} prompts, at most {tokens} tokens")
    proven = [result for result in results if result.best.is_proven]
    report.add("texts proven best", len(proven))
    seconds = [result.best.seconds for result in results]
    goal = at_most(SECONDS) if tokens <= 8 else None
    report.add("exact search, all prompts", sum(seconds), "s", goal=goal)
    visited = [result.best.visited for result in results]
    report.add("beginnings read, median", statistics.median(visited), largest=max(visited))
    ended = sum(len(result.best.token_ids) < tokens for result in proven)
    report.add("best texts that end early", ended)
    lines = []
    for place, width in enumerate(BEAM_WIDTHS):
        misses = [result.misses[place] for result in proven]
        found = sum(miss.found for miss in misses)
        nats = [miss.nats for miss in misses]
        missed = [value for value in nats if value]
        mean = statistics.fmean(nats) if nats else 0.0
        report.add(f"width {width}: best text found", found)
        report.add(f"width {width}: mean miss", mean, "nats", largest=max(nats, default=0.0))
        among = statistics.fmean(missed) if missed else 0.0
        lines.append((f"width {width}", found, mean, among, max(nats, default=0.0)))
    header = ("beam search", "found", "mean miss", "mean if missed", "largest miss")
    report.table(header, lines)


if __name__ == "__main__":
    main()
