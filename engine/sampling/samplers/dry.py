"""DRY, "don't repeat yourself": a penalty for continuing a passage that occurred before."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from engine.errors import msg
from engine.sampling.samplers.base import Context, TokenEdit, check_known, token_ids
from engine.sampling.samplers.info import DOWN, MOVES, UP, Info, Number, Paper


@dataclass(frozen=True)
class Dry(TokenEdit):
    """Lower the scores of tokens that would extend a repetition, more for a longer one.

    Let n be the length of the longest run of tokens that both ends the context and occurs earlier,
    followed there by token i. If n is at least `allowed_length`, the new score is

        z_i - multiplier * base ** (n - allowed_length)

    A run never contains a sequence breaker, and a breaker is not penalised. By p-e-w
    (text-generation-webui, pull request 5677); llama.cpp has the same rule. Prompt and generated
    tokens count alike. Usual values: multiplier 0.8, base 1.75, allowed_length 2. Single words may
    be repeated; a sentence that begins to repeat is broken off within a few steps. A penalty is at
    most 1e30, so that no token is removed. transformers has no such rule.

    Figures: none of its own. Cases: ``none`` if no score changed, else ``""``.

    Attributes:
        multiplier: penalty at the allowed length, 0 to 1,000; 0 has no effect.
        base: growth per further token, 1 to 1,000.
        allowed_length: longest repetition whose last token is not penalised, from 1.
        last_n: number of tokens at the end of the context to search; -1 means all, as in llama.cpp.
        breakers: ids of tokens that end a run: line breaks, quotation marks, names of speakers.
    """

    multiplier: float = 0.8
    base: float = 1.75
    allowed_length: int = 2
    last_n: int = -1
    breakers: tuple[int, ...] = ()
    setting: ClassVar[str] = "dry"
    most: ClassVar[float] = 1e30

    info: ClassVar[Info] = Info(
        label="DRY",
        in_text="DRY",
        group="penalties",
        about="Lowers tokens that would extend a repeated passage, more for a longer passage.",
        formula="z − multiplier · base^(repeated length − allowed length)",
        idle="repetition is not penalised",
        picture="edit",
        says={
            "": "DRY lowers tokens that would extend a repetition of {allowed_length:tokens} or "
            "more: {names:names}. " + MOVES,
            "none": "No remaining token would extend a repetition of {allowed_length:tokens} or "
            "more, so no score changes.",
        },
        note={"": "{moved:tokens} lowered", "none": "no token changes"},
        paper=Paper(
            "DRY (p-e-w 2024)", "https://github.com/oobabooga/text-generation-webui/pull/5677"
        ),
        numbers=(
            Number(
                "multiplier",
                "Multiplier",
                slider=(0, 5, 0.05),
                usual=0.8,
                remedy=msg("0.8 is usual, 0 has no effect"),
                least=0,
                most=1000,
                looser=DOWN,
            ),
            Number(
                "base",
                "Base",
                slider=(1, 4, 0.05),
                usual=1.75,
                remedy=msg("1.75 is usual, no growth at 1"),
                least=1,
                most=1000,
                looser=DOWN,
            ),
            Number(
                "allowed_length",
                "Allowed length",
                slider=(1, 20, 1),
                usual=2,
                remedy=msg("use 2, or another positive number of tokens"),
                least=1,
                whole=True,
                looser=UP,
            ),
            # Steps of 16 from -1, so that the slider skips 0, which has no meaning.
            Number(
                "last_n",
                "Last n tokens",
                slider=(-1, 511, 16),
                usual=-1,
                remedy=msg("use -1 for the whole context, or a positive number of tokens"),
                least=1,
                whole=True,
                words={-1: "all"},
                looser=DOWN,
            ),
        ),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        breakers = token_ids("dry.breakers", self.breakers, msg("give ids, for example (198, 25)"))
        object.__setattr__(self, "breakers", tuple(sorted(set(breakers))))

    def no_effect(self) -> str | None:
        return msg("its multiplier is 0") if self.multiplier == 0 else None

    def check_vocabulary(self, vocab_size: int) -> None:
        check_known("dry.breakers", self.breakers, vocab_size)

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        lengths = self.repetitions(context.token_ids)
        lengths = {token: n for token, n in lengths.items() if token < scores.size}
        chosen = np.fromiter(lengths, np.int64, len(lengths))
        penalties = [self.penalty(length) for length in lengths.values()]
        return chosen, scores[chosen] - np.array(penalties, np.float32)

    def penalty(self, length: int) -> float:
        """Return the penalty for a token that would extend a repetition of this length."""
        if self.multiplier == 0 or length < self.allowed_length:
            return 0.0
        exponent = math.log(self.multiplier) + math.log(self.base) * (length - self.allowed_length)
        return min(self.most, math.exp(min(exponent, 700.0)))

    def repetitions(self, context_ids: np.ndarray) -> dict[int, int]:
        """Return token id -> length of the longest repetition that it would extend.

        It contains only penalised tokens, and caps lengths at which the penalty stops growing.
        """
        ids = context_ids if self.last_n == -1 else context_ids[-self.last_n :]
        if ids.size < 2:
            return {}
        is_breaker = np.isin(ids, self.breakers)
        breaks = np.flatnonzero(is_breaker)
        longest = ids.size - 1 - int(breaks[-1]) if breaks.size else ids.size
        longest = min(longest, self._longest_that_counts())
        # Earlier places where the run that ends the context also ends; fewer for a longer run.
        ends = np.arange(ids.size - 1)
        ends = ends[~is_breaker[ends + 1]]
        found: dict[int, int] = {}
        for length in range(1, longest + 1):
            ends = ends[ends >= length - 1]
            ends = ends[ids[ends - (length - 1)] == ids[-length]]
            if not ends.size:
                break
            if length >= self.allowed_length:
                found.update(dict.fromkeys(ids[ends + 1].tolist(), length))
        return found

    def _longest_that_counts(self) -> int:
        if self.multiplier == 0:
            return 0
        growth = math.log(self.base)
        if growth == 0:
            return self.allowed_length
        further = (math.log(self.most) - math.log(self.multiplier)) / growth
        return self.allowed_length + math.ceil(max(0.0, min(further, 1e9)))
