"""Stages that move the scores of some tokens: bias, and penalties for what occurred before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import SettingError
from engine.stages.base import (
    NO_CONTEXT,
    Context,
    TokenEdit,
    between,
    check_known,
    number,
    token_id,
)

if TYPE_CHECKING:
    from transformers import LogitsProcessor


@dataclass(frozen=True)
class LogitBias(TokenEdit):
    """Add a number to the scores of chosen tokens: z_i + b_i.

    Every unit multiplies a token's odds against any other by e; the shape among the other tokens
    stays as it was. The OpenAI interface takes -100 to 100, where the ends nearly ban or force;
    1 to 5 nudges. It removes nothing; to remove tokens use `banned`.

    Attributes:
        bias: token id -> number to add, -1,000 to 1,000. Given as a mapping or as pairs, kept as
            pairs in order of the ids.
    """

    bias: tuple[tuple[int, float], ...]
    setting: ClassVar[str] = "logit_bias"
    off: ClassVar[tuple] = ()
    largest: ClassVar[float] = 1e3

    def __post_init__(self) -> None:
        remedy = "give token ids with numbers to add, for example {262: -5.0}"
        given = self.bias.items() if isinstance(self.bias, Mapping) else self.bias
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise SettingError(self.setting, given, "must be a mapping", remedy)
        pairs: dict[int, float] = {}
        for pair in given:
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise SettingError(self.setting, pair, "must hold pairs of id and bias", remedy)
            chosen = token_id(self.setting, pair[0], remedy)
            if chosen in pairs:
                raise SettingError(self.setting, chosen, "names a token twice", remedy)
            # Far beyond, a float32 score keeps no digit of its own.
            pairs[chosen] = between(self.setting, pair[1], -self.largest, self.largest, remedy)
        if not pairs:
            raise SettingError(self.setting, self.bias, "holds no token", remedy)
        object.__setattr__(self, "bias", tuple(sorted(pairs.items())))
        object.__setattr__(self, "_ids", np.array([i for i, _ in self.bias], np.int64))
        object.__setattr__(self, "_added", np.array([b for _, b in self.bias], np.float32))

    @classmethod
    def is_off(cls, value: object) -> bool:
        return value is None or (isinstance(value, (Mapping, tuple, list)) and not value)

    def check_vocabulary(self, vocab_size: int) -> None:
        check_known(self.setting, (chosen for chosen, _ in self.bias), vocab_size)

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        return self._ids, scores[self._ids] + self._added

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import SequenceBiasLogitsProcessor

        return SequenceBiasLogitsProcessor({(chosen,): added for chosen, added in self.bias})


@dataclass(frozen=True)
class RepetitionPenalty(TokenEdit):
    """Make every token that already occurred, in the prompt or after it, less likely.

    A seen token's logit is divided by `penalty` where positive and multiplied by it where
    negative; once, however often the token occurred. Keskar et al. 2019 (CTRL, arXiv:1909.05858),
    with the sign rule that transformers added. Usual values 1.1 to 1.3; below 1 rewards repetition.
    """

    penalty: float
    setting: ClassVar[str] = "repetition_penalty"
    off: ClassVar[float] = 1.0
    smallest: ClassVar[float] = 1e-3
    largest: ClassVar[float] = 1e3

    def __post_init__(self) -> None:
        remedy = "use 1 to switch it off, 1.1 to 1.3 against loops"
        value = number(self.setting, self.penalty, remedy)
        if value <= 0:
            raise SettingError(self.setting, self.penalty, "must be above 0", remedy)
        # Logits beyond float32's range would become infinite.
        between(self.setting, self.penalty, self.smallest, self.largest, remedy)
        object.__setattr__(self, "penalty", value)  # a plain float, whatever came

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        # A tokenizer may know ids that the model has no output for.
        seen = context.token_ids[context.token_ids < scores.size]
        old, penalty = scores[seen], np.float32(self.penalty)
        with np.errstate(over="ignore"):
            return seen, np.where(old < 0, old * penalty, old / penalty)

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import RepetitionPenaltyLogitsProcessor

        return RepetitionPenaltyLogitsProcessor(float(self.penalty))


class _CountPenalty(TokenEdit):
    """What the two additive penalties share: they count the generated tokens."""

    penalty: float
    off: ClassVar[float] = 0.0
    largest: ClassVar[float] = 100.0

    def __post_init__(self) -> None:
        remedy = "use 0 to switch it off, 0.1 to 1 against repetition"
        value = between(self.setting, self.penalty, -self.largest, self.largest, remedy)
        object.__setattr__(self, "penalty", value)

    def _counted(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        """Generated tokens, and how often each occurred."""
        generated = context.generated_ids
        return np.unique(generated[generated < scores.size], return_counts=True)


@dataclass(frozen=True)
class PresencePenalty(_CountPenalty):
    """Subtract a constant from the score of every token generated so far: z_i - a [c_i > 0].

    c_i counts token i among the *generated* tokens; the prompt does not count, as in the OpenAI
    interface and vLLM (llama.cpp counts it too). Usual values 0.1 to 1, there -2 to 2; negative
    ones reward repetition. Lowers all that was said, once, by the factor exp(a) in the odds.
    transformers has no such rule. It removes nothing.
    """

    penalty: float
    setting: ClassVar[str] = "presence_penalty"

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        token_ids, _ = self._counted(scores, context)
        return token_ids, scores[token_ids] - np.float32(self.penalty)


@dataclass(frozen=True)
class FrequencyPenalty(_CountPenalty):
    """Subtract from a token's score for each time it was generated: z_i - a c_i.

    c_i counts token i among the *generated* tokens; the prompt does not count, as in the OpenAI
    interface and vLLM (llama.cpp counts it too). Usual values 0.1 to 1, there -2 to 2; negative
    ones reward repetition. Frequent words sink further with every use, also those that a text
    needs often. transformers has no such rule. It removes nothing.
    """

    penalty: float
    setting: ClassVar[str] = "frequency_penalty"

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        token_ids, times = self._counted(scores, context)
        return token_ids, scores[token_ids] - np.float32(self.penalty) * times.astype(np.float32)
