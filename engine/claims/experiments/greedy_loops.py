"""Greedy text loops: greedy decoding against the nucleus, on the same open prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.claims.texts import TextsExperiment, Way, Written
from engine.claims.uncertainty import mean, share
from engine.claims.verdict import ABOVE, Check, noted
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.values import Row

GREEDY, NUCLEUS = "greedy", "nucleus"
SAMPLES = 2  # nucleus texts of each prompt


@dataclass(frozen=True)
class GreedyLoops:
    """Texts of some prompts, written both ways."""

    texts: Row[Written]

    def by(self, way: str) -> list[Written]:
        """The texts that were written this way."""
        return [text for text in self.texts if text.way == way]

    def gaps(self, of: Callable[[Written], float | None]) -> list[float]:
        """A figure of each prompt's greedy text, minus its mean in the nucleus texts."""
        gaps = []
        for greedy in self.by(GREEDY):
            others = [of(text) for text in self.by(NUCLEUS) if text.prompt == greedy.prompt]
            known = [other for other in others if other is not None]
            own = of(greedy)
            if own is not None and known:
                gaps.append(own - sum(known) / len(known))
        return gaps

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        return (
            Check("loops", mean(self.gaps(lambda text: float(text.looped))), ABOVE, 0.0),
            Check("repeats", mean(self.gaps(lambda text: text.repeated)), ABOVE, 0.0),
            noted("looped", share([text.looped for text in self.by(GREEDY)])),
            noted("drawn", share([text.looped for text in self.by(NUCLEUS)])),
        )


class GreedyLoopsExperiment(TextsExperiment[GreedyLoops]):
    """Writes each prompt's text greedily, and twice from the nucleus.

    Args:
        model, prompts, tokens: see `TextsExperiment`.
        top_p: of the nucleus, at temperature 1.

    Raises:
        PromptError, SettingError: prompts or settings out of range.
    """

    def __init__(
        self, model: LanguageModel, prompts: Sequence[str], tokens: int = 128, top_p: float = 0.9
    ) -> None:
        nucleus = SamplingSettings(top_p=top_p)
        ways = [
            Way(GREEDY, SamplingSettings(temperature=0.0)),
            *(Way(NUCLEUS, nucleus.replace(seed=seed)) for seed in range(SAMPLES)),
        ]
        super().__init__(model, prompts, tokens, ways)

    @property
    def result(self) -> GreedyLoops | None:
        return GreedyLoops(self.written) if self._written else None
