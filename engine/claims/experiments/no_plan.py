"""Generation has no plan: one token is replaced, and the rest of the text is another one.

A text is written, one of its tokens is replaced by the second likeliest at that place, and the text
goes on from there with the same settings and random numbers. A plan would lead back to the same
words; what is counted is how many of the tokens after the fork are others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.claims.experiment import Experiment, checked_prompts, checked_range, writing_seconds
from engine.claims.uncertainty import Figure, counted, mean
from engine.claims.verdict import ABOVE, AT_MOST, Check
from engine.decoding.decoder import Decoder
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.model.passes import counted_passes
from engine.sampling import SamplingSettings
from engine.trace.values import Flag, Real, Record, Row, Text, Whole, of

MOST_TOKENS = 256
HALF = 0.5


@dataclass(frozen=True)
class Fork:
    """A text in which one token was replaced.

    Attributes:
        prompt: what the text goes on from.
        before: what was written before the fork.
        taken, forced: labels of the token that stood there, and of that which replaced it.
        share: probability of the second one, which the model gave it there.
        old, new: how the text went on, without and with the replacement.
        changed: of each token after the fork, whether it is another one.
    """

    prompt: str = of(Text())
    before: str = of(Text())
    taken: str = of(Text(200))
    forced: str = of(Text(200))
    share: float = of(Real(0, 1, rounded=True))
    old: str = of(Text())
    new: str = of(Text())
    changed: tuple[bool, ...] = of(Row(Flag(), MOST_TOKENS))

    @property
    def changed_share(self) -> float:
        """Share of the tokens after the fork that are others."""
        return sum(self.changed) / len(self.changed)


@dataclass(frozen=True)
class NoPlan:
    """Forks of some texts.

    Attributes:
        forks: in the order in which they were made.
        tokens, passes: of the texts without a fork: tokens written, and forward passes for them.
    """

    forks: tuple[Fork, ...] = of(Row(Record(Fork)))
    tokens: int = of(Whole(0))
    passes: int = of(Whole(0))

    @property
    def by_prompt(self) -> list[float]:
        """Of each prompt, the mean share of tokens that changed: its forks are not independent."""
        groups: dict[str, list[float]] = {}
        for fork in self.forks:
            groups.setdefault(fork.prompt, []).append(fork.changed_share)
        return [sum(group) / len(group) for group in groups.values()]

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        return (
            Check("changed", mean(self.by_prompt), ABOVE, HALF),
            Check("per_pass", self.tokens_per_pass, AT_MOST, 1.0),
        )

    @property
    def tokens_per_pass(self) -> Figure:
        """Tokens that a forward pass gives."""
        return counted(self.tokens / max(1, self.passes), self.passes)


class NoPlanExperiment(Experiment[NoPlan]):
    """Forks the text of each prompt at some places.

    Args:
        model: what writes.
        prompts: what the texts go on from.
        tokens: tokens of each text.
        places: tokens before each fork.
        temperature: of the draws; 0 for greedy decoding.

    Raises:
        PromptError, SettingError: prompts or settings out of range.
    """

    noun = "prompt"

    def __init__(
        self,
        model: LanguageModel,
        prompts: Sequence[str],
        tokens: int = 32,
        places: Sequence[int] = (4, 12),
        temperature: float = 0.0,
    ) -> None:
        checked_range("Tokens", tokens, 8, MOST_TOKENS)
        for place in places:
            checked_range("Tokens before the fork", place, 0, tokens - 4)
        self._prompts = checked_prompts(model, prompts, tokens)
        super().__init__([1.0] * len(prompts))
        self._model, self._tokens, self._places = model, tokens, tuple(places)
        self._settings = SamplingSettings(temperature=temperature)
        self._forks: list[list[Fork]] = []
        self._passes: list[tuple[int, int]] = []  # tokens and passes of each text

    def _measure(self, part: int) -> None:
        decoder = Decoder(self._model, self._prompts[part], self._settings)
        with counted_passes() as passes:
            for _ in decoder.run(self._tokens):
                pass
        places = [place for place in self._places if place + 1 < len(decoder.steps)]
        self._forks[part:] = [[self._fork(decoder, part, place) for place in places]]
        self._passes[part:] = [(len(decoder.steps), passes.total)]

    def _fork(self, decoder: Decoder, part: int, place: int) -> Fork:
        ids = decoder.token_ids
        row = decoder.distribution(place).raw
        first, second = row.leading_ids(2).tolist()
        forced = second if ids[place] == first else first
        other = decoder.fork()
        other.rewind(place)
        before = other.text
        other.step(forced)
        for _ in other.run(len(ids)):
            pass
        old, new = ids[place + 1 :], other.token_ids[place + 1 :]
        label = self._model.vocabulary.label
        return Fork(
            prompt=self._prompts[part],
            before=before,
            taken=label(ids[place])[:200],
            forced=label(forced)[:200],
            share=math.exp(row.logprob(forced)),
            old=decoder.text[len(before) :],
            new=other.text[len(before) :],
            changed=tuple(n >= len(new) or new[n] != token for n, token in enumerate(old)),
        )

    @property
    def result(self) -> NoPlan | None:
        forks = [fork for forks in self._forks for fork in forks]
        if not forks:
            return None
        tokens, passes = (sum(column) for column in zip(*self._passes, strict=True))
        return NoPlan(tuple(forks), tokens, passes)

    def seconds(self, pace: Pace) -> float:
        after = sum(self._tokens - place for place in self._places)
        return writing_seconds(pace, self._tokens + after) * len(self._prompts)
