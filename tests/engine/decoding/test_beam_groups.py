"""Diverse groups of beam search, against the paper's algorithm without a cache.

transformers 5 no longer has group beam search. The code now lives in a separate repository and
would have to be downloaded and run.
"""

from collections import Counter
from functools import cache

import numpy as np
import pytest
import torch

from engine.decoding.beam import BeamSearch, BeamSettings
from engine.model import LanguageModel
from engine.trace.beam import FINISHED
from tests.engine import tiny_models

PROMPT = tiny_models.prompt(0)
TOKENS = 4
CLOSE = 3e-4
Text = tuple[tuple[int, ...], float]  # token ids; sum of log-probabilities less the diversity


def searched(model: LanguageModel, **settings) -> BeamSearch:
    search = BeamSearch(model, PROMPT, BeamSettings(**{"max_new_tokens": TOKENS} | settings))
    for _ in search.run():
        pass
    return search


@cache
def logprobs(model: LanguageModel, ids: tuple[int, ...]) -> tuple[float, ...]:
    with torch.inference_mode():
        logits = model.hf(torch.tensor([[*PROMPT, *ids]]), use_cache=False).logits
    return tuple(torch.log_softmax(logits[0, -1].double(), -1).tolist())


class SlowGroup:
    """One group, by algorithm 1 of arXiv:1610.02424; it ends as each group of `generate` would."""

    def __init__(self, size: int, ends: tuple[int, ...], penalty: float, stop: bool | str) -> None:
        self.size, self.ends, self.penalty, self.stop = size, ends, penalty, stop
        self.live: list[Text] = [((), 0.0)]
        self.pool: list[Text] = []  # ids, score

    def score(self, text: Text, length: int) -> float:
        return text[1] / length**self.penalty

    def step(self, model: LanguageModel, less: Counter, strength: float, most: int) -> list[int]:
        """Take a step and return the tokens with which the group continued."""
        grown = [
            ((*ids, token_id), total + logprob - strength * less[token_id])
            for ids, total in self.live
            for token_id, logprob in enumerate(logprobs(model, ids))
        ]
        grown.sort(key=lambda one: -one[1])
        length = len(grown[0][0])
        if length == most:
            ended, self.live = grown[: self.size], []
            taken = [ids[-1] for ids, _ in ended]
        else:
            ended = [one for one in grown[: self.size] if one[0][-1] in self.ends]
            self.live = [one for one in grown if one[0][-1] not in self.ends][: self.size]
            taken = [ids[-1] for ids, _ in self.live]
        self.pool += [(one[0], self.score(one, length)) for one in ended]
        self.pool = sorted(self.pool, key=lambda one: -one[1])[: self.size]
        if self.live and len(self.pool) == self.size:
            best = self.score(self.live[0], most if self.stop == "never" else length)
            if self.stop is True or best <= self.pool[-1][1]:
                self.live = []
        return taken


def slowly(
    model: LanguageModel, width: int, groups: int, strength: float, ends=(), penalty=1.0, stop=False
) -> list[list[Text]]:
    """Return every group's complete texts with their scores, best first."""
    slow = [SlowGroup(width // groups, ends, penalty, stop) for _ in range(groups)]
    while any(group.live for group in slow):
        taken: Counter = Counter()
        for group in slow:
            if group.live:
                taken.update(group.step(model, taken, strength, TOKENS))
    return [group.pool for group in slow]


def assert_same(search: BeamSearch, expected: list[list[Text]]) -> None:
    for number, group in enumerate(expected):
        own = [one for one in search.hypotheses if one.group == number]
        assert {one.token_ids for one in own} == {ids for ids, _ in group}
        scores = sorted(one.score for one in own)
        np.testing.assert_allclose(scores, sorted(score for _, score in group), atol=CLOSE)


@pytest.mark.parametrize(
    ("width", "groups", "strength", "penalty"),
    [(2, 2, 0.5, 1.0), (4, 2, 1.5, 0.0), (6, 3, 0.3, 1.0), (6, 2, 0.0, 1.0), (5, 5, 2.0, 2.0)],
)
def test_groups_follow_the_paper(width, groups, strength, penalty):
    model = tiny_models.shared("llama")
    how = {"length_penalty": penalty, "diversity_penalty": strength}
    search = searched(model, width=width, groups=groups, **how)
    assert_same(search, slowly(model, width, groups, strength, penalty=penalty))


@pytest.mark.parametrize("stop", [False, True, "never"])
@pytest.mark.parametrize(("penalty", "strength"), [(1.0, 0.5), (0.0, 1.5), (-1.0, 0.5)])
def test_groups_follow_the_paper_with_early_ends(penalty, strength, stop):
    model = tiny_models.shared("llama")
    free = searched(model, width=6, groups=3, diversity_penalty=strength).hypotheses
    ends = tuple({free[0].token_ids[1], free[3].token_ids[2], free[-1].token_ids[1]})
    how = {"length_penalty": penalty, "diversity_penalty": strength, "early_stopping": stop}
    model.eos_ids = ends
    try:
        search = searched(model, width=6, groups=3, **how)
    finally:
        model.eos_ids = ()
    assert_same(search, slowly(model, 6, 3, strength, ends, penalty, stop))
    early = [one for step in search.steps[:-1] for one in step.candidates if one.fate == FINISHED]
    assert len({one.group for one in early}) > 1, "the texts of at most one group ended early"


def test_strong_penalty_makes_groups_start_differently():
    model = tiny_models.shared("llama")
    search = searched(model, width=4, groups=4, diversity_penalty=10.0)
    first = [one.token_ids[0] for one in search.hypotheses]
    assert len(set(first)) == 4
    alike = searched(model, width=4, groups=4)
    assert len({one.token_ids for one in alike.hypotheses}) == 1
