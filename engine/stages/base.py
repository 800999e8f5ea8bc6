"""What a stage is: a small frozen value that turns logits into new logits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import NoCandidatesError, SettingError
from engine.ranking import RankedRow, Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor


@dataclass(frozen=True)
class Context:
    """What a stage may know besides the scores.

    Attributes:
        token_ids: (positions,) int64, prompt and generated tokens so far.
        prompt_length: how many of them are the prompt.
        eos_ids: ids that end a text.
        xtc_uniform: the step's own uniform number for XTC, 0 <= u < 1; 0 lets it act.
        mirostat_mu: Mirostat's bound on the surprise before this step, in bits; None where it
            begins here.
    """

    token_ids: np.ndarray
    prompt_length: int = 0
    eos_ids: tuple[int, ...] = ()
    xtc_uniform: float = 0.0
    mirostat_mu: float | None = None

    @property
    def generated_ids(self) -> np.ndarray:
        """(steps,) the tokens after the prompt."""
        return self.token_ids[self.prompt_length :]


NO_CONTEXT = Context(np.empty(0, np.int64))


@dataclass(frozen=True)
class Stage:
    """Base of all stages.

    Class attributes:
        setting: keyword in `SamplingSettings`, and the stage's name everywhere.
        off: value of that keyword that leaves the stage out of the chain.
    """

    setting: ClassVar[str]
    off: ClassVar[object] = None

    @property
    def name(self) -> str:
        """The setting's name, e.g. ``top_p``."""
        return self.setting

    @property
    def value(self) -> object:
        """What `SamplingSettings` shows for it: its field, or itself where it has several."""
        names = fields(self)
        return getattr(self, names[0].name) if len(names) == 1 else self

    @classmethod
    def is_off(cls, value: object) -> bool:
        """Whether this value of the keyword leaves the stage out."""
        # 0.0 == 0 == False, but a person who writes False for a number should hear of it.
        return value is None or (not isinstance(value, bool) and value == cls.off)

    @property
    def in_transformers(self) -> bool:
        """Whether transformers has the same rule, so that parity mode can run it."""
        return type(self).processor is not Stage.processor

    def no_effect(self) -> str | None:
        """Why the stage cannot change anything as it is set, None where it can."""
        if len(fields(self)) == 1 and self.is_off(self.value):
            return f"at {self.value} it changes nothing"
        return None

    def to_dict(self) -> dict[str, object]:
        """All fields by name, as values that JSON has."""
        return {item.name: _plain(getattr(self, item.name)) for item in fields(self)}

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        """What is left after this stage."""
        raise NotImplementedError

    def check_vocabulary(self, vocab_size: int) -> None:
        """Raise `SettingError` where the value makes no sense for this many tokens."""

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        """The same rule in transformers (used by parity mode and by the tests).

        Args:
            context: for the rules that look at the prompt's length or the end-of-text ids.
        """
        raise NotImplementedError

    def __call__(self, logits: np.ndarray, context: Context = NO_CONTEXT) -> np.ndarray:
        """New (vocab,) float32 logits, removed tokens at -inf; the input is left alone."""
        row = RankedRow(np.asarray(logits, np.float32))
        return self.apply(Survivors(row), context).scores.copy()


def _plain(value: object) -> object:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


class EditStage(Stage):
    """A stage that changes scores; one at -inf is removed."""

    def edit(self, scores: np.ndarray, context: Context) -> np.ndarray:
        """New (vocab,) float32 scores; `scores` itself must not be modified."""
        raise NotImplementedError

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        return self.ranked(self.edit(survivors.scores, context))

    def ranked(self, scores: np.ndarray) -> Survivors:
        """The edited scores as a row of their own.

        Raises:
            NoCandidatesError: every token is at -inf.
        """
        return ranked_after(self.setting, scores)


