"""Beam search finds likelier text that repeats more: than the nucleus, and than greedy decoding.

Greedy decoding is the control: it maximises too, and searches for nothing.

All texts of a prompt have the same number of tokens, as the end of the text is banned: sums of
log-probabilities compare only at equal length, and so does the share of distinct pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.claims.experiment import Experiment, checked_prompts, checked_range, writing_seconds
from engine.claims.uncertainty import Figure, mean
from engine.claims.verdict import ABOVE, Check, noted
from engine.decoding.beam import BeamSettings
from engine.errors import msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling.stages import MinNewTokens
from engine.study.set_texts import BEAM, GREEDY, SAMPLE, SetText, set_texts
from engine.values import Logprob, Name, Row, Share, Text

PARTS = {GREEDY: "than greedy decoding", SAMPLE: "than nucleus text"}
SAMPLES = 2  # nucleus texts of each prompt
MOST_TOKENS, MOST_WIDTH = 128, 16


@dataclass(frozen=True)
class Searched:
    """A text.

    Attributes:
        prompt: what it goes on from.
        kind: its decoder, one of `engine.study.set_texts.KINDS`.
        text: what was written.
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
    """Texts of some prompts, written in three ways; of a beam search the best one."""

    texts: Row[Searched]

    def means(self, kind: str, attribute: str) -> list[float]:
        """Of each prompt, the mean of a figure over its texts of a decoder."""
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


class BeamExperiment(Experiment[BeamTexts]):
    """Writes each prompt's text by beam search, greedily, and twice from the nucleus.

    Args:
        model: what writes.
        prompts: what the texts go on from.
        tokens: of each text, exactly.
        width: beams.

    Raises:
        PromptError, SettingError: prompts or settings out of range.
    """

    noun = "prompt"

    def __init__(
        self, model: LanguageModel, prompts: Sequence[str], tokens: int = 32, width: int = 4
    ) -> None:
        checked_range(msg("Tokens"), tokens, 8, MOST_TOKENS)
        checked_range(msg("Beams"), width, 2, MOST_WIDTH)
        self._prompts = checked_prompts(model, prompts, tokens)
        super().__init__([1.0] * len(prompts))
        self._model, self._tokens = model, tokens
        self._settings = BeamSettings(
            width, length_penalty=0.0, max_new_tokens=tokens, chain=(MinNewTokens(tokens),)
        )
        self._texts: list[list[Searched]] = []

    def _measure(self, part: int) -> None:
        prompt = self._prompts[part]
        every = set_texts(self._model, prompt, self._settings, samples=SAMPLES)
        written = [text for text in every if text is not None]
        best = next(text for text in written if text.kind == BEAM)
        others = [text for text in written if text.kind != BEAM]
        self._texts[part:] = [[_searched(prompt, text) for text in (best, *others)]]

    @property
    def result(self) -> BeamTexts | None:
        texts = tuple(text for group in self._texts for text in group)
        return BeamTexts(texts) if texts else None

    def seconds(self, pace: Pace) -> float:
        beams = writing_seconds(pace, self._tokens, self._settings.width)
        return (beams + (1 + SAMPLES) * writing_seconds(pace, self._tokens)) * len(self._prompts)


def _searched(prompt: str, text: SetText) -> Searched:
    return Searched(prompt, text.kind, text.text, text.logprob, text.distinct_2)
