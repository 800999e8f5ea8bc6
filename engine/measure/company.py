"""People who use one model at once, simulated: each a thread that decodes until the time is over.

    >>> crowd = Crowd([partial(steps, model, Pace(1.0, 10.0), seed) for seed in (1, 2)])
    >>> crowd.start(); ...; crowd.stop(); crowd.join()

What they do is real: every step, batch and prompt goes through the model and the scheduler, like
that of a visitor of the app. Only the people are not.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.decoding.batch import Batch, Row
from engine.decoding.decoder import Decoder
from engine.errors import CancelledError
from engine.model import LanguageModel
from engine.runner.scheduler import job
from engine.sampling import SamplingSettings

LENGTH = 1_000  # tokens of a long prompt: the bundled model reads 1,024
PROMPT_TOKENS = 64
BATCH_TOKENS = 64
LOOK_SECONDS = 0.1  # between two looks whether the time is over, while nothing is to be done
SETTINGS = SamplingSettings(temperature=0.8, top_p=0.95, seed=0)
TEXT = "Once upon a time there was a small village by the sea. The people there told stories. " * 60


@dataclass(frozen=True)
class Pace:
    """How a visitor steps.

    Attributes:
        every: seconds from one step to the next.
        seconds: how long.
    """

    every: float
    seconds: float


@dataclass
class Seen:
    """What one of them saw.

    Attributes:
        ms: wall time of each step.
        cpu_ms: processor time that this process took meanwhile, everybody's together. What they do
            hardly overlaps, so on an idle machine a step takes about as long by the wall clock.
        wanted: steps there would have been without waiting.
        tokens: tokens generated or read.
        seconds: how long it took.
        notes: one per step, what is worth to know of it.
    """

    ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    wanted: int = 0
    tokens: int = 0
    seconds: float = 0.0
    notes: list = field(default_factory=list)

    @property
    def done(self) -> int:
        """Steps there were."""
        return len(self.ms)

    @property
    def per_second(self) -> float:
        """Tokens a second."""
        return self.tokens / self.seconds

    def time(self, step: Callable[[], object]) -> None:
        """Take one step and note how long it took."""
        wall, cpu = time.perf_counter(), time.process_time()
        step()
        self.ms.append((time.perf_counter() - wall) * 1e3)
        self.cpu_ms.append((time.process_time() - cpu) * 1e3)

    @classmethod
    def of_all(cls, every: Iterable[Seen]) -> Seen:
        """What all of them saw together."""
        both = cls()
        for seen in every:
            both.ms += seen.ms
            both.cpu_ms += seen.cpu_ms
            both.wanted += seen.wanted
            both.tokens += seen.tokens
            both.seconds = max(both.seconds, seen.seconds)
        return both


Over = Callable[[], bool]
Work = Callable[[Seen, Over], None]  # notes what it sees until it is told that the time is over


class _Numbers:
    """The numbers that simulated visitors of this process have; the lowest free one is next."""

    def __init__(self) -> None:
        self._taken: set[int] = set()
        self._lock = threading.Lock()

    def take(self) -> int:
        with self._lock:
            number = next(n for n in range(1, len(self._taken) + 2) if n not in self._taken)
            self._taken.add(number)
            return number

    def give_back(self, number: int) -> None:
        with self._lock:
            self._taken.discard(number)


_NUMBERS = _Numbers()


class Crowd:
    """Some visitors at once.

    Args:
        makers: each makes the work of one visitor, in that visitor's thread.
        leaves_at_once: whether a visitor leaves in the middle of its work when the time is over;
            else it takes the step or the prompt that it is at to its end.

    Attributes:
        seen: what each of them saw.
        failure: what one of them raised, which ends the work of all; None if none did.
    """

    def __init__(
        self, makers: Sequence[Callable[[], Work]], *, leaves_at_once: bool = False
    ) -> None:
        self.seen = [Seen() for _ in makers]
        self.failure: BaseException | None = None
        self._over = threading.Event()
        self._should_stop: Over = self._over.is_set if leaves_at_once else lambda: False
        self._threads = [
            threading.Thread(target=self._visit, args=both, daemon=True)
            for both in zip(makers, self.seen, strict=True)
        ]

    def start(self) -> None:
        """Let them all begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Tell them that the time is over."""
        self._over.set()

    def wait(self, seconds: float) -> None:
        """Until the time is over, they are all done, or one of them has failed."""
        end = time.perf_counter() + seconds
        for thread in self._threads:
            while thread.is_alive() and not self._over.is_set() and time.perf_counter() < end:
                thread.join(min(LOOK_SECONDS, max(0.0, end - time.perf_counter())))

    def join(self, seconds: float | None = None) -> None:
        """Until they have all gone, at most so long each."""
        for thread in self._threads:
            thread.join(seconds)

    def _visit(self, make: Callable[[], Work], seen: Seen) -> None:
        number, start = _NUMBERS.take(), time.perf_counter()
        try:
            with job(self._should_stop, visitor=number):
                make()(seen, self._over.is_set)
        except CancelledError:
            pass  # the time is over: nobody else cancels
        except BaseException as error:  # for whoever began them: in this thread it would be lost
            self.failure = self.failure or error
            self._over.set()
        finally:
            seen.seconds = time.perf_counter() - start
            _NUMBERS.give_back(number)


def together(seconds: float, *works: Work) -> list[Seen]:
    """Let them all work for so long at once, each for one step at least; what each saw.

    What one of them raises is raised here, and ends the work of all.
    """
    crowd = Crowd([lambda work=work: work for work in works])
    crowd.start()
    crowd.wait(seconds)
    crowd.stop()
    crowd.join()
    if crowd.failure is not None:
        raise crowd.failure
    return crowd.seen


def prompt_ids(model: LanguageModel, length: int) -> list[int]:
    """A prompt of exactly this many tokens: text where the model has a tokenizer."""
    if model.tokenizer is not None:
        ids = model.vocabulary.encode(TEXT)
        return (ids * math.ceil(length / len(ids)))[:length]
    return np.random.default_rng(0).integers(0, model.vocab_size, length).tolist()


def _usual_prompt(model: LanguageModel) -> list[int]:
    """A prompt that leaves at least half of the context to the text."""
    length = model.context_length
    return prompt_ids(model, PROMPT_TOKENS if length is None else min(PROMPT_TOKENS, length // 2))


def steps(model: LanguageModel, pace: Pace, seed: int = 0) -> Work:
    """Somebody who steps through a text of their own; a late step makes none of the next wait.

    The first step comes after a random part of the pace, as people do not begin together.
    """
    decoder = Decoder(model, _usual_prompt(model), SETTINGS.replace(seed=seed))
    for _ in range(2):  # the prefill, and a step that is slower than all others
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
    """Sleep until a moment of `perf_counter`; False where the time is over before."""
    while not over():
        left = moment - time.perf_counter()
        if left <= 0:
            return True
        time.sleep(min(left, LOOK_SECONDS))
    return False


def batches(model: LanguageModel, rows: int) -> Work:
    """One batch of so many rows after another."""

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
    """One long prompt after another, each read for the first time."""

    def work(seen: Seen, over: Over) -> None:
        while not (over() and seen.tokens):
            decoder = Decoder(model, prompt_ids(model, tokens), SETTINGS)
            seen.time(decoder.step)
            seen.tokens += tokens

    return work
