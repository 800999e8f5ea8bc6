"""One other token changes what follows: a token is replaced, and the text is written from there.

The second likeliest token takes the place of one, and the text continues with the same settings
and random numbers. Passages that come back later in the new text count as kept, wherever they are.
As a control the token is replaced by itself: that must change nothing. Nothing here looks into a
pass, so it says nothing on what a model prepares within one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from engine.claims.experiment import Experiment, checked_prompts, checked_range, writing_seconds
from engine.claims.uncertainty import counted, mean
from engine.claims.verdict import ABOVE, AT_MOST, Check
from engine.decoding.decoder import Decoder
from engine.errors import msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.values import Name, Row, Share, Text

MOST_TOKENS = 256
HALF = 0.5


@dataclass(frozen=True)
class Fork:
    """A text in which one token was replaced.

    Attributes:
        prompt: what the text goes on from.
        before: what was written before the fork.
        taken, forced: labels of the token that it had, and of the one that replaced it.
        share: probability of the second one, which the model gave it there.
        old, new: how the text went on, without and with the replacement.
        changed: of each old token after the fork, whether the new text lacks it; see `lacks`.
        control: the share that changed where the token was replaced by itself.
    """

    prompt: Text
    before: Text
    taken: Name
    forced: Name
    share: Share
    old: Text
    new: Text
    changed: Row[bool]
    control: Share

    @property
    def changed_share(self) -> float:
        """Share of the tokens after the fork that the new text lacks."""
        return sum(self.changed) / len(self.changed)


@dataclass(frozen=True)
class OneToken:
    """Forks of some texts, in the order in which they were made."""

    forks: Row[Fork]

    @property
    def by_prompt(self) -> list[float]:
        """Of each prompt, the mean share of tokens that changed: its forks are not independent."""
        groups: dict[str, list[float]] = {}
        for fork in self.forks:
            groups.setdefault(fork.prompt, []).append(fork.changed_share)
        return [sum(group) / len(group) for group in groups.values()]

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        control = counted(max(fork.control for fork in self.forks), len(self.forks))
        return (
            Check("changed", mean(self.by_prompt), ABOVE, HALF),
            Check("control", control, AT_MOST, 0.0, is_condition=True),
        )


class OneTokenExperiment(Experiment[OneToken]):
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
        checked_range(msg("Tokens"), tokens, 8, MOST_TOKENS)
        for place in places:
            checked_range(msg("Tokens before the fork"), place, 0, tokens - 4)
        self._prompts = checked_prompts(model, prompts, tokens)
        super().__init__([1.0] * len(prompts))
        self._model, self._tokens, self._places = model, tokens, tuple(places)
        self._settings = SamplingSettings(temperature=temperature)
        self._forks: list[list[Fork]] = []

    def _measure(self, part: int) -> None:
        decoder = Decoder(self._model, self._prompts[part], self._settings)
        for _ in decoder.run(self._tokens):
            pass
        places = [place for place in self._places if place + 1 < len(decoder.steps)]
        self._forks[part:] = [[self._fork(decoder, part, place) for place in places]]

    def _fork(self, decoder: Decoder, part: int, place: int) -> Fork:
        ids = decoder.token_ids
        row = decoder.distribution(place).raw
        first, second = row.leading_ids(2).tolist()
        forced = second if ids[place] == first else first
        before, other = _replaced(decoder, place, forced)
        _, same = _replaced(decoder, place, ids[place])
        old, label = ids[place + 1 :], self._model.vocabulary.label
        control = lacks(same.token_ids[place + 1 :], old)
        return Fork(
            prompt=self._prompts[part],
            before=before,
            taken=label(ids[place])[:200],
            forced=label(forced)[:200],
            share=math.exp(row.logprob(forced)),
            old=decoder.text[len(before) :],
            new=other.text[len(before) :],
            changed=lacks(other.token_ids[place + 1 :], old),
            control=sum(control) / len(control),
        )

    @property
    def result(self) -> OneToken | None:
        forks = [fork for forks in self._forks for fork in forks]
        return OneToken(tuple(forks)) if forks else None

    def seconds(self, pace: Pace) -> float:
        after = sum(2 * (self._tokens - place) for place in self._places)
        return writing_seconds(pace, self._tokens + after) * len(self._prompts)


def _replaced(decoder: Decoder, place: int, token_id: int) -> tuple[str, Decoder]:
    """The text before a place, and a text of the same length with this token there."""
    other = decoder.fork()
    other.rewind(place)
    before = other.text
    other.step(token_id)
    for _ in other.run(len(decoder.token_ids)):
        pass
    return before, other


def lacks(new: Sequence[int], old: Sequence[int]) -> tuple[bool, ...]:
    """Tell of each old token whether the new tokens lack it, in the passages of the same order."""
    missing = [True] * len(old)
    for block in SequenceMatcher(None, new, old, autojunk=False).get_matching_blocks():
        missing[block.b : block.b + block.size] = [False] * block.size
    return tuple(missing)
