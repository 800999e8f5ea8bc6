"""DRY, "don't repeat yourself": a penalty for going on with what already stood there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from engine.errors import SettingError
from engine.stages.base import Context, TokenEdit, between, check_known, number, token_ids


@dataclass(frozen=True)
class Dry(TokenEdit):
    """Lower the tokens that would extend a repetition, the more the longer it is already.

    Let n be the length of the longest run of tokens that both ends the context and stands earlier
    in it, followed there by token i. Where n reaches `allowed_length`,

        z_i - multiplier * base ** (n - allowed_length)

    A run holds no sequence breaker, and a breaker is not lowered. By p-e-w (text-generation-webui,
    pull request 5677); llama.cpp has the same rule. Prompt and generated tokens count alike. Usual
    values: multiplier 0.8, base 1.75, allowed_length 2. Single words may return; a sentence that
    begins to repeat loses its next token within a few steps. A penalty is at most 1e30, so that no
    token is removed and there is always one left. transformers has no such rule.

    Attributes:
        multiplier: penalty at the allowed length, 0 to 1,000; 0 has no effect.
        base: growth per further token, 1 to 1,000.
        allowed_length: longest repetition that goes without penalty for its last token, from 1.
        last_n: how many tokens of the context are looked at; -1 is all of them, as in llama.cpp.
        breakers: ids of tokens that end a run: line breaks, quotation marks, names of speakers.
    """

    multiplier: float = 0.8
    base: float = 1.75
    allowed_length: int = 2
    last_n: int = -1
    breakers: tuple[int, ...] = ()
    setting: ClassVar[str] = "dry"
    most: ClassVar[float] = 1e30

    def __post_init__(self) -> None:
        remedy = "0.8 is usual, 0 has no effect"
        multiplier = between("dry.multiplier", self.multiplier, 0, 1e3, remedy)
        base = between("dry.base", self.base, 1, 1e3, "1.75 is usual, 1 does not grow")
        remedy = "use 2, or another positive number of tokens"
        allowed = _whole("dry.allowed_length", self.allowed_length, remedy)
        if allowed < 1:
            problem = "must be at least 1"
            raise SettingError("dry.allowed_length", self.allowed_length, problem, remedy)
        remedy = "use -1 for the whole context, or a positive number of tokens"
        last_n = _whole("dry.last_n", self.last_n, remedy)
        if last_n < 1 and last_n != -1:
            raise SettingError("dry.last_n", self.last_n, "must be -1 or at least 1", remedy)
        breakers = token_ids("dry.breakers", self.breakers, "give ids, for example (198, 25)")
        object.__setattr__(self, "multiplier", multiplier)
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "allowed_length", allowed)
        object.__setattr__(self, "last_n", last_n)
        object.__setattr__(self, "breakers", tuple(sorted(set(breakers))))

    def no_effect(self) -> str | None:
        return "its multiplier is 0" if self.multiplier == 0 else None

    def check_vocabulary(self, vocab_size: int) -> None:
        check_known("dry.breakers", self.breakers, vocab_size)

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        lengths = self.repetitions(context.token_ids)
        lengths = {token: n for token, n in lengths.items() if token < scores.size}
        chosen = np.fromiter(lengths, np.int64, len(lengths))
        penalties = [self.penalty(length) for length in lengths.values()]
        return chosen, scores[chosen] - np.array(penalties, np.float32)

    def penalty(self, length: int) -> float:
        """What is taken from a token that would extend a repetition of this length."""
        if self.multiplier == 0 or length < self.allowed_length:
            return 0.0
        exponent = math.log(self.multiplier) + math.log(self.base) * (length - self.allowed_length)
        return min(self.most, math.exp(min(exponent, 700.0)))

    def repetitions(self, context_ids: np.ndarray) -> dict[int, int]:
        """Token id -> length of the longest repetition that it would extend.

        Only tokens that are lowered; lengths beyond which the penalty no longer grows are cut.
        """
        ids = context_ids if self.last_n == -1 else context_ids[-self.last_n :]
        if ids.size < 2:
            return {}
        is_breaker = np.isin(ids, self.breakers)
        breaks = np.flatnonzero(is_breaker)
        longest = ids.size - 1 - int(breaks[-1]) if breaks.size else ids.size
        longest = min(longest, self._longest_that_counts())
        # Where the run that ends the context also ends; shrinks as the run is made longer.
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


def _whole(setting: str, value: object, remedy: str) -> int:
    as_float = number(setting, value, remedy)
    if as_float != int(as_float):
        raise SettingError(setting, value, "must be a whole number", remedy)
    return int(as_float)
