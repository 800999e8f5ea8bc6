"""Base classes of the stages: small frozen values that turn logits into new logits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import NoCandidatesError, SettingError, msg
from engine.sampling.ranking import RankedRow
from engine.sampling.samplers.info import Info
from engine.sampling.survivors import Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor

    from engine.grammar import Places


# If at most one score in `_ONE_IN` has changed, the others are not read again.
_ONE_IN = 256


def _always_zero(stream: int) -> float:
    return 0.0


@dataclass(frozen=True)
class Context:
    """Information available to a stage in addition to the scores.

    Attributes:
        token_ids: (positions,) int64, prompt and generated tokens so far.
        prompt_length: number of these that belong to the prompt.
        eos_ids: ids of the tokens that end a text.
        line_break_ids: ids of the tokens that are a line break.
        states: the state that each stage with memory left in the previous step, by setting. Empty
            before the first step. A stage reads its own with `Stage.state`.
        uniform: number of a stage's random stream (`Stage.stream`) -> the step's uniform number in
            that stream, 0 <= u < 1. It depends on seed, stream and step alone. Without a seed it
            is 0.
        device: the model's device, a PyTorch name or object, on which parity mode runs
            transformers' processors.
        places: finds which of the model's tokens a constraint allows; None if that is unknown.
    """

    token_ids: np.ndarray
    prompt_length: int = 0
    eos_ids: tuple[int, ...] = ()
    line_break_ids: tuple[int, ...] = ()
    states: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    uniform: Callable[[int], float] = field(default=_always_zero, repr=False)
    device: object = "cpu"
    places: Places | None = field(default=None, repr=False)

    @property
    def generated_ids(self) -> np.ndarray:
        """Tokens after the prompt: (steps,)."""
        return self.token_ids[self.prompt_length :]


NO_CONTEXT = Context(np.empty(0, np.int64))


@dataclass(frozen=True)
class Stage:
    """Base class of all stages of a sampling chain.

    Class attributes:
        setting: keyword in `SamplingSettings`, and the stage's name everywhere.
        off: value of that keyword that leaves the stage out of the chain.
        kind: effect on scores: ``edit`` moves or removes single tokens, ``scale`` divides all
            scores, ``cut`` removes tokens by rank or probability.
        keeps_the_best: whether the most likely token always remains the most likely one.
        stream: number of its own random stream, from 1, unique to the stage; None for a stage
            that is not random.
        needs: model capabilities beyond the order and odds of tokens (`engine.backend`).
        info: names, words and ranges; None for a stage that is never shown.
    """

    setting: ClassVar[str]
    off: ClassVar[object] = None
    kind: ClassVar[str]
    keeps_the_best: ClassVar[bool] = False
    stream: ClassVar[int | None] = None
    needs: ClassVar[tuple[str, ...]] = ()
    info: ClassVar[Info | None] = None

    def __post_init__(self) -> None:
        """Check the numbers against their ranges, and keep each as a plain Python number."""
        numbers = self.info.numbers if self.info else ()
        for number in numbers:
            name = number.name
            setting = self.setting if len(fields(self)) == 1 else f"{self.setting}.{name}"
            object.__setattr__(self, name, number.checked(setting, getattr(self, name)))
        if numbers and self.info.pair:
            first, second = (getattr(self, name) for name in self.info.pair)
            if first > second:
                problem = msg("must not be below {pair}, {first:g}", (self.info.pair[0], first))
                remedy = next(n.remedy for n in numbers if n.name == self.info.pair[1])
                raise SettingError(f"{self.setting}.{self.info.pair[1]}", second, problem, remedy)

    @property
    def name(self) -> str:
        """The setting's name, e.g. ``top_p``."""
        return self.setting

    @property
    def value(self) -> object:
        """Value of the setting in `SamplingSettings`: the only field, or the stage itself."""
        names = fields(self)
        return getattr(self, names[0].name) if len(names) == 1 else self

    @classmethod
    def is_off(cls, value: object) -> bool:
        """Return whether this value of the keyword leaves the stage out."""
        # 0.0 == 0 == False, but a caller who writes False for a number should get an error.
        return value is None or (not isinstance(value, bool) and value == cls.off)

    @classmethod
    def is_one_number(cls) -> bool:
        """Return whether its setting is a plain number."""
        return [item.type for item in fields(cls)] in (["int"], ["float"])

    @property
    def in_transformers(self) -> bool:
        """Return whether transformers has the same rule, so that parity mode can run it."""
        return type(self).processor is not Stage.processor

    def no_effect(self) -> str | None:
        """Return the reason that the stage, as set, cannot change anything; None if it can."""
        if len(fields(self)) == 1 and self.is_off(self.value):
            return f"at {self.value} it changes nothing"
        return None

    def to_dict(self) -> dict[str, object]:
        """Return all fields by name, as JSON values."""
        return {item.name: _plain(getattr(self, item.name)) for item in fields(self)}

    @property
    def numbers(self) -> dict[str, float]:
        """The fields that are numbers, by name."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, (int, float))}

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        """Return the tokens and scores left after this stage."""
        raise NotImplementedError

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        """Return figures that the rule computed, for sentences and charts; each class has its own.

        Two names have the same meaning everywhere, so that one chart can draw them for any stage.
        ``threshold`` is the probability, just before the stage, below which tokens are removed, and
        ``least_score`` is the same as a score.

        Args:
            before, after: the tokens left just before and just after it.
            context: everything else that it saw.
        """
        return {}

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        """Return the key of a sentence in `info.says`: ``none`` if nothing changed, else ``""``."""
        return "" if _has_changed(before, after) else "none"

    # A stage with memory overrides `initial_state` and `after`, and `resumed` if need be. A state
    # is a frozen dataclass of plain values: steps, forks and traces share it, so it never changes.

    @classmethod
    def has_memory(cls) -> bool:
        """Return whether its effect depends on earlier steps."""
        return cls.initial_state is not Stage.initial_state

    def initial_state(self) -> object:
        """Return its state before the first step that it takes part in."""
        return None

    def resumed(self, left: object) -> object:
        """Return the state to continue from.

        Args:
            left: the state that a stage of this class, perhaps with other settings, left in the
                previous step.
        """
        return left

    def after(self, state: object, token_id: int, before: Survivors) -> object:
        """Return the state after a step, as a new value; `state` stays unchanged.

        Args:
            state: the state before the step.
            token_id: the token that was drawn or forced.
            before: the tokens left just before this stage.
        """
        raise NotImplementedError

    def state(self, context: Context) -> object:
        """Return its state in a step; a step without the stage resets it."""
        left = context.states.get(self.setting)
        return self.initial_state() if left is None else self.resumed(left)

    def recorded(self, context: Context) -> dict[str, float]:
        """Return the numbers from memory and random stream that a step records, by name."""
        return {} if self.stream is None else {"uniform": context.uniform(self.stream)}

    def check_vocabulary(self, vocab_size: int) -> None:
        """Raise `SettingError` if the value makes no sense for a vocabulary of this size."""

    def check_tokens(self, places: Places) -> None:
        """Raise `SettingError` if the value makes no sense for a model's tokens."""

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        """Return the same rule in transformers, for parity mode and the tests.

        Args:
            context: for rules that depend on the prompt's length or the end-of-text ids.
        """
        raise NotImplementedError

    def __call__(self, logits: np.ndarray, context: Context = NO_CONTEXT) -> np.ndarray:
        """Return new (vocab,) float32 logits, removed tokens at -inf; the input is unchanged."""
        row = RankedRow(np.asarray(logits, np.float32))
        return self.apply(Survivors(row), context).scores.copy()


