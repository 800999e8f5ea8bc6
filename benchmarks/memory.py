"""Memory of a server whose visitors come, step and leave, and load one model after another.

    python -m benchmarks memory [--visits 200] [--steps 50] [--models 10] [--quick]

Both parts use the same code as the pages: visits, sessions and their messages, shared models. The
models have random weights. "After" is the memory of the process after it has returned freed memory
to the system, as the server does by itself.
"""

from __future__ import annotations

import argparse
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import psutil
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PretrainedConfig
from transformers.utils import logging as transformers_logging

from benchmarks.report import Report, at_most
from engine.model import LanguageModel, load_model
from engine.sampling import SamplingSettings
from ui.models.choice import Choice
from ui.models.chooser import shared_model
from ui.step.events import Event, Place
from ui.step.message import Sent, state_message
from ui.step.session import Session
from ui.texts.settings import shown_samplers
from ui.visits import visits as visits_module
from ui.visits.store import Keeper
from ui.visits.visits import Visits, give_memory_back

MB = 1e6
PROMPT = "Once upon a time, there was a little"
SETTINGS = SamplingSettings(temperature=0.8, top_k=50, top_p=0.9, repetition_penalty=1.1)
LARGE_VOCABULARY = 151_936  # of Qwen2


def used_mb() -> float:
    """Return the resident memory of this process, in MB."""
    return psutil.Process().memory_info().rss / MB


def settled_mb() -> float:
    """Return the resident memory without the freed part, in MB."""
    give_memory_back()
    return used_mb()


def config(vocabulary: int, width: int, layers: int) -> PretrainedConfig:
    """Return the configuration of a model with few weights besides its embedding."""
    return LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=4 * width,
        num_hidden_layers=layers,
        num_attention_heads=width // 64,
        num_key_value_heads=width // 64,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
        initializer_range=0.1,
    )


class Visitor:
    """A tab that opens a visit, steps, and leaves."""

    def __init__(self, visits: Visits, model: LanguageModel) -> None:
        self._tab = secrets.token_hex(16)
        self._visit = visits.open(secrets.token_hex(16), self._tab, self)
        self._session = self._visit.page("step", lambda: Session(model, PROMPT, SETTINGS))
        self._sent = Sent()
        self._number = 0

    def step(self) -> None:
        """Press Step and read the answer."""
        session = self._session
        self._number += 1
        event = Event(
            client="browser",
            number=self._number,
            kind="step",
            at=Place(session.run, session.current, session.length),
            settings=SETTINGS,
            order=shown_samplers(SETTINGS),
        )
        session.apply(event)
        state_message(session, self._sent)
        if session.error:
            raise RuntimeError(session.error)

    def leave(self) -> None:
        """Close the tab."""
        self._visit.leave(self._tab, self)


def measure_visits(report: Report, count: int, steps: int, vocabulary: int) -> None:
    """Measure memory before, with and after visitors, who all stay until the last has stepped."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        hf = LlamaForCausalLM(config(vocabulary, 128, 2))
    model = LanguageModel(hf, load_model().tokenizer)
    report.section(f"{count} visits of {steps} steps, V={model.vocab_size:,}, {model.device}")
    visits = Visits(Keeper(None))
    first = Visitor(visits, model)  # makes one-time allocations early
    for _ in range(3):
        first.step()
    first.leave()
    before = settled_mb()
    peak, visitors = before, []
    for _ in range(count):
        visitor = Visitor(visits, model)
        for _ in range(steps):
            visitor.step()
        visitors.append(visitor)
        peak = max(peak, used_mb())
    with_all = settled_mb()
    for visitor in visitors:
        visitor.leave()
    del visitors, visitor, first
    with mock.patch.object(visits_module, "LEAVE_SECONDS", 0.0):
        visits.look()
    after = settled_mb()
    visits.close()
    report.add("before", before, "MB")
    report.add("peak", peak, "MB")
    report.add("with all of them, settled", with_all, "MB", detail=f"{len(visits)} left in memory")
    report.add("after", after, "MB")
    report.add("a visit that is there", max(0.0, with_all - before) / count, "MB")
    report.add("left behind by all", max(0.0, after - before), "MB", goal=at_most(50))
    names = "before", "peak", "with all", "after"
    report.table(("MB", *names), [("visits", before, peak, with_all, after)])


def measure_models(report: Report, count: int, width: int) -> None:
    """Measure memory after each of `count` models that one visitor loads in turn."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = load_model().tokenizer
        choices = []
        for number in range(count):
            place = Path(folder) / f"model-{number}"
            LlamaForCausalLM(config(len(tokenizer), width, 4)).save_pretrained(place)
            tokenizer.save_pretrained(place)
            choices.append(Choice(str(place)))
        weights = (place / "model.safetensors").stat().st_size / MB
        report.section(f"{count} models of {weights:.0f} MB in turn")
        before = settled_mb()
        session, sizes, peak = None, [], before
        for choice in choices:
            model = shared_model(choice)
            if session is None:
                session = Session(model, PROMPT, SETTINGS)
            else:
                session.load(model)
            del model
            session.decoder.step()
            peak = max(peak, used_mb())
            sizes.append(settled_mb())
    report.add("before", before, "MB")
    report.add("peak", peak, "MB")
    for number, size in enumerate(sizes, 1):
        report.add(f"after model {number}", size, "MB")
    more = max(0.0, sizes[-1] - sizes[0]) / weights
    report.add("more after the last than after the first", more, "models", goal=at_most(1.0))
    report.table(("model", "MB"), [(str(number), size) for number, size in enumerate(sizes, 1)])


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks memory", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--visits", type=int, default=200, help="visitors who are there at once")
    parser.add_argument("--steps", type=int, default=50, help="steps of each")
    parser.add_argument("--models", type=int, default=10, help="models loaded in turn")
    parser.add_argument("--width", type=int, default=512, help="of these models")
    parser.add_argument("--quick", action="store_true", help="few of them: to see that it runs")
    options = parser.parse_args(arguments)
    options.vocabulary = LARGE_VOCABULARY
    if options.quick:
        options.visits, options.steps, options.models, options.width = 2, 2, 2, 64
        options.vocabulary //= 8
    return options


def main(arguments: Sequence[str] | None = None) -> dict:
    """Measure, print, and return the content of the JSON line."""
    options = parse(arguments)
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    report = Report("memory")
    measure_visits(report, options.visits, options.steps, options.vocabulary)
    measure_models(report, options.models, options.width)
    return report.finish()


if __name__ == "__main__":
    main()
