"""Several ways of decoding, timed on one prompt: the text and the cost of each.

    >>> clock = OneClock(model, ids, [Entrant("greedy", lambda: Decoder(model, ids, greedy), 32)])
    >>> list(clock.run())
    ['greedy', 'greedy', 'greedy']
    >>> clock.timed["greedy"].median_ms
    118.4

Each starts over in every round, prompt included, and every round runs them all in turn. So a
temporary slowdown of the machine slows them all.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.decoding.generation import Generation
from engine.errors import CancelledError, DecodingError
from engine.model import LanguageModel
from engine.model.passes import counted_passes
from engine.study.likelihood import token_logprobs
from engine.study.metrics import sequence_logprob

ROUNDS = 3


@dataclass(frozen=True)
class Timed:
    """The text and the cost of one way of decoding.

    Attributes:
        text: its text after the prompt.
        tokens: length of the text in the judge's tokens.
        passes: forward passes, including those of a second model.
        judge_passes: forward passes of the judge itself.
        positions: positions that all passes computed, counting every row.
        weight_bytes: bytes of weights that the passes read; computed (see `Passes.weight_bytes`).
        milliseconds: wall time of each round, prompt included; an untimed step comes before the
            first.
        logprob: log-probability of the text under the judge, in nats.
        stop_reason: why it ended, None if it reached the limit.
    """

    text: str
    tokens: int
    passes: int
    judge_passes: int
    positions: int
    weight_bytes: int
    milliseconds: tuple[float, ...]
    logprob: float
    stop_reason: str | None

    @property
    def median_ms(self) -> float:
        """Median of the rounds."""
        return statistics.median(self.milliseconds)

    @property
    def ms_per_token(self) -> float | None:
        """Median milliseconds per token; None for a text without tokens."""
        return self.median_ms / self.tokens if self.tokens else None

    @property
    def nats_per_token(self) -> float | None:
        """Mean log-probability of a token; None for a text without one."""
        return self.logprob / self.tokens if self.tokens else None


@dataclass(frozen=True)
class Entrant:
    """One way of decoding to be timed.

    Attributes:
        name: its name.
        begin: returns its generation, before the first step; this call is not timed.
        most: limit for `Generation.run`; None to run until the text ends by itself.
        written: returns the token ids after the prompt, in the judge's vocabulary.
    """

    name: str
    begin: Callable[[], Generation]
    most: int | None
    written: Callable[[Any], Sequence[int]] = lambda text: text.token_ids


class OneClock:
    """Several ways of decoding, timed in turn.

    Args:
        judge: the model under which all texts are scored.
        prompt_ids: the common prompt, in the judge's tokens.
        entrants: the ways of decoding, each with a unique name.
        rounds: how often each is run.

    Attributes:
        entrants: as given.
        runs: total number of runs.
        done: number of finished runs.
        failed: by name, why an entrant could not be run; the others continue.
    """

    def __init__(
        self,
        judge: LanguageModel,
        prompt_ids: Sequence[int],
        entrants: Sequence[Entrant],
        rounds: int = ROUNDS,
    ) -> None:
        self.entrants = tuple(entrants)
        self.runs = len(self.entrants) * rounds
        self.done = 0
        self.failed: dict[str, str] = {}
        self._judge = judge
        self._prompt_ids = list(prompt_ids)
        self._timed: dict[str, Timed] = {}

    @property
    def timed(self) -> dict[str, Timed]:
        """Results by name, for entrants that have run at least once."""
        return dict(self._timed)

    def run(self) -> Iterator[str]:
        """Do the remaining runs; yields the entrant's name before each.

        Raises:
            CancelledError: the job of this thread was cancelled; finished runs are kept.
        """
        while self.done < self.runs:
            entrant = self.entrants[self.done % len(self.entrants)]
            if entrant.name not in self.failed:
                yield entrant.name
                try:
                    if self.done < len(self.entrants):
                        _warm_up(entrant)
                    self._run_once(entrant)
                except CancelledError:
                    raise
                except DecodingError as error:
                    self.failed[entrant.name] = error.message
            self.done += 1

    def _run_once(self, entrant: Entrant) -> None:
        text = entrant.begin()
        try:
            with counted_passes() as passes:
                start = time.perf_counter()
                for _ in text.run(entrant.most):
                    pass
                ms = (time.perf_counter() - start) * 1e3
            token_ids = list(entrant.written(text))
        finally:
            text.release_cache()
        before = self._timed.get(entrant.name)
        if before is not None:  # the text is the same: everything is seeded
            rounds = (*before.milliseconds, ms)
            self._timed[entrant.name] = replace(before, milliseconds=rounds)
            return
        logprobs = token_logprobs(self._judge, self._prompt_ids, token_ids)
        token_bytes = self._judge.vocabulary.token_bytes
        special = self._judge.vocabulary.is_special
        spelt = b"".join(token_bytes(one) for one in token_ids if not special(one))
        self._timed[entrant.name] = Timed(
            text=spelt.decode("utf-8", "replace"),
            tokens=len(token_ids),
            passes=passes.total,
            judge_passes=passes.of(self._judge),
            positions=passes.positions,
            weight_bytes=passes.weight_bytes,
            milliseconds=(ms,),
            logprob=sequence_logprob(logprobs),
            stop_reason=text.stop_reason,
        )


def _warm_up(entrant: Entrant) -> None:
    """Take an untimed step: first passes load code and reserve memory."""
    text = entrant.begin()
    try:
        text.step()
    finally:
        text.release_cache()
