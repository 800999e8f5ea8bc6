"""Stages that rule tokens out: repeated n-grams, unwanted words, a premature end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import SettingError, msg
from engine.sampling.stages.base import NO_CONTEXT, BanStage, Context, check_known, token_ids
from engine.sampling.stages.info import DOWN, UP, Info, Number, arxiv
from engine.sampling.survivors import Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor

_BANS = "It removes {banned:tokens} with {mass_removed:percent} of the probability."
_BANNED = "{banned:tokens} banned"


@dataclass(frozen=True)
class NoRepeatNGram(BanStage):
    """Remove every token that would complete an n-gram which already occurred.

    Paulus et al. 2017 (arXiv:1705.04304), as in transformers and fairseq: prompt and generated
    tokens count alike. Usual values are 3 or 4; 1 removes every token seen. Nothing happens until
    the last n - 1 tokens have occurred before. Then every token that followed them is removed,
    however likely. If a small vocabulary runs out of tokens, the step is refused
    (`NoCandidatesError`).

    Figures: none of its own. Cases: ``none`` if nothing was banned, else ``""``.
    """

    n: int
    setting: ClassVar[str] = "no_repeat_ngram"
    off: ClassVar[int] = 0
    info: ClassVar[Info] = Info(
        label="No-repeat n-gram",
        group="penalties",
        about="Bans every token that would complete a run of n tokens already in the text.",
        formula="z = −∞ where the last n − 1 tokens and the token occurred before",
        idle="any run may occur again",
        picture="edit",
        says={
            "": "No-repeat n-gram bans what would repeat a run of {n:tokens}: {names:names}. "
            + _BANS,
            "none": "No remaining token would repeat a run of {n:tokens}, so nothing is banned.",
        },
        note={"": _BANNED, "none": "nothing to ban"},
        paper=arxiv("Paulus et al. 2017", "1705.04304"),
        numbers=(
            Number(
                "n",
                "No-repeat n-gram",
                slider=(0, 10, 1),
                usual=3,
                remedy=msg("use 0 to switch it off, or the length of the n-grams, such as 3"),
                least=1,
                whole=True,
                takes=msg("0 or a positive whole number"),
                looser=UP,
            ),
        ),
    )

    def banned_ids(self, vocab_size: int, context: Context) -> np.ndarray:
        ids, n = context.token_ids, self.n
        if ids.size < n:
            return ids[:0]
        # Ends of n-grams whose first n - 1 tokens are the last n - 1 of the context.
        ends = np.arange(n - 1, ids.size)
        for back in range(1, n):
            ends = ends[ids[ends - back] == ids[-back]]
        banned = ids[ends]
        return banned[banned < vocab_size]  # a tokenizer may know ids without an output

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import NoRepeatNGramLogitsProcessor

        return NoRepeatNGramLogitsProcessor(self.n)


@dataclass(frozen=True)
class Banned(BanStage):
    """Remove tokens, and the last token of a longer sequence if its other tokens came just before.

    So a word of several tokens can begin and is stopped at its end. transformers has it as
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
            "": "The ban covers tokens that would complete a banned word: {names:names}. " + _BANS,
            "none": "No remaining token would complete a banned word, so nothing is banned.",
        },
        note={"": _BANNED, "none": "nothing to ban"},
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
                raise SettingError(self.setting, sequence, "holds an empty sequence", remedy)
            sequences.append(ids)
        if not sequences:
            raise SettingError(self.setting, given, "holds no sequence", remedy)
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


@dataclass(frozen=True)
class MinNewTokens(BanStage):
    """Remove the end-of-text tokens until `n` tokens have been generated.

    As in transformers. The end's share of the distribution goes to all other tokens in proportion.
    Without end-of-text ids it has no effect. If only the end was left, the step is refused
    (`NoCandidatesError`).

    Figures: ``generated``, the number of tokens generated. Cases: ``enough`` if that is at least n,
    ``none`` if no end-of-text token was left to remove, else ``""``.
    """

    n: int
    setting: ClassVar[str] = "min_new_tokens"
    off: ClassVar[int] = 0
    info: ClassVar[Info] = Info(
        label="Min new tokens",
        group="penalties",
        about="Bans the end of the text until n tokens have been generated.",
        formula="z = −∞ for the end tokens while fewer than n tokens are generated",
        idle="the text may end at any time",
        picture="edit",
        says={
            "": "The text has {generated:tokens} of at least {n:number} and may not end yet. The "
            "ban removes {names:names} with {mass_removed:percent} of the probability.",
            "none": "The text has {generated:tokens} of at least {n:number} and may not end yet. "
            "No end token is left to ban.",
            "enough": "The text has {generated:tokens}, at least {n:number}, so it may end here.",
        },
        note={"": _BANNED, "none": "nothing to ban", "enough": "the text may end"},
        numbers=(
            Number(
                "n",
                "Min new tokens",
                slider=(0, 128, 1),
                usual=32,
                remedy=msg("use 0 to switch it off, or a number of tokens"),
                least=1,
                whole=True,
                takes=msg("0 or a positive whole number"),
                looser=DOWN,
            ),
        ),
    )

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {"generated": context.generated_ids.size}

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        if context.generated_ids.size >= self.n:
            return "enough"
        return super().case(before, after, context)

    def banned_ids(self, vocab_size: int, context: Context) -> np.ndarray:
        is_early = context.generated_ids.size < self.n
        eos_ids = np.array(context.eos_ids if is_early else (), np.int64)
        return eos_ids[eos_ids < vocab_size]

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        import torch
        from transformers import MinNewTokensLengthLogitsProcessor

        eos_ids = torch.tensor(context.eos_ids, dtype=torch.long, device=context.device)
        return MinNewTokensLengthLogitsProcessor(context.prompt_length, self.n, eos_ids)