def _plain(value: object) -> object:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _has_changed(before: Survivors, after: Survivors) -> bool:
    if after.row is before.row:
        return after.count != before.count
    return not np.array_equal(after.scores, before.scores)


class EditStage(Stage):
    """A stage that changes scores; a score of -inf removes the token."""

    kind: ClassVar[str] = "edit"


def ranked_after(
    setting: str,
    scores: np.ndarray,
    edited: tuple[RankedRow, np.ndarray] | None = None,
) -> Survivors:
    """Rank the scores after a stage; raises `NoCandidatesError`, which names it, if none is left.

    Args:
        setting: the stage's setting.
        scores: (vocab,) float32.
        edited: the row before and the ids of the changed tokens, if there are few; see
            `RankedRow.edited`.
    """
    try:
        row = edited[0].edited(scores, edited[1]) if edited else RankedRow(scores)
    except NoCandidatesError:
        raise NoCandidatesError(
            "Every token was removed before the draw: {setting} removed the last of them; "
            "loosen it or switch it off.",
            setting,
        ) from None
    return Survivors(row)


def _each_once(token_ids: np.ndarray) -> np.ndarray:
    """Return the distinct ids, ascending; several times faster than `np.unique` for a few ids."""
    ascending = np.sort(token_ids)
    is_new = np.ones(ascending.size, bool)
    np.not_equal(ascending[1:], ascending[:-1], out=is_new[1:])
    return ascending[is_new]


