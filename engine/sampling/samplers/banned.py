"""Ban of tokens and of sequences of tokens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import SettingError, msg
from engine.sampling.samplers.base import NO_CONTEXT, BanStage, Context, check_known, token_ids
from engine.sampling.samplers.info import BANNED, BANS, Info

if TYPE_CHECKING:
    from transformers import LogitsProcessor


@dataclass(frozen=True)
class Banned(BanStage):
    """Remove tokens, and the last token of a longer sequence if its other tokens came just before.

    So a word of several tokens can begin but not end. transformers has the rule as
    ``bad_words_ids``. As there, an end-of-text token alone cannot be banned; use `min_new_tokens`
    for that. Only the banned tokens leave the distribution; the odds among the others do not
    change. If every token is banned, the step is refused (`NoCandidatesError`).

    Figures: none of its own. Cases: ``none`` if nothing was banned, else ``""``.

    Attributes:
        sequences: token ids, each sequence a list; a single id may be given without a list.
    """

    sequences: tuple[tuple[int, ...], ...]
    setting: ClassVar[str] = "banned"
    off: ClassVar[tuple] = ()
    info: ClassVar[Info] = Info(
        label="Banned words",
        group="penalties",
        about="Bans words: single tokens always, a longer word’s last token after its beginning.",
        formula="z = −∞ for the token that would complete a banned word",
        idle="no word is banned",
        picture="edit",
        says={
            "": "The ban covers tokens that would complete a banned word: {names:names}. " + BANS,
            "none": "No remaining token would complete a banned word, so nothing is banned.",
        },
        note={"": BANNED, "none": "nothing to ban"},
    )

    def __post_init__(self) -> None:
        remedy = msg("give lists of token ids, for example [[262], [11, 351]]")
        given = self.sequences
        if isinstance(given, (str, bytes, dict)) or not isinstance(given, Iterable):
            raise SettingError(self.setting, given, "must be a list of token sequences", remedy)
        sequences = []
        for sequence in given:
            single = isinstance(sequence, (int, np.integer)) and not isinstance(sequence, bool)
            ids = token_ids(self.setting, [sequence] if single else sequence, remedy)
            if not ids:
                raise SettingError(self.setting, sequence, "contains an empty sequence", remedy)
            sequences.append(ids)
        if not sequences:
            raise SettingError(self.setting, given, "contains no sequence", remedy)
        object.__setattr__(self, "sequences", tuple(dict.fromkeys(sequences)))
        object.__setattr__(self, "_groups", _by_length(self.sequences))

    @classmethod
    def is_off(cls, value: object) -> bool:
        return value is None or (isinstance(value, (tuple, list)) and not value)

    def check_vocabulary(self, vocab_size: int) -> None:
        check_known(self.setting, (i for ids in self.sequences for i in ids), vocab_size)

    def banned_ids(self, vocab_size: int, context: Context) -> np.ndarray:
        ids = context.token_ids
        banned = [ids[:0]]
        for beginnings, ends in self._groups:
            length = beginnings.shape[1]
            if length == 0:
                banned.append(ends[~np.isin(ends, context.eos_ids)])
            elif length <= ids.size:
                banned.append(ends[(beginnings == ids[-length:]).all(axis=1)])
        return np.concatenate(banned)

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import LogitsProcessorList, NoBadWordsLogitsProcessor

        own = [list(ids) for ids in self.sequences if len(ids) > 1 or ids[0] not in context.eos_ids]
        # The transformers class refuses an empty list of words; an empty processor list is valid.
        return NoBadWordsLogitsProcessor(own) if own else LogitsProcessorList()


def _by_length(sequences: tuple[tuple[int, ...], ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (n, length - 1) beginnings and (n,) last tokens of the sequences of each length."""
    groups: dict[int, list[tuple[int, ...]]] = {}
    for sequence in sequences:
        groups.setdefault(len(sequence), []).append(sequence)
    stacked = (np.array(group, np.int64) for group in groups.values())
    return [(group[:, :-1], group[:, -1]) for group in stacked]
