"""Stages that move the scores of some tokens: bias, and penalties for earlier occurrences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import SettingError, msg
from engine.sampling.stages.base import NO_CONTEXT, Context, TokenEdit, check_known, token_id
from engine.sampling.stages.info import EITHER, MOVES, Info, Number, Paper, arxiv, finite
from engine.sampling.survivors import Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor

_OPENAI = Paper("OpenAI API", "https://platform.openai.com/docs/api-reference/chat/create")


@dataclass(frozen=True)
class LogitBias(TokenEdit):
    """Add a number to the scores of chosen tokens: z_i + b_i.

    Every unit multiplies a token's odds against any other by e. The odds among the other tokens do
    not change. The OpenAI interface takes -100 to 100, where the ends nearly ban or force; 1 to 5
    nudges. It removes nothing; to remove tokens use `banned`.

    Figures: none of its own. Cases: ``none`` if no score changed, else ``""``.

    Attributes:
        bias: token id -> number to add, -1,000 to 1,000. Given as a mapping or as pairs, kept as
            pairs in order of the ids.
    """

    bias: tuple[tuple[int, float], ...]
    setting: ClassVar[str] = "logit_bias"
    off: ClassVar[tuple] = ()
    info: ClassVar[Info] = Info(
        label="Logit bias",
        group="penalties",
        about="Adds a number of your choice to the scores of single tokens.",
        formula="z[i] → z[i] + bias[i]",
        idle="no token has a bias",
        picture="edit",
        says={
            "": "Logit bias changes the score of {names:names}. " + MOVES,
            "none": "No remaining token has a bias other than 0, so no score changes.",
        },
        note={"": "{moved:tokens} changed", "none": "no token changes"},
        numbers=(
            Number(
                "bias",
                "Bias",
                slider=(-10, 10, 0.1),
                usual=2,
                remedy=msg("use 1 to 5 to favour a token, -100 to all but rule it out"),
                # Far beyond, a float32 score keeps none of its own digits.
                least=-1000,
                most=1000,
                looser=EITHER,
            ),
        ),
    )

    def __post_init__(self) -> None:
        (limits,) = self.info.numbers
        remedy = msg("give token ids with numbers to add, for example {262: -5.0}")
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
            pairs[chosen] = limits.checked(self.setting, pair[1])
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

    A seen token's logit is divided by `penalty` if positive and multiplied by it if negative, once,
    however often the token occurred. Keskar et al. 2019 (CTRL, arXiv:1909.05858), with the sign
    rule that transformers added. Usual values are 1.1 to 1.3; below 1 rewards repetition.

    Figures: none of its own. Cases: ``none`` if no score changed, ``raises`` below 1, else ``""``.
    """

    penalty: float
    setting: ClassVar[str] = "repetition_penalty"
    needs: ClassVar[tuple[str, ...]] = ("logits",)  # whose sign decides
    off: ClassVar[float] = 1.0
    info: ClassVar[Info] = Info(
        label="Repetition penalty",
        group="penalties",
        about="Lowers the score of every token that is already in the text, once.",
        formula="tokens of the text: z / r where z > 0, z · r where z < 0",
        idle="no score changes",
        picture="edit",
        says={
            "": "Repetition penalty lowers tokens of the text: {names:names}. " + MOVES,
            "raises": "Below 1, repetition penalty raises tokens of the text: {names:names}. "
            + MOVES,
            "none": "Repetition penalty finds no remaining token of the text to change.",
        },
        note={
            "": "{moved:tokens} of the text lowered",
            "raises": "{moved:tokens} of the text raised",
            "none": "no token changes",
        },
        paper=arxiv("Keskar et al. 2019 (CTRL)", "1909.05858"),
        numbers=(
            Number(
                "penalty",
                "Repetition penalty",
                slider=(1, 2, 0.01),
                usual=1.2,
                remedy=msg("use 1 to switch it off, 1.1 to 1.3 against loops"),
                # Logits beyond float32's range would become infinite.
                least=0.001,
                most=1000,
                looser=EITHER,
            ),
        ),
    )

    def __post_init__(self) -> None:
        (limits,) = self.info.numbers
        if finite(self.setting, self.penalty, limits.remedy) <= 0:
            raise SettingError(self.setting, self.penalty, "must be above 0", limits.remedy)
        super().__post_init__()

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        case = super().case(before, after, context)
        return "raises" if not case and self.penalty < 1 else case

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        # A tokenizer may know ids that the model has no output for.
        seen = context.token_ids[context.token_ids < scores.size]
        old, penalty = scores[seen], np.float32(self.penalty)
        with np.errstate(over="ignore"):
            return seen, np.where(old < 0, old * penalty, old / penalty)

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import RepetitionPenaltyLogitsProcessor

        return RepetitionPenaltyLogitsProcessor(float(self.penalty))


