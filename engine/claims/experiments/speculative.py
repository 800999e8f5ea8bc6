"""Speculative decoding is two to three times as fast: measured against plain decoding, in turns.

Each prompt has a trial of its own (`engine.study.speedup`), with the same settings and seed for
plain decoding and every draft length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.claims.experiment import Experiment, checked_prompts, checked_range
from engine.claims.uncertainty import mean, ratio
from engine.claims.verdict import AT_LEAST, Check, noted
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.speculation import SpeculativeSettings
from engine.study.speedup import SpeedPoint, SpeedTrial
from engine.trace.values import Flag, Real, Record, Row, Text, Whole, of

MOST_TOKENS, MOST_LENGTHS = 256, 8


@dataclass(frozen=True)
class Sped:
    """What one draft length came to after one prompt.

    Attributes:
        prompt: the prompt.
        length: tokens that a round was to propose.
        accepted, looked_at: proposals that the target accepted, and those that it looked at.
        tokens, passes: tokens written, and passes of the target for them, without the prefill.
        speedup: time of a token by plain decoding / by speculative decoding.
    """

    prompt: str = of(Text())
    length: int = of(Whole(1))
    accepted: int = of(Whole(0))
    looked_at: int = of(Whole(0))
    tokens: int = of(Whole(0))
    passes: int = of(Whole(0))
    speedup: float = of(Real(0))

    @classmethod
    def of_point(cls, prompt: str, point: SpeedPoint) -> Sped:
        """The figures of a trial that the claim needs."""
        counts = point.acceptance
        return cls(
            prompt,
            point.length,
            sum(counts.accepted),
            sum(counts.looked_at),
            counts.tokens,
            counts.rounds,
            point.measured,
        )


@dataclass(frozen=True)
class Speedups:
    """What some prompts came to.

    Attributes:
        trials: by prompt and draft length.
        bound: the speed-up that the claim promises.
        has_draft: whether a draft model proposed; else prompt lookup did.
    """

    trials: tuple[Sped, ...] = of(Row(Record(Sped)))
    bound: float = of(Real(0))
    has_draft: bool = of(Flag())

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
            per_pass = ratio([(one.tokens, one.passes) for one in trials])
            speedup = mean([one.speedup for one in trials])
            checks += [
                Check("speedup", speedup, AT_LEAST, self.bound, part),
                noted("accepted", accepted, part),
                noted("per_pass", per_pass, part),
            ]
        return tuple(checks)


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
        checked_range("Tokens", tokens, 8, MOST_TOKENS)
        checked_range("Draft lengths, how many", len(lengths), 1, MOST_LENGTHS)
        checked_range("Speed-up", bound, 1.0, 100.0)
        self._prompts = checked_prompts(model, prompts, tokens)
        super().__init__([1.0] * len(prompts))
        self._settings = SpeculativeSettings(SamplingSettings(temperature=temperature))
        self._lengths = [
            self._settings.replace(draft_length=_whole(g)).draft_length for g in lengths
        ]
        self._model, self._asked, self._tokens, self._bound = model, draft, tokens, bound
        self._draft: LanguageModel | None = None
        self._trials: list[list[Sped]] = []

    def _measure(self, part: int) -> None:
        if part == 0:
            self._draft = self._asked()
        prompt = self._prompts[part]
        trial = SpeedTrial(
            self._model,
            prompt,
            self._draft,
            self._settings,
            lengths=self._lengths,
            tokens=self._tokens,
            turns=1,
        )
        for _ in trial:
            pass
        points = trial.result().points
        self._trials[part:] = [[Sped.of_point(prompt, point) for point in points]]

    @property
    def result(self) -> Speedups | None:
        trials = tuple(trial for group in self._trials for trial in group)
        return Speedups(trials, self._bound, self._draft is not None) if trials else None

    def seconds(self, pace: Pace) -> float:
        texts = 2 + len(self._lengths)  # one warms everything up, one is plain
        return pace.step_seconds(self._tokens) * texts * len(self._prompts)


def _whole(length: float) -> float:
    """A draft length as a whole number where it is one; the settings refuse any other."""
    return int(length) if float(length).is_integer() else length
