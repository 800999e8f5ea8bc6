"""Users who share one model: each is a thread that decodes until the time is over.

    >>> together(10.0, steps(model, Pace(1.0, 10.0)), batches(model, 16))

Their work is real: every step, batch and prompt goes through the model and the scheduler, like that
of a visitor of the app. Only the people are simulated.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from engine.decoding import Batch, ContrastiveSearch, Decoder, Row
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.study import Axis, Sweep

LENGTH = 1_000  # tokens of a long prompt: the bundled model reads 1,024
PROMPT_TOKENS = 64
BATCH_TOKENS = 64
SEARCHED = 900  # tokens of a prompt for contrastive search: each candidate caches them
LOOK_SECONDS = 0.1  # between two checks of the time while idle
SETTINGS = SamplingSettings(temperature=0.8, top_p=0.95, seed=0)
TEXT = "Once upon a time there was a small village by the sea. The people there told stories. " * 60


@dataclass(frozen=True)
class Pace:
    """Pace at which a visitor steps.

    Attributes:
        every: seconds from one step to the next.
        seconds: total duration.
    """

    every: float
    seconds: float


@dataclass
class Seen:
    """Figures of one user.

    Attributes:
        ms: wall time of each step.
        cpu_ms: processor time that this process took during each step, all threads together. Their
            work hardly overlaps, so on an idle machine a step takes about as long by the wall
            clock.
        wanted: number of steps without any waiting.
        tokens: tokens generated or read.
        seconds: total duration.
        notes: one per step, with noteworthy facts.
    """

    ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    wanted: int = 0
    tokens: int = 0
    seconds: float = 0.0
    notes: list = field(default_factory=list)

    @property
    def done(self) -> int:
        """Number of steps taken."""
        return len(self.ms)

    @property
    def per_second(self) -> float:
        """Tokens per second."""
        return self.tokens / self.seconds

    def time(self, step: Callable[[], object]) -> None:
        """Take one step and record its duration."""
        wall, cpu = time.perf_counter(), time.process_time()
        step()
        self.ms.append((time.perf_counter() - wall) * 1e3)
        self.cpu_ms.append((time.process_time() - cpu) * 1e3)

    @classmethod
    def of_all(cls, every: Iterable[Seen]) -> Seen:
        """Combine the figures of all users."""
        both = cls()
        for seen in every:
            both.ms += seen.ms
            both.cpu_ms += seen.cpu_ms
            both.wanted += seen.wanted
            both.tokens += seen.tokens
            both.seconds = max(both.seconds, seen.seconds)
        return both


Over = Callable[[], bool]
Work = Callable[[Seen, Over], None]  # records its figures until told that the time is over


def together(seconds: float, *works: Work) -> list[Seen]:
    """Run all works at the same time, each for at least one step; returns their figures.

    An exception in any work is raised here, and ends all works.
    """
    every, over, failures = [Seen() for _ in works], threading.Event(), []

    def visit(work: Work, seen: Seen) -> None:
        start = time.perf_counter()
        try:
            work(seen, over.is_set)
        except BaseException as error:  # in this thread it would be lost
            failures.append(error)
            over.set()
        finally:
            seen.seconds = time.perf_counter() - start

    threads = [
        threading.Thread(target=visit, args=both, daemon=True)
        for both in zip(works, every, strict=True)
    ]
    for thread in threads:
        thread.start()
    end = time.perf_counter() + seconds
    for thread in threads:
        while thread.is_alive() and not over.is_set() and time.perf_counter() < end:
            thread.join(min(LOOK_SECONDS, max(0.0, end - time.perf_counter())))
    over.set()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return every


def prompt_ids(model: LanguageModel, length: int) -> list[int]:
    """Return a prompt of exactly this many tokens; it is text if the model has a tokenizer."""
    if model.tokenizer is not None:
        ids = model.vocabulary.encode(TEXT)
        return (ids * math.ceil(length / len(ids)))[:length]
    return np.random.default_rng(0).integers(0, model.vocab_size, length).tolist()


def _usual_prompt(model: LanguageModel) -> list[int]:
    """Return a prompt that leaves at least half of the context to the text."""
    length = model.context_length
    return prompt_ids(model, PROMPT_TOKENS if length is None else min(PROMPT_TOKENS, length // 2))


def steps(model: LanguageModel, pace: Pace, seed: int = 0) -> Work:
    """Return a visitor who steps through their own text; a late step does not delay the next.

    The first step comes after a random part of the pace, because people do not start together.
    """
    decoder = Decoder(model, _usual_prompt(model), SETTINGS.replace(seed=seed))
    for _ in range(2):  # the prefill, and a step that is slower than the others
        decoder.step()
    first = pace.every * np.random.default_rng(seed).random()

    def work(seen: Seen, over: Over) -> None:
        seen.wanted = max(1, int((pace.seconds - first) / pace.every))
        start = time.perf_counter() + first
        for number in range(seen.wanted):
            if not _slept_until(start + number * pace.every, over) and seen.done:
                return
            seen.time(decoder.step)
            seen.tokens += 1
            if decoder.tokens_left == 0:
                decoder.rewind(1)

    return work


def _slept_until(moment: float, over: Over) -> bool:
    """Sleep until a moment of `perf_counter`; False if the time is over first."""
    while not over():
        left = moment - time.perf_counter()
        if left <= 0:
            return True
        time.sleep(min(left, LOOK_SECONDS))
    return False


def batches(model: LanguageModel, rows: int) -> Work:
    """Return work that runs batches of `rows`, one after another."""

    def work(seen: Seen, over: Over) -> None:
        ids = _usual_prompt(model)
        first = 0
        while True:
            seeds = range(first, first + rows)
            first += rows
            texts = [Row(ids, SETTINGS.replace(seed=seed), BATCH_TOKENS) for seed in seeds]
            before = seen.tokens
            for progress in Batch(model, texts).run():
                seen.tokens = before + progress.tokens_done
                if over() and seen.tokens:
                    return

    return work


def prefills(model: LanguageModel, tokens: int) -> Work:
    """Return work that reads long prompts one after another, each for the first time."""

    def work(seen: Seen, over: Over) -> None:
        while not (over() and seen.tokens):
            decoder = Decoder(model, prompt_ids(model, tokens), SETTINGS)
            seen.time(decoder.step)
            seen.tokens += tokens

    return work


def sweeps(model: LanguageModel) -> Work:
    """Return work that runs sweeps of 100 texts, one after another."""

    def work(seen: Seen, over: Over) -> None:
        while True:
            sweep = Sweep(
                SamplingSettings(),
                Axis("temperature", np.linspace(0.4, 1.2, 5).round(3)),
                Axis("top_p", np.linspace(0.6, 1.0, 5).round(3)),
                [prompt_ids(model, PROMPT_TOKENS)],
                range(4),
                BATCH_TOKENS,
            )
            before = seen.tokens
            for progress in sweep.run(model):
                seen.tokens = before + progress.tokens_done
                if over() and seen.tokens:
                    return

    return work


def contrastive(model: LanguageModel, candidates: int) -> Work:
    """Return work that runs contrastive searches of long texts, one after another."""

    def work(seen: Seen, over: Over) -> None:
        while True:
            search = ContrastiveSearch(model, prompt_ids(model, SEARCHED), candidates)
            for _ in range(BATCH_TOKENS):
                seen.time(search.step)
                seen.tokens += 1
                if over() and seen.tokens:
                    return

    return work


def rebuilds(model: LanguageModel, length: int) -> Work:
    """Return work that steps a text of `length` tokens whose cache is released before each step."""
    decoder = Decoder(model, prompt_ids(model, PROMPT_TOKENS), SETTINGS)
    for _ in range(length):
        decoder.step()

    def work(seen: Seen, over: Over) -> None:
        while not (over() and seen.tokens):
            twin = decoder.fork()
            if not twin.release_cache():
                raise RuntimeError("a cache that nobody uses could not be taken away")
            seen.time(twin.step)
            seen.tokens += 1
            seen.notes.append(twin.steps[-1].passes)

    return work
