"""Greedy text loops: greedy decoding against nucleus sampling, on the same open prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.claims.claim import Claim
from engine.claims.experiment import Experiment
from engine.claims.inputs import Real
from engine.claims.texts import PROMPTS, TOKENS, Way, Written, texts_experiment, texts_table
from engine.claims.uncertainty import mean, share
from engine.claims.verdict import ABOVE, Check, noted
from engine.errors import msg
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.values import Row

GREEDY, NUCLEUS = "greedy", "nucleus"
WAYS = {GREEDY: msg("greedy"), NUCLEUS: msg("nucleus")}
SAMPLES = 2  # nucleus texts of each prompt


@dataclass(frozen=True)
class GreedyLoops:
    """Texts for several prompts, written greedily and by nucleus sampling."""

    texts: Row[Written]

    def by(self, way: str) -> list[Written]:
        """Return the texts written this way."""
        return [text for text in self.texts if text.way == way]

    def gaps(self, of: Callable[[Written], float | None]) -> list[float]:
        """Return, for each prompt, a figure of the greedy text minus the nucleus texts' mean."""
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


def greedy_loops(
    model: LanguageModel, prompts: Sequence[str], tokens: int, top_p: float
) -> Experiment[GreedyLoops]:
    """Continue each prompt greedily, and twice by nucleus sampling at temperature 1."""
    nucleus = SamplingSettings(top_p=top_p)
    ways = [
        Way(GREEDY, SamplingSettings(temperature=0.0)),
        *(Way(NUCLEUS, nucleus.replace(seed=seed)) for seed in range(SAMPLES)),
    ]
    return texts_experiment(model, prompts, tokens, ways, GreedyLoops)


CLAIM = Claim(
    "greedy_loops",
    GreedyLoops,
    (PROMPTS, TOKENS, Real("top_p", msg("Top-p of the nucleus"), 0.9, step=0.05)),
    greedy_loops,
    texts_table(WAYS),
)
