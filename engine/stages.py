"""The stages of the sampling chain, one small class each.

A stage is a frozen value: `TopP(0.9)`. Called with logits it returns new logits with the removed
tokens at -inf and leaves its input alone:

    >>> TopK(1)(np.array([1.0, 3.0, 2.0], np.float32))
    array([-inf,   3., -inf], dtype=float32)

Two kinds exist. An `EditStage` changes scores (penalties, temperature, bias). A `CutStage` removes
tokens by their rank. To add one: write the class with its `setting` name and the value that
switches it off, put it into `DEFAULT_ORDER`, add one test. `SamplingSettings` then takes it as a
keyword, the decoder records it and the pages list it.

Wherever transformers has the same rule, the class also names its processor: the tests compare the
two row by row, and parity mode runs the processor itself.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import SettingError
from engine.ranking import RankedRow, Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor


@dataclass(frozen=True)
class Context:
    """What a stage may know besides the scores.

    Attributes:
        token_ids: (positions,) int64, prompt and generated tokens so far.
        prompt_length: how many of them are the prompt.
    """

    token_ids: np.ndarray
    prompt_length: int = 0


NO_CONTEXT = Context(np.empty(0, np.int64))


@dataclass(frozen=True)
class Stage:
    """Base of all stages.

    Class attributes:
        setting: keyword in `SamplingSettings`, and the stage's name everywhere.
        off: value of that keyword that leaves the stage out of the chain.
    """

    setting: ClassVar[str]
    off: ClassVar[float]

    @property
    def name(self) -> str:
        """The setting's name, e.g. ``top_p``."""
        return self.setting

    @property
    def value(self) -> float:
        """What the stage's slider shows: its first field."""
        return getattr(self, fields(self)[0].name)

    def to_dict(self) -> dict[str, float]:
        """All fields by name, as plain values."""
        return asdict(self)

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        """What is left after this stage."""
        raise NotImplementedError

    def check_vocabulary(self, vocab_size: int) -> None:
        """Raise `SettingError` where the value makes no sense for this many tokens."""

    def processor(self) -> LogitsProcessor:
        """The same rule in transformers (used by parity mode and by the tests)."""
        raise NotImplementedError

    def __call__(self, logits: np.ndarray, context: Context = NO_CONTEXT) -> np.ndarray:
        """New (vocab,) float32 logits, removed tokens at -inf; the input is left alone."""
        row = RankedRow(np.asarray(logits, np.float32))
        return self.apply(Survivors(row), context).scores.copy()


class EditStage(Stage):
    """A stage that changes scores."""

    def edit(self, scores: np.ndarray, context: Context) -> np.ndarray:
        """New (vocab,) float32 scores; `scores` itself must not be modified."""
        raise NotImplementedError

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        return Survivors(RankedRow(self.edit(survivors.scores, context)))


class CutStage(Stage):
    """A stage that removes tokens by their rank."""

    def cut(self, survivors: Survivors) -> Survivors:
        """The survivors of this rule; always at least one token."""
        raise NotImplementedError

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        return self.cut(survivors)