class TokenEdit(EditStage):
    """An edit of some tokens only; if no score changes, the previous ranking is reused."""

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of tokens, (n,), and their new scores, (n,) float32.

        A removed token stays at -inf under every edit, so it may be included.
        """
        raise NotImplementedError

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        scores = survivors.scores
        token_ids, values = self.changes(scores, context)
        if np.array_equal(scores[token_ids], values):
            return survivors
        edited = scores.copy()
        edited[token_ids] = values
        if survivors.is_cut or token_ids.size * _ONE_IN > scores.size:
            return ranked_after(self.setting, edited)
        return ranked_after(self.setting, edited, (survivors.row, _each_once(token_ids)))


class BanStage(TokenEdit):
    """An edit that removes tokens."""

    def banned_ids(self, vocab_size: int, context: Context) -> np.ndarray:
        """Return the ids of the tokens to remove in this step: (n,)."""
        raise NotImplementedError

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        token_ids = self.banned_ids(scores.size, context)
        return token_ids, np.full(token_ids.size, -np.inf, np.float32)


class ScaleStage(EditStage):
    """An edit that divides all scores by one number, a temperature, and keeps their order."""

    kind: ClassVar[str] = "scale"
    keeps_the_best: ClassVar[bool] = True

    def temperature_of(self, survivors: Survivors) -> float:
        """Return the number, above 0, that divides the scores of these tokens."""
        raise NotImplementedError

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        temperature = self.temperature_of(survivors)
        scores = divided(survivors.scores, temperature)
        # Only division by less than 1 can make a score -inf.
        count = survivors.count if temperature >= 1 else None
        if survivors.start:  # the row's highest score has been removed
            return Survivors(RankedRow(scores, count=count))
        # Division keeps the order, so the highest score stays the highest.
        highest = float(np.float32(survivors.row.highest) / np.float32(temperature))
        return Survivors(RankedRow(scores, highest=highest, count=count))

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        """Return ``single`` for a lone token, else ``sharper``, ``flatter`` or ``none`` (T = 1)."""
        if before.count == 1:
            return "single"
        temperature = self.temperature_of(before)
        return "none" if temperature == 1 else "sharper" if temperature < 1 else "flatter"


def divided(scores: np.ndarray, temperature: float) -> np.ndarray:
    """Return (vocab,) float32 scores divided by a temperature."""
    with np.errstate(over="ignore"):  # a score near float32's lowest may become -inf
        return scores / np.float32(temperature)


class CutStage(Stage):
    """A stage that removes tokens by their rank."""

    kind: ClassVar[str] = "cut"
    keeps_the_best: ClassVar[bool] = True

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        """Return the survivors of this rule, always at least one token."""
        raise NotImplementedError

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        return self.cut(survivors, context)


# Checks of token ids. Each returns plain Python numbers, whatever types it was given.


def token_ids(setting: str, values: object, remedy: str) -> tuple[int, ...]:
    """Return a list of token ids as a tuple; raises `SettingError` for anything else."""
    if isinstance(values, (str, bytes)) or not isinstance(values, (Iterable, Sequence)):
        raise SettingError(setting, values, "must be a list of token ids", remedy)
    return tuple(token_id(setting, value, remedy) for value in values)


def token_id(setting: str, value: object, remedy: str) -> int:
    """Return a token id, a whole number from 0; raises `SettingError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise SettingError(
            setting, value, "must contain token ids, which are whole numbers", remedy
        )
    if value < 0:
        raise SettingError(setting, value, "must not contain negative token ids", remedy)
    return int(value)


def check_known(setting: str, ids: Iterable[int], vocab_size: int) -> None:
    """Raise `SettingError` if an id is outside the vocabulary."""
    largest = max(ids, default=0)
    if largest >= vocab_size:
        problem = msg("names a token outside the vocabulary of {vocab_size:,}", vocab_size)
        raise SettingError(
            setting, largest, problem, msg("use ids 0 to {vocab_size:,}", vocab_size - 1)
        )
