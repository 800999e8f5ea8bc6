"""Beam search finds likelier but more repetitive text than nucleus sampling and greedy decoding.

Greedy decoding is the control: it also maximises, but without a search.

All texts of a prompt have the same number of tokens, because the end of the text is banned. Sums of
log-probabilities and shares of distinct pairs are comparable only at equal length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.claims import inputs
from engine.claims.claim import Claim, Table
from engine.claims.experiment import Experiment, checked_prompts, writing_seconds
from engine.claims.inputs import Whole
from engine.claims.uncertainty import Figure, mean
from engine.claims.verdict import ABOVE, Check, noted
from engine.decoding.beam import BeamSettings
from engine.errors import msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling.samplers import MinNewTokens
from engine.study.set_texts import BEAM, GREEDY, SAMPLE, write_set_texts
from engine.values import Logprob, Name, Row, Share, Text

PROMPTS = """They think that
The most important thing is
The old house stood
I would like to
We talked about
In the middle of the forest
My favourite thing in the world is
The history of"""
WAYS = {BEAM: msg("beam search"), GREEDY: msg("greedy"), SAMPLE: msg("nucleus")}
PARTS = {GREEDY: msg("than greedy decoding"), SAMPLE: msg("than nucleus text")}
SAMPLES = 2  # nucleus texts of each prompt


@dataclass(frozen=True)
class Searched:
    """One text and its figures.

    Attributes:
        prompt: the prompt that the text continues.
        kind: its decoder, one of `engine.study.set_texts.KINDS`.
        text: the generated text.
        logprob: logarithm of its probability under the model itself, in nats.
        distinct: distinct pairs of tokens over all pairs.
    """

    prompt: Text
    kind: Name
    text: Text
    logprob: Logprob
    distinct: Share


@dataclass(frozen=True)
class BeamTexts:
    """Texts for several prompts, written in three ways; of each beam search, only the best."""

    texts: Row[Searched]

    def means(self, kind: str, attribute: str) -> list[float]:
        """Return each prompt's mean of a figure over its texts from one decoder."""
        groups: dict[str, list[float]] = {}
        for text in self.texts:
            if text.kind == kind:
                groups.setdefault(text.prompt, []).append(getattr(text, attribute))
        return [sum(group) / len(group) for group in groups.values()]

    def _gap(self, first: str, second: str, attribute: str) -> Figure:
        pairs = zip(self.means(first, attribute), self.means(second, attribute), strict=True)
        return mean([one - other for one, other in pairs])

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        return (
            *(
                check
                for kind, part in PARTS.items()
                for check in (
                    Check("likelier", self._gap(BEAM, kind, "logprob"), ABOVE, 0.0, part),
                    Check("less", self._gap(kind, BEAM, "distinct"), ABOVE, 0.0, part),
                )
            ),
            noted("beam", mean(self.means(BEAM, "distinct"))),
            noted("greedy", mean(self.means(GREEDY, "distinct"))),
            noted("nucleus", mean(self.means(SAMPLE, "distinct"))),
        )


def beam(
    model: LanguageModel, prompts: Sequence[str], tokens: int, width: int
) -> Experiment[BeamTexts]:
    """Continue each prompt by beam search, greedily, and twice by nucleus sampling."""
    settings = BeamSettings(
        width, length_penalty=0.0, max_new_tokens=tokens, chain=(MinNewTokens(tokens),)
    )

    def look(prompt: str) -> list[Searched]:
        every = write_set_texts(model, prompt, settings, samples=SAMPLES)
        written = [text for text in every if text is not None]
        best = next(text for text in written if text.kind == BEAM)
        return [
            Searched(prompt, text.kind, text.text, text.logprob, text.distinct_2)
            for text in (best, *(text for text in written if text.kind != BEAM))
        ]

    def seconds(pace: Pace) -> float:
        beams = writing_seconds(pace, tokens, width)
        return (beams + (1 + SAMPLES) * writing_seconds(pace, tokens)) * len(prompts)

    return Experiment(checked_prompts(model, prompts, tokens), look, BeamTexts, seconds, "prompt")


CLAIM = Claim(
    "beam",
    BeamTexts,
    (
        inputs.prompts(PROMPTS),
        inputs.tokens(24, 8, 128),
        Whole("width", msg("Beams"), 4, low=2, high=16),
    ),
    beam,
    Table(
        msg("Texts"),
        lambda result: result.texts,
        {
            msg("prompt"): lambda text: text.prompt,
            msg("decoder"): lambda text: WAYS[text.kind],
            msg("log-probability, nats"): lambda text: text.logprob,
            msg("distinct pairs"): lambda text: text.distinct,
            msg("text"): lambda text: text.text,
        },
        texts=1,
    ),
)