def ranked_after(setting: str, scores: np.ndarray) -> Survivors:
    """Scores that a stage has left, as a row; raises `NoCandidatesError` naming it if empty."""
    highest = float(scores.max())
    if highest == -math.inf:
        raise NoCandidatesError(
            f"Every token was removed before the draw: {setting} took the last of them; loosen it "
            "or switch it off."
        )
    return Survivors(RankedRow(scores, highest=highest))


class TokenEdit(EditStage):
    """An edit of some tokens only; where it finds none, the ranking made before goes on."""

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        """(n,) ids of tokens, and their (n,) new float32 scores.

        A removed token's -inf stays -inf under every edit, so it does not matter here.
        """
        raise NotImplementedError

    def edit(self, scores: np.ndarray, context: Context) -> np.ndarray:
        token_ids, values = self.changes(scores, context)
        edited = scores.copy()
        edited[token_ids] = values
        return edited

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        scores = survivors.scores
        token_ids, values = self.changes(scores, context)
        if np.array_equal(scores[token_ids], values):
            return survivors
        edited = scores.copy()
        edited[token_ids] = values
        return self.ranked(edited)


class BanStage(TokenEdit):
    """An edit that removes tokens."""

    def banned_ids(self, vocab_size: int, context: Context) -> np.ndarray:
        """(n,) ids of the tokens that are removed now."""
        raise NotImplementedError

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        token_ids = self.banned_ids(scores.size, context)
        return token_ids, np.full(token_ids.size, -np.inf, np.float32)


class CutStage(Stage):
    """A stage that removes tokens by their rank."""

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        """The survivors of this rule; always at least one token."""
        raise NotImplementedError

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        return self.cut(survivors, context)


# Checks of settings. Each returns the value as a plain Python one, whatever came.


def number(setting: str, value: object, remedy: str) -> float:
    """`value` as a finite float, or a `SettingError` that names the setting."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise SettingError(setting, value, "must be a number", remedy)
    try:
        as_float = float(value)
    except (OverflowError, TypeError):  # a whole number beyond every float, a complex number
        as_float = math.inf
    if not math.isfinite(as_float):
        raise SettingError(setting, value, "must be a finite number", remedy)
    return as_float


def between(setting: str, value: object, low: float, high: float, remedy: str) -> float:
    """A number from `low` to `high`."""
    as_float = number(setting, value, remedy)
    if not low <= as_float <= high:
        problem = f"must be between {low:g} and {high:g}"
        raise SettingError(setting, value, problem, remedy)
    return as_float


def above(setting: str, value: object, low: float, high: float, remedy: str) -> float:
    """A number above `low` and at most `high`."""
    as_float = number(setting, value, remedy)
    if not low < as_float <= high:
        problem = f"must be above {low:g} and at most {high:g}"
        raise SettingError(setting, value, problem, remedy)
    return as_float


def count(setting: str, value: object, remedy: str) -> int:
    """A positive whole number; one written as a float is taken too."""
    if number(setting, value, remedy) != int(value) or value < 1:
        raise SettingError(setting, value, "must be 0 or a positive whole number", remedy)
    return int(value)


def token_ids(setting: str, values: object, remedy: str) -> tuple[int, ...]:
    """Whole numbers from 0 on."""
    if isinstance(values, (str, bytes)) or not isinstance(values, (Iterable, Sequence)):
        raise SettingError(setting, values, "must be a list of token ids", remedy)
    return tuple(token_id(setting, value, remedy) for value in values)


def token_id(setting: str, value: object, remedy: str) -> int:
    """A whole number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise SettingError(setting, value, "must hold token ids, whole numbers", remedy)
    if value < 0:
        raise SettingError(setting, value, "must hold token ids from 0 on", remedy)
    return int(value)


def check_known(setting: str, ids: Iterable[int], vocab_size: int) -> None:
    """Raise `SettingError` where an id is outside the vocabulary."""
    largest = max(ids, default=0)
    if largest >= vocab_size:
        problem = f"names a token outside the vocabulary of {vocab_size:,}"
        raise SettingError(setting, largest, problem, f"use ids 0 to {vocab_size - 1:,}")
