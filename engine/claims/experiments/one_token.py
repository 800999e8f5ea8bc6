"""A single different token changes the rest: one is replaced, and the text continues from there.

The likeliest other token replaces it, and the text continues with the same settings and random
numbers. Passages that reappear later in the new text count as kept, wherever they are. As a
control, the token is replaced by itself, which must change nothing. The experiment does not look
inside a pass, so it says nothing about what a model prepares within one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from engine.claims import inputs
from engine.claims.claim import Chart, Claim, Series, Table
from engine.claims.experiment import Experiment, checked_prompts, checked_range, writing_seconds
from engine.claims.inputs import Real, Wholes
from engine.claims.uncertainty import counted, mean
from engine.claims.verdict import ABOVE, AT_MOST, Check
from engine.decoding.decoder import Decoder
from engine.errors import msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.values import Name, Row, Share, Text

HALF = 0.5


@dataclass(frozen=True)
class Fork:
    """A text in which one token was replaced.

    Attributes:
        prompt: the prompt that the text continues.
        before: text before the fork.
        taken, forced: labels of the original token, and of its replacement.
        share: the model's probability of the replacement there.
        old, new: the continuation without and with the replacement.
        changed: for each old token after the fork, whether the new text lacks it; see `lacks`.
        control: the changed share after the token was replaced by itself.
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
    """Forks of several texts, in the order in which they were made."""

    forks: Row[Fork]

    @property
    def by_prompt(self) -> list[float]:
        """Mean share of changed tokens per prompt, as forks of one prompt are not independent."""
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


def one_token(
    model: LanguageModel,
    prompts: Sequence[str],
    tokens: int,
    places: Sequence[int],
    temperature: float,
) -> Experiment[OneToken]:
    """Fork each prompt's text at the given places."""
    for place in places:
        checked_range(PLACES.label, place, 0, tokens - 4)
    settings = SamplingSettings(temperature=temperature)

    def forks(prompt: str) -> list[Fork]:
        decoder = Decoder(model, prompt, settings)
        for _ in decoder.run(tokens):
            pass
        return [_fork(decoder, prompt, n) for n in places if n + 1 < len(decoder.steps)]

    def seconds(pace: Pace) -> float:
        after = sum(2 * (tokens - place) for place in places)
        return writing_seconds(pace, tokens + after) * len(prompts)

    return Experiment(checked_prompts(model, prompts, tokens), forks, OneToken, seconds, "prompt")


def _fork(decoder: Decoder, prompt: str, place: int) -> Fork:
    ids = decoder.token_ids
    row = decoder.distribution(place).raw
    first, second = row.leading_ids(2).tolist()
    forced = second if ids[place] == first else first
    before, other = _replaced(decoder, place, forced)
    _, same = _replaced(decoder, place, ids[place])
    old, label = ids[place + 1 :], decoder.model.vocabulary.label
    control = lacks(same.token_ids[place + 1 :], old)
    return Fork(
        prompt=prompt,
        before=before,
        taken=label(ids[place])[:200],
        forced=label(forced)[:200],
        share=math.exp(row.logprob(forced)),
        old=decoder.text[len(before) :],
        new=other.text[len(before) :],
        changed=lacks(other.token_ids[place + 1 :], old),
        control=sum(control) / len(control),
    )


def _replaced(decoder: Decoder, place: int, token_id: int) -> tuple[str, Decoder]:
    """Return the text before `place`, and a fork of the same length with `token_id` there."""
    other = decoder.fork()
    other.rewind(place)
    before = other.text
    other.step(token_id)
    for _ in other.run(len(decoder.token_ids)):
        pass
    return before, other


def lacks(new: Sequence[int], old: Sequence[int]) -> tuple[bool, ...]:
    """Return, for each old token, whether the new tokens lack it; passages match in order."""
    missing = [True] * len(old)
    for block in SequenceMatcher(None, new, old, autojunk=False).get_matching_blocks():
        missing[block.b : block.b + block.size] = [False] * block.size
    return tuple(missing)


def _after(result: OneToken) -> Chart:
    """Chart the share of forks whose new text lacks the old token, by distance from the fork."""
    longest = max(len(fork.changed) for fork in result.forks)
    flags = [[f.changed[n] for f in result.forks if n < len(f.changed)] for n in range(longest)]
    points = [(n, sum(lack) / len(lack)) for n, lack in enumerate(flags, start=1)]
    return Chart(
        "changed",
        msg("After the fork"),
        msg(
            "How many of the new texts lack the old token. If a text came back to the same "
            "words, the curve would fall."
        ),
        msg("tokens after the replaced one"),
        msg("forks that lack the token"),
        (Series("", points, [msg("{count} forks", len(lack)) for lack in flags]),),
        is_share=True,
    )


PLACES = Wholes("places", msg("Tokens before the fork"), "4, 12")
CLAIM = Claim(
    "one_token",
    OneToken,
    (
        inputs.prompts(inputs.STORY_PROMPTS),
        inputs.tokens(32, 8, 256),
        PLACES,
        Real("temperature", msg("Temperature"), 0.0, msg("0 is greedy decoding.")),
    ),
    one_token,
    Table(
        msg("Forks"),
        lambda result: result.forks,
        {
            msg("prompt"): lambda fork: fork.prompt,
            msg("before the fork"): lambda fork: fork.before,
            msg("token"): lambda fork: fork.taken,
            msg("replaced by"): lambda fork: fork.forced,
            msg("its probability"): lambda fork: fork.share,
            msg("later tokens that the new text lacks"): lambda fork: fork.changed_share,
            msg("text as written"): lambda fork: fork.old,
            msg("text after the fork"): lambda fork: fork.new,
        },
        texts=2,
        prompts=2,
    ),
    charts=lambda result: (_after(result),),
)
