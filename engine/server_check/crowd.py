"""Check: the same greedy text alone, and while the server works on other texts."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from engine.backend.server_model import ServerModel
from engine.errors import CapabilityError, Message, msg
from engine.runner.job import this_job
from engine.server_check.finding import AS_EXPECTED, DIFFERS, OPEN, Sheet, TokenText
from engine.server_check.greedy import Place, first_difference, greedy, largest

TIE = 1e-6  # nats: equal logits, up to the rounding of their log-probabilities


@dataclass(frozen=True)
class Step:
    """A step alone and crowded.

    Attributes:
        alone, crowded: the token chosen; the texts are compared until they part.
        gap: log-probability of the best token above that of the second, alone, in nats.
        repeated: largest difference of a log-probability between two readings alone, in nats.
        moved: the same between alone and crowded.
    """

    alone: TokenText
    crowded: TokenText
    gap: float
    repeated: float | None
    moved: float


@dataclass(frozen=True)
class Crowd:
    """A greedy text alone twice, then among others.

    Attributes:
        others: number of texts in progress at the same time.
        answers: number of answers that these got while the crowded text was read.
        steps: each step, until the texts part.
        parts_alone: index of the first step that differs between the two readings alone; None
            if none does.
        parts: the same between alone and crowded.
    """

    others: int
    answers: int
    steps: tuple[Step, ...]
    parts_alone: int | None
    parts: int | None

    title: ClassVar[Message] = msg("Temperature 0 in a crowd")

    @property
    def outcome(self) -> str:
        """As expected if the texts are the same, and the others were really in progress."""
        if self.parts is not None or self.parts_alone is not None:
            return DIFFERS
        return AS_EXPECTED if self.answers else OPEN

    @property
    def moved(self) -> float:
        """Largest difference of a log-probability between alone and crowded, in nats."""
        return max((each.moved for each in self.steps), default=0.0)

    @property
    def ties(self) -> int:
        """Number of steps at which the two best tokens are equally likely."""
        return sum(each.gap <= TIE for each in self.steps)

    @property
    def sentences(self) -> list[Message]:
        """The verdict."""
        said = []
        if self.parts_alone is not None:
            said.append(
                msg(
                    "Even alone it does not repeat its text: token {number} differs.",
                    self.parts_alone + 1,
                )
            )
        if self.parts is None:
            closest = min((each.gap for each in self.steps), default=0.0)
            said.append(
                msg(
                    "Among {others} other texts it chose the same {count} tokens as alone. "
                    "Log-probabilities moved by up to {moved:.4f} nats, and the closest choice "
                    "was {gap:.4f} nats.",
                    (self.others, len(self.steps), self.moved, closest),
                )
            )
        else:
            step = self.steps[self.parts]
            said.append(
                msg(
                    "Among {others} other texts, token {number} differs: {crowded} instead of "
                    "{alone}. The two best were {gap:.4f} nats apart there, and "
                    "log-probabilities moved by {moved:.4f} nats.",
                    (
                        self.others,
                        self.parts + 1,
                        step.crowded.quoted,
                        step.alone.quoted,
                        step.gap,
                        step.moved,
                    ),
                )
            )
        if self.ties:
            said.append(msg("At {ties} steps the two best were equally likely.", self.ties))
        said.append(msg("The other texts got {answers:,} answers meanwhile.", self.answers))
        return said

    @property
    def sheets(self) -> list[Sheet]:
        """Every step."""
        head = (
            msg("token"),
            msg("alone"),
            msg("crowded"),
            msg("gap of the two best, nats"),
            msg("alone again, nats"),
            msg("crowded, nats"),
        )
        rows = [
            (str(number), each.alone, each.crowded, each.gap, each.repeated, each.moved)
            for number, each in enumerate(self.steps, 1)
        ]
        return [Sheet(msg("The text, alone and crowded"), head, tuple(rows))]


def check_crowd(model: ServerModel, prompt: Sequence[int], others: int, length: int) -> Crowd:
    """Read a greedy text twice alone, then while `others` texts are in progress.

    Raises:
        CapabilityError: the server works on one text at a time.
    """
    if model.description.slots == 1:
        raise CapabilityError(
            "{name} works on one text at a time, so none is crowded; start it with more slots.",
            model.name,
        )
    alone = greedy(model, prompt, length)
    again = greedy(model, prompt, length)
    with crowded(model, prompt, others, length) as answers:
        before = len(answers)
        among = greedy(model, prompt, length)
        during = len(answers) - before
    parts = first_difference(alone, among)
    end = len(alone) if parts is None else parts + 1
    steps = [
        _step(model, one, again[i] if i < len(again) else None, other)
        for i, (one, other) in enumerate(zip(alone[:end], among[:end], strict=False))
    ]
    return Crowd(others, during, tuple(steps), first_difference(alone, again), parts)


def _step(model: ServerModel, alone: Place, again: Place | None, among: Place) -> Step:
    return Step(
        TokenText(model.vocabulary.label(alone.best)),
        TokenText(model.vocabulary.label(among.best)),
        alone.gap,
        None if again is None else largest(alone, again),
        largest(alone, among),
    )


@contextmanager
def crowded(
    model: ServerModel, prompt: Sequence[int], others: int, length: int
) -> Iterator[list[None]]:
    """Keep a server busy with other texts inside the block; yields one entry per answer.

    Their requests do not wait for a slot here, as the server is to have all of them at once.

    Raises:
        DecodingError: at the end of the block, if the server failed another text.
    """
    over, answers, failures = threading.Event(), [], []

    def work(number: int) -> None:
        turn = 1 + number % max(1, len(prompt) - 1)
        while not over.is_set():
            ids, session = [*prompt[turn:], *prompt[:turn]], secrets.token_hex(16)
            for _ in range(length):
                if over.is_set():
                    return
                try:
                    listed = model.dialect.next_scores(ids, model.count, session=session)
                except Exception as error:  # raised again after the block
                    failures.append(error)
                    return
                answers.append(None)
                ids.append(int(listed.ids[min(number % 3, listed.ids.size - 1)]))

    with ThreadPoolExecutor(max(1, others)) as threads:
        try:
            for number in range(others):
                threads.submit(work, number)
            while len(answers) < others and not failures:
                this_job().check()
                over.wait(0.01)
            yield answers
        finally:
            over.set()
    if failures:
        raise failures[0]
