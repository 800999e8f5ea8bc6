"""Penalties, not prompts, cure loops: a repetition penalty against words that forbid repeating."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.claims.texts import TextsExperiment, Way, Written
from engine.claims.uncertainty import mean, share
from engine.claims.verdict import ABOVE, AT_MOST, Check, noted
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.trace.values import Record, Row, of

PLAIN, PENALTY, WORDS = "plain", "penalty", "words"


@dataclass(frozen=True)
class Penalties:
    """Greedy texts of some prompts: as they are, with a penalty, and with words that forbid it."""

    texts: tuple[Written, ...] = of(Row(Record(Written)))

    def by(self, way: str) -> list[Written]:
        """The texts that were written this way, in the order of the prompts."""
        return [text for text in self.texts if text.way == way]

    def less(self, way: str) -> list[float]:
        """Of each prompt: how much less its text repeats than the plain one."""
        pairs = zip(self.by(PLAIN), self.by(way), strict=True)
        known = [(one.repeated, other.repeated) for one, other in pairs]
        return [one - other for one, other in known if one is not None and other is not None]

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        return (
            Check("penalty", mean(self.less(PENALTY)), ABOVE, 0.0),
            Check("words", mean(self.less(WORDS)), AT_MOST, 0.0),
            *(
                noted(f"looped_{way}", share([text.looped for text in self.by(way)]))
                for way in (PLAIN, PENALTY, WORDS)
            ),
        )


class PenaltiesExperiment(TextsExperiment[Penalties]):
    """Writes each prompt's text greedily in three ways.

    Args:
        model, prompts, tokens: see `TextsExperiment`.
        penalty: the repetition penalty.
        words: put before the prompt in the third way.

    Raises:
        PromptError, SettingError: prompts or settings out of range.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompts: Sequence[str],
        words: str,
        tokens: int = 64,
        penalty: float = 1.3,
    ) -> None:
        greedy = SamplingSettings(temperature=0.0)
        ways = [
            Way(PLAIN, greedy),
            Way(PENALTY, greedy.replace(repetition_penalty=penalty)),
            Way(WORDS, greedy, f"{words.strip()} "),
        ]
        super().__init__(model, prompts, tokens, ways)

    @property
    def result(self) -> Penalties | None:
        return Penalties(self.written) if self._written else None
