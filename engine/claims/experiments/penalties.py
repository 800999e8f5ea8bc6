"""A repetition penalty cures loops better than an instruction: both against plain greedy text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.claims.claim import Claim
from engine.claims.experiment import Experiment
from engine.claims.inputs import Line, Real
from engine.claims.texts import PROMPTS, TOKENS, Way, Written, texts_experiment, texts_table
from engine.claims.uncertainty import mean, share
from engine.claims.verdict import BELOW, Check, noted
from engine.errors import msg
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.values import Row

PLAIN, PENALTY, FORBID = "plain", "penalty", "words"
WAYS = {PLAIN: msg("plain"), PENALTY: msg("with the penalty"), FORBID: msg("with the words")}
WORDS = "Never repeat yourself. Say something new in every sentence."


@dataclass(frozen=True)
class Penalties:
    """Greedy texts for several prompts: plain, penalised, and told not to repeat."""

    texts: Row[Written]

    def by(self, way: str) -> list[Written]:
        """Return the texts written this way, in the order of the prompts."""
        return [text for text in self.texts if text.way == way]

    def more(self, way: str, other: str) -> list[float]:
        """Return each prompt's share of repeated 4-grams in `way`, minus that in `other`."""
        pairs = zip(self.by(way), self.by(other), strict=True)
        known = [(one.repeated, other.repeated) for one, other in pairs]
        return [one - other for one, other in known if one is not None and other is not None]

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        return (
            Check("penalty", mean(self.more(PENALTY, PLAIN)), BELOW, 0.0),
            Check("better", mean(self.more(PENALTY, FORBID)), BELOW, 0.0),
            noted("words", mean(self.more(FORBID, PLAIN))),
            *(
                noted(f"looped_{way}", share([text.looped for text in self.by(way)]))
                for way in (PLAIN, PENALTY, FORBID)
            ),
        )


def penalties(
    model: LanguageModel, prompts: Sequence[str], words: str, tokens: int, penalty: float
) -> Experiment[Penalties]:
    """Continue each prompt greedily in three ways.

    Args:
        model, prompts, tokens: see `texts_experiment`.
        words: text before the prompt in the third way.
        penalty: the repetition penalty.
    """
    greedy = SamplingSettings(temperature=0.0)
    ways = [
        Way(PLAIN, greedy),
        Way(PENALTY, greedy.replace(repetition_penalty=penalty)),
        Way(FORBID, greedy, f"{words.strip()} "),
    ]
    return texts_experiment(model, prompts, tokens, ways, Penalties)


CLAIM = Claim(
    "penalties",
    Penalties,
    (
        PROMPTS,
        Line("words", msg("Instruction not to repeat"), WORDS, is_wide=True),
        TOKENS,
        Real("penalty", msg("Repetition penalty"), 1.3),
    ),
    penalties,
    texts_table(WAYS),
)
