"""Speculative decoding is two to three times as fast: measured against plain decoding, in turns.

After each prompt, plain decoding and every draft length write a text with the same settings and
seed, one after the other, then once more in reverse. Their processor time is taken without the
first step or round, which reads the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.claims.experiment import (
    MOST_PROMPTS,
    Experiment,
    checked_prompts,
    checked_range,
    steady,
)
from engine.claims.uncertainty import ratio
from engine.claims.verdict import AT_LEAST, Check, noted
from engine.decoding.decoder import Decoder
from engine.decoding.speculative import SpeculativeDecoder
from engine.errors import SettingError, msg
from engine.measure.pace import Pace
from engine.measure.passes import processor_clock
from engine.measure.reference import Reference
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.speculation import SpeculativeSettings
from engine.study.acceptance import Acceptance
from engine.values import Amount, Positive, Row, Text, Whole

MOST_TOKENS, MOST_LENGTHS = 256, 8
TURNS = 2  # of every case after a prompt, the second in reverse order
WARM_TOKENS = 8


@dataclass(frozen=True)
class Sped:
    """One draft length after one prompt.

    Attributes:
        prompt: the prompt.
        length: tokens that a round was to propose.
        accepted, looked_at: proposals that the target accepted, and those that it looked at.
        tokens, rounds: tokens written, and rounds for them, without the first round.
        cost: time of a round / time of a step of plain decoding.
    """

    prompt: Text
    length: Positive
    accepted: Whole
    looked_at: Whole
    tokens: Positive
    rounds: Positive
    cost: Amount

    @property
    def speedup(self) -> float:
        """Time of a token by plain decoding / by speculative decoding."""
        return self.tokens / self.rounds / self.cost


@dataclass(frozen=True)
class Speedups:
    """The trials of some prompts.

    Attributes:
        trials: by prompt and draft length.
        bound: the speed-up that the claim promises.
        has_draft: whether a draft model proposed; else prompt lookup did.
        reference_ms: the reference product before each turn.
    """

    trials: Row[Sped]
    bound: Amount
    has_draft: bool
    reference_ms: Row[Amount]

    def at(self, length: int) -> list[Sped]:
        """The trials of a draft length."""
        return [trial for trial in self.trials if trial.length == length]

    @property
    def lengths(self) -> list[int]:
        """The draft lengths, ascending."""
        return sorted({trial.length for trial in self.trials})

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        checks = []
        for length in self.lengths:
            part, trials = f"g = {length}", self.at(length)
            accepted = ratio([(one.accepted, one.looked_at) for one in trials])
            # Over all prompts together, so that a round's tokens over its cost are the speed-up.
            speedup = ratio([(one.tokens, one.rounds * one.cost) for one in trials])
            checks += [
                Check("speedup", speedup, AT_LEAST, self.bound, part),
                noted("accepted", accepted, part),
                noted("per_pass", ratio([(one.tokens, one.rounds) for one in trials]), part),
                noted("cost", ratio([(o.rounds * o.cost, o.rounds) for o in trials]), part),
            ]
        return (*checks, steady(self.reference_ms))


class SpeculativeExperiment(Experiment[Speedups]):
    """Times plain and speculative decoding after each prompt.

    Args:
        model: the target.
        prompts: what the texts go on from.
        draft: gives the draft model, or None for prompt lookup; asked once, when it begins.
        lengths: draft lengths.
        tokens: of each text, at most.
        temperature: of the draws of both models.
        bound: the speed-up that the claim promises.

    Raises:
        PromptError, SettingError: prompts or settings out of range.
    """

    noun = "prompt"

    def __init__(
        self,
        model: LanguageModel,
        prompts: Sequence[str],
        draft: Callable[[], LanguageModel | None],
        lengths: Sequence[int] = (2, 4, 8),
        tokens: int = 40,
        temperature: float = 0.0,
        bound: float = 2.0,
    ) -> None:
        checked_range(msg("Tokens"), tokens, 8, MOST_TOKENS)
        checked_range(msg("Draft lengths, how many"), len(lengths), 1, MOST_LENGTHS)
        checked_range(msg("Speed-up"), bound, 1.0, 100.0)
        self._prompts = checked_prompts(model, prompts, tokens)
        checked_range("Prompts, how many", len(prompts), 1, MOST_PROMPTS)
        super().__init__([1.0] * len(prompts))
        self._sampling = SamplingSettings(temperature=temperature)
        checked = [SpeculativeSettings(self._sampling, _whole(length)) for length in lengths]
        self._lengths = [settings.draft_length for settings in checked]
        self._model, self._asked, self._tokens, self._bound = model, draft, tokens, bound
        self._draft: LanguageModel | None = None
        self._clock = processor_clock(model)
        self._reference, self._references = Reference(model, self._clock), []
        self._trials: list[list[Sped]] = []

    def _measure(self, part: int) -> None:
        prompt = self._prompts[part]
        if part == 0:
            self._draft = self._asked()
            for length in (None, *self._lengths):  # first passes are slower than all others
                self._timed(prompt, length, WARM_TOKENS)
        references = []
        cases = [None, *self._lengths]
        times: dict[int | None, list[float]] = {case: [] for case in cases}
        steps: dict[int | None, list] = {case: [] for case in cases}
        for turn in range(TURNS):
            references.append(self._reference.ms())
            for case in cases[:: -1 if turn % 2 else 1]:
                for step, seconds in self._timed(prompt, case, self._tokens)[1:]:
                    steps[case].append(step)
                    times[case].append(seconds)
        if not all(steps.values()):
            remedy = msg("use another prompt")
            raise SettingError(msg("Prompt"), prompt, "ends with its first tokens", remedy)
        plain = sum(times[None]) / len(times[None])
        self._references[part * TURNS :] = references
        self._trials[part:] = [
            [
                self._sped(prompt, g, steps[g], sum(times[g]) / len(times[g]) / plain)
                for g in self._lengths
            ]
        ]

    def _timed(self, prompt: str, length: int | None, tokens: int) -> list[tuple[Any, float]]:
        """The steps of plain decoding, or the rounds of a draft length, and the time of each."""
        if length is None:
            return self._of_each(Decoder(self._model, prompt, self._sampling).run(tokens))
        settings = SpeculativeSettings(self._sampling, length, max_new_tokens=tokens)
        return self._of_each(SpeculativeDecoder(self._model, prompt, self._draft, settings).run())

    def _of_each(self, steps: Iterable[Any]) -> list[tuple[Any, float]]:
        found, start = [], self._clock()
        for step in steps:
            found.append((step, self._clock() - start))
            start = self._clock()
        return found

    @staticmethod
    def _sped(prompt: str, length: int, rounds: Sequence, cost: float) -> Sped:
        counts = Acceptance.of(rounds)
        accepted, looked_at = sum(counts.accepted), sum(counts.looked_at)
        return Sped(prompt, length, accepted, looked_at, counts.tokens, counts.rounds, cost)

    @property
    def result(self) -> Speedups | None:
        trials = tuple(trial for group in self._trials for trial in group)
        if not trials:
            return None
        has_draft = self._draft is not None
        return Speedups(trials, self._bound, has_draft, tuple(self._references))

    def seconds(self, pace: Pace) -> float:
        texts = TURNS * (1 + len(self._lengths)) * len(self._prompts)
        return pace.step_seconds(self._tokens) * texts


def _whole(length: float) -> float:
    """A draft length as a whole number where it is one; the settings refuse any other."""
    return int(length) if float(length).is_integer() else length
