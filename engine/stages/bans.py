"""Stages that rule tokens out: repeated n-grams, unwanted words, an end that comes too early."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import SettingError
from engine.stages.base import NO_CONTEXT, BanStage, Context, check_known, count, token_ids

if TYPE_CHECKING:
    from transformers import LogitsProcessor


@dataclass(frozen=True)
class NoRepeatNGram(BanStage):
    """Remove every token that would complete an n-gram which already occurred.

    Paulus et al. 2017 (arXiv:1705.04304), as in transformers and fairseq: prompt and generated
    tokens count alike. Usual values 3 or 4; 1 removes every token seen. Nothing happens until the
    last n - 1 tokens stood somewhere before; then what followed them there is gone, however likely.
    Where a small vocabulary runs out of tokens, the step is refused (`NoCandidatesError`).
    """

    n: int
    setting: ClassVar[str] = "no_repeat_ngram"
    off: ClassVar[int] = 0

    def __post_init__(self) -> None:
        remedy = "use 0 to switch it off, or the length of the n-grams, such as 3"
        object.__setattr__(self, "n", count(self.setting, self.n, remedy))

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
    """Remove tokens, and the last token of a longer sequence where the others just stood.

    So a word of several tokens can begin and is stopped at its end. transformers has it as
    ``bad_words_ids``, and like there an end-of-text token alone cannot be banned: that is what
    `min_new_tokens` is for. Of the distribution only the banned tokens are missing; the odds among
    the others stay as they were. Where every token is banned, the step is refused
    (`NoCandidatesError`).

    Attributes:
        sequences: token ids, each sequence a list; a single id may be given as it is.
    """

    sequences: tuple[tuple[int, ...], ...]
    setting: ClassVar[str] = "banned"
    off: ClassVar[tuple] = ()

    def __post_init__(self) -> None:
        remedy = "give lists of token ids, for example [[262], [11, 351]]"
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
        # Theirs refuses to ban nothing; an empty list of processors does nothing.
        return NoBadWordsLogitsProcessor(own) if own else LogitsProcessorList()


def _by_length(sequences: tuple[tuple[int, ...], ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    """(n, length - 1) beginnings and (n,) last tokens of the sequences of each length."""
    groups: dict[int, list[tuple[int, ...]]] = {}
    for sequence in sequences:
        groups.setdefault(len(sequence), []).append(sequence)
    stacked = (np.array(group, np.int64) for group in groups.values())
    return [(group[:, :-1], group[:, -1]) for group in stacked]


@dataclass(frozen=True)
class MinNewTokens(BanStage):
    """Remove the end-of-text tokens until `n` tokens have been generated.

    As in transformers. Of the distribution the end's share is missing and goes to all other tokens
    in proportion. Without end-of-text ids it has no effect; where nothing but the end was left, the
    step is refused (`NoCandidatesError`).
    """

    n: int
    setting: ClassVar[str] = "min_new_tokens"
    off: ClassVar[int] = 0

    def __post_init__(self) -> None:
        remedy = "use 0 to switch it off, or a number of tokens"
        object.__setattr__(self, "n", count(self.setting, self.n, remedy))

    def banned_ids(self, vocab_size: int, context: Context) -> np.ndarray:
        is_early = context.generated_ids.size < self.n
        eos_ids = np.array(context.eos_ids if is_early else (), np.int64)
        return eos_ids[eos_ids < vocab_size]

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        import torch
        from transformers import MinNewTokensLengthLogitsProcessor

        eos_ids = torch.tensor(context.eos_ids, dtype=torch.long)
        return MinNewTokensLengthLogitsProcessor(context.prompt_length, self.n, eos_ids)