def number(setting: str, value: object, remedy: str) -> float:
    """`value` as a finite float, or a `SettingError` that names the setting."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise SettingError(setting, value, "must be a number", remedy)
    try:
        as_float = float(value)
    except OverflowError:  # a whole number beyond every float
        as_float = math.inf
    if not math.isfinite(as_float):
        raise SettingError(setting, value, "must be a finite number", remedy)
    return as_float


@dataclass(frozen=True)
class RepetitionPenalty(EditStage):
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
        if not self.smallest <= value <= self.largest:
            # Logits beyond float32's range would become infinite.
            problem = f"must be between {self.smallest:g} and {self.largest:g}"
            raise SettingError(self.setting, self.penalty, problem, remedy)
        object.__setattr__(self, "penalty", value)  # a plain float, whatever came

    def edit(self, scores: np.ndarray, context: Context) -> np.ndarray:
        # A tokenizer may know ids that the model has no output for.
        seen = context.token_ids[context.token_ids < scores.size]
        edited = scores.copy()
        old, penalty = scores[seen], np.float32(self.penalty)
        with np.errstate(over="ignore"):
            edited[seen] = np.where(old < 0, old * penalty, old / penalty)
        return edited

    def processor(self) -> LogitsProcessor:
        from transformers import RepetitionPenaltyLogitsProcessor

        return RepetitionPenaltyLogitsProcessor(float(self.penalty))


@dataclass(frozen=True)
class Temperature(EditStage):
    """Divide the scores by T before the softmax: below 1 sharpens, above 1 flattens.

    p_i = exp(z_i / T) / sum_j exp(z_j / T) (Ackley, Hinton and Sejnowski 1985). T = 0 means greedy
    by convention, since the formula is undefined there: only the highest score is kept, the lower
    id where several are equal.
    """

    temperature: float
    setting: ClassVar[str] = "temperature"
    off: ClassVar[float] = 1.0
    smallest: ClassVar[float] = 1e-6
    largest: ClassVar[float] = 1e6

    def __post_init__(self) -> None:
        remedy = f"use 0 for greedy, or {self.smallest:f} or more (1 leaves the model's own odds)"
        value = number(self.setting, self.temperature, remedy)
        if value < 0:
            raise SettingError(self.setting, self.temperature, "must not be negative", remedy)
        if 0 < value < self.smallest:
            # Dividing by less overflows float32 and would yield NaN, not a sharper choice.
            raise SettingError(self.setting, self.temperature, "is too small to divide by", remedy)
        if value > self.largest:
            problem = f"must be at most {self.largest:,.0f}"
            raise SettingError(self.setting, self.temperature, problem, remedy)
        object.__setattr__(self, "temperature", value)

    @property
    def is_greedy(self) -> bool:
        """Whether this is T = 0, the argmax."""
        return self.temperature == 0

    def edit(self, scores: np.ndarray, context: Context) -> np.ndarray:
        with np.errstate(over="ignore"):  # a score near float32's lowest may become -inf
            return scores / np.float32(self.temperature)

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        if self.is_greedy:
            return survivors.leading(1, with_ties=False)
        scores = self.edit(survivors.scores, context)
        if survivors.start:  # the highest of the row is out of the race
            return Survivors(RankedRow(scores))
        # Division keeps the order, so the highest score stays the highest.
        highest = float(np.float32(survivors.row.highest) / np.float32(self.temperature))
        return Survivors(RankedRow(scores, highest=highest))

    def processor(self) -> LogitsProcessor:
        from transformers import TemperatureLogitsWarper, TopKLogitsWarper

        if self.is_greedy:
            return TopKLogitsWarper(1)
        return TemperatureLogitsWarper(float(self.temperature))


@dataclass(frozen=True)
class TopK(CutStage):
    """Keep the k most likely tokens, and every token equal to the k-th.

    Fan et al. 2018 (arXiv:1805.04833). Usual values 40 or 50. Keeping the ties of the k-th is what
    transformers does, so more than k tokens can survive.
    """

    k: int
    setting: ClassVar[str] = "top_k"
    off: ClassVar[float] = 0

    def __post_init__(self) -> None:
        remedy = "use 0 to switch it off, or a whole number of tokens to keep"
        if number(self.setting, self.k, remedy) != int(self.k) or self.k < 1:
            problem = "must be 0 or a positive whole number"
            raise SettingError(self.setting, self.k, problem, remedy)
        object.__setattr__(self, "k", int(self.k))

    def check_vocabulary(self, vocab_size: int) -> None:
        if self.k > vocab_size:
            problem = f"is above the vocabulary of {vocab_size:,} tokens"
            remedy = f"use at most {vocab_size:,}, or 0 to switch it off"
            raise SettingError(self.setting, self.k, problem, remedy)

    def cut(self, survivors: Survivors) -> Survivors:
        return survivors.leading(int(self.k), with_ties=True)

    def processor(self) -> LogitsProcessor:
        from transformers import TopKLogitsWarper

        return TopKLogitsWarper(int(self.k))


@dataclass(frozen=True)
class TopP(CutStage):
    """Keep the nucleus: the smallest set of most likely tokens that holds probability p.

    The token that crosses p is kept. Holtzman et al. 2019 (arXiv:1904.09751). Usual values 0.9 or
    0.95. Where tokens of equal score lie across the edge, the lower ids are kept; transformers
    keeps as many, but which ones depends on its sort.
    """

    p: float
    setting: ClassVar[str] = "top_p"
    off: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        remedy = "use 1 to switch it off, or temperature 0 for greedy"
        if not 0 < number(self.setting, self.p, remedy) <= 1:
            raise SettingError(self.setting, self.p, "must be above 0 and at most 1", remedy)
        object.__setattr__(self, "p", float(self.p))

    def cut(self, survivors: Survivors) -> Survivors:
        return survivors.reaching_mass(self.p) if self.p < 1 else survivors

    def processor(self) -> LogitsProcessor:
        from transformers import TopPLogitsWarper

        return TopPLogitsWarper(float(self.p))


@dataclass(frozen=True)
class MinP(CutStage):
    """Keep the tokens at least `ratio` times as likely as the most likely one.

    Nguyen et al. 2024 (arXiv:2407.01082). Usual values 0.05 to 0.1, with a high temperature.
    """

    ratio: float
    setting: ClassVar[str] = "min_p"
    off: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        remedy = "use 0 to switch it off, 0.05 to 0.1 with a high temperature"
        if not 0 <= number(self.setting, self.ratio, remedy) <= 1:
            raise SettingError(self.setting, self.ratio, "must be between 0 and 1", remedy)
        object.__setattr__(self, "ratio", float(self.ratio))

    def cut(self, survivors: Survivors) -> Survivors:
        return survivors.above_ratio(self.ratio) if self.ratio > 0 else survivors

    def processor(self) -> LogitsProcessor:
        from transformers import MinPLogitsWarper

        return MinPLogitsWarper(float(self.ratio))


# The order in which transformers applies them (GenerationMixin._get_logits_processor).
DEFAULT_ORDER: tuple[type[Stage], ...] = (RepetitionPenalty, Temperature, TopK, TopP, MinP)
STAGES: dict[str, type[Stage]] = {stage.setting: stage for stage in DEFAULT_ORDER}
