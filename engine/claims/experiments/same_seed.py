"""The same settings give different texts; the same seed gives the same text."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.claims.experiment import Experiment, checked_prompts, checked_range, writing_seconds
from engine.claims.uncertainty import counted, share
from engine.claims.verdict import ABOVE, AT_LEAST, Check
from engine.decoding.batch import Batch, BatchText, Row
from engine.errors import msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.values import Amount, Text, Whole
from engine.values import Row as Values

MOST_RUNS = 32
MOST_TOKENS = 512
HALF = 0.5


@dataclass(frozen=True)
class Runs:
    """Texts of one prompt at one temperature.

    Attributes:
        prompt: what they go on from.
        temperature: of the draws.
        unseeded: texts, each with a fresh seed.
        seed: of the others.
        seeded: texts with that seed, each written on its own.
        tokens: of all texts together.
    """

    prompt: Text
    temperature: Amount
    unseeded: Values[Text]
    seed: Whole
    seeded: Values[Text]
    tokens: Whole


@dataclass(frozen=True)
class SameSeed:
    """Texts of some prompts at some temperatures."""

    runs: Values[Runs]

    @property
    def temperatures(self) -> list[float]:
        """Those that were tried."""
        return sorted({run.temperature for run in self.runs})

    def at(self, temperature: float) -> list[Runs]:
        """The runs at a temperature."""
        return [run for run in self.runs if run.temperature == temperature]

    def other(self, temperature: float) -> list[bool]:
        """Of each text with a fresh seed but the first of its prompt: whether it is another one."""
        runs = self.at(temperature)
        return [text != run.unseeded[0] for run in runs for text in run.unseeded[1:]]

    def same(self, temperature: float) -> list[bool]:
        """Of each text with the seed but the first of its prompt: whether it is the same."""
        runs = self.at(temperature)
        return [text == run.seeded[0] for run in runs for text in run.seeded[1:]]

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        checks = []
        for temperature in self.temperatures:
            part = f"T = {temperature:g}"
            same = self.same(temperature)
            checks.append(Check("other", share(self.other(temperature)), ABOVE, HALF, part))
            equal = counted(sum(same) / len(same), len(same))
            checks.append(Check("same", equal, AT_LEAST, 1.0, part))
        return tuple(checks)


class SameSeedExperiment(Experiment[SameSeed]):
    """Writes each prompt's text several times, with fresh seeds and with the same one.

    Args:
        model: what writes.
        prompts: what the texts go on from.
        temperatures: of the draws.
        runs: texts of each kind.
        tokens: most tokens of a text.
        seed: the same one.

    Raises:
        PromptError, SettingError: prompts or settings out of range.
    """

    noun = "prompt"

    def __init__(
        self,
        model: LanguageModel,
        prompts: Sequence[str],
        temperatures: Sequence[float] = (0.0, 0.8),
        runs: int = 4,
        tokens: int = 20,
        seed: int = 1,
    ) -> None:
        checked_range(msg("Texts of each kind"), runs, 2, MOST_RUNS)
        checked_range(msg("Tokens"), tokens, 1, MOST_TOKENS)
        prompts = checked_prompts(model, prompts, tokens)
        settings = [SamplingSettings(temperature=t, seed=seed) for t in temperatures]
        self._parts = [(prompt, one) for one in settings for prompt in prompts]
        super().__init__([1.0] * len(self._parts))
        self._model, self._count, self._tokens = model, runs, tokens
        self._runs: list[Runs] = []

    def _measure(self, part: int) -> None:
        prompt, settings = self._parts[part]
        fresh = [settings.replace(seed=secrets.randbits(32)) for _ in range(self._count)]
        unseeded = self._written(prompt, fresh)
        # Each in a batch of its own: together they would be one and the same computation.
        seeded = [text for _ in range(self._count) for text in self._written(prompt, [settings])]
        self._runs[part:] = [
            Runs(
                prompt,
                float(settings.temperature),
                tuple(text.text for text in unseeded),
                settings.seed,
                tuple(text.text for text in seeded),
                sum(len(text.records) for text in (*unseeded, *seeded)),
            )
        ]

    def _written(self, prompt: str, settings: Sequence[SamplingSettings]) -> list[BatchText]:
        batch = Batch(self._model, [Row(prompt, one, self._tokens) for one in settings])
        for _ in batch.run():
            pass
        for text in batch.texts:
            if text.error is not None:
                raise text.error
        return list(batch.texts)

    @property
    def result(self) -> SameSeed | None:
        return SameSeed(tuple(self._runs)) if self._runs else None

    def seconds(self, pace: Pace) -> float:
        alone = writing_seconds(pace, self._tokens) * self._count
        return (alone + writing_seconds(pace, self._tokens, self._count)) * len(self._parts)
