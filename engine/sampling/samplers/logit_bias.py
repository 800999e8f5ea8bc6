"""Logit bias: add a constant to the scores of chosen tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import SettingError, msg
from engine.sampling.samplers.base import NO_CONTEXT, Context, TokenEdit, check_known, token_id
from engine.sampling.samplers.info import EITHER, MOVES, Info, Number

if TYPE_CHECKING:
    from transformers import LogitsProcessor


@dataclass(frozen=True)
class LogitBias(TokenEdit):
    """Add a number to the scores of chosen tokens: z_i + b_i.

    Every unit multiplies a token's odds against any other by e. The odds among the other tokens do
    not change. The OpenAI API accepts -100 to 100: the ends nearly ban or force a token, and 1 to 5
    nudges it. It removes nothing; to remove tokens use `banned`.

    Figures: none of its own. Cases: ``none`` if no score changed, else ``""``.

    Attributes:
        bias: token id -> number to add, -1,000 to 1,000. It is given as a mapping or as pairs, and
            stored as pairs in order of the ids.
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
                raise SettingError(self.setting, pair, "must contain pairs of id and bias", remedy)
            chosen = token_id(self.setting, pair[0], remedy)
            if chosen in pairs:
                raise SettingError(self.setting, chosen, "names a token twice", remedy)
            pairs[chosen] = limits.checked(self.setting, pair[1])
        if not pairs:
            raise SettingError(self.setting, self.bias, "contains no token", remedy)
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