def _amount(label: str) -> Number:
    """Return the setting of an additive penalty; its slider has the range of OpenAI's API."""
    return Number(
        "penalty",
        label,
        slider=(-2, 2, 0.05),
        usual=0.5,
        remedy=msg("use 0 to switch it off, 0.1 to 1 against repetition"),
        least=-100,
        most=100,
        looser=EITHER,
    )


_COUNT_NOTE = {
    "": "{moved:tokens} lowered",
    "raises": "{moved:tokens} raised",
    "none": "no token changes",
    "start": "nothing generated yet",
}
_START = "No token has been generated yet, and the prompt does not count. So no score changes."


class _CountPenalty(TokenEdit):
    """Base of the two additive penalties, which count the generated tokens.

    Figures: ``generated``, the number of tokens generated. Cases: ``start`` if that is 0, ``none``
    if no score changed, ``raises`` for a negative penalty, else ``""``.
    """

    penalty: float
    off: ClassVar[float] = 0.0

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {"generated": context.generated_ids.size}

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        if not context.generated_ids.size:
            return "start"
        case = super().case(before, after, context)
        return "raises" if not case and self.penalty < 0 else case

    def _counted(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        """Return the generated tokens, and how often each occurred."""
        generated = context.generated_ids
        return np.unique(generated[generated < scores.size], return_counts=True)


@dataclass(frozen=True)
class PresencePenalty(_CountPenalty):
    """Subtract a constant from the score of every token generated so far: z_i - a [c_i > 0].

    c_i counts token i among the *generated* tokens; the prompt does not count, as in the OpenAI
    interface and vLLM (llama.cpp counts it too). Usual values are 0.1 to 1; the OpenAI interface
    takes -2 to 2. Negative values reward repetition. It divides the odds of all generated tokens
    once by exp(a). transformers has no such rule. It removes nothing.
    """

    penalty: float
    setting: ClassVar[str] = "presence_penalty"
    info: ClassVar[Info] = Info(
        label="Presence penalty",
        group="penalties",
        about="Lowers every generated token by the same amount; the prompt does not count.",
        formula="generated tokens: z − α",
        idle="no score changes",
        picture="edit",
        says={
            "": "Presence penalty subtracts {penalty:number} from generated tokens: "
            "{names:names}. " + MOVES,
            "raises": "A negative presence penalty, {penalty:number}, raises generated tokens: "
            "{names:names}. " + MOVES,
            "none": "Presence penalty finds no remaining generated token to change.",
            "start": _START,
        },
        note=_COUNT_NOTE,
        paper=_OPENAI,
        numbers=(_amount("Presence penalty"),),
    )

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        token_ids, _ = self._counted(scores, context)
        return token_ids, scores[token_ids] - np.float32(self.penalty)


@dataclass(frozen=True)
class FrequencyPenalty(_CountPenalty):
    """Subtract from a token's score for each time it was generated: z_i - a c_i.

    c_i counts token i among the *generated* tokens; the prompt does not count, as in the OpenAI
    interface and vLLM (llama.cpp counts it too). Usual values are 0.1 to 1; the OpenAI interface
    takes -2 to 2. Negative values reward repetition. Frequent words sink further with every use,
    even those that a text needs often. transformers has no such rule. It removes nothing.
    """

    penalty: float
    setting: ClassVar[str] = "frequency_penalty"
    info: ClassVar[Info] = Info(
        label="Frequency penalty",
        group="penalties",
        about="Lowers a generated token further each time it occurs; the prompt does not count.",
        formula="generated tokens: z − α · count",
        idle="no score changes",
        picture="edit",
        says={
            "": "Frequency penalty subtracts {penalty:number} per use from generated tokens: "
            "{names:names}. " + MOVES,
            "raises": "A negative frequency penalty, {penalty:number}, raises generated tokens: "
            "{names:names}. " + MOVES,
            "none": "Frequency penalty finds no remaining generated token to change.",
            "start": _START,
        },
        note=_COUNT_NOTE,
        paper=_OPENAI,
        numbers=(_amount("Frequency penalty"),),
    )

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        token_ids, times = self._counted(scores, context)
        return token_ids, scores[token_ids] - np.float32(self.penalty) * times.astype(np.float32)
