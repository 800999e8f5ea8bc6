"""Ban of repeated n-grams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import msg
from engine.sampling.samplers.base import NO_CONTEXT, BanStage, Context
from engine.sampling.samplers.info import BANNED, BANS, UP, Info, Number, arxiv

if TYPE_CHECKING:
    from transformers import LogitsProcessor


@dataclass(frozen=True)
class NoRepeatNGram(BanStage):
    """Remove every token that would complete an n-gram that has already occurred.

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
            + BANS,
            "none": "No remaining token would repeat a run of {n:tokens}, so nothing is banned.",
        },
        note={"": BANNED, "none": "nothing to ban"},
        paper=arxiv("Paulus et al. 2017", "1705.04304"),
        numbers=(
            Number(
                "n",
                "No-repeat n-gram",
                slider=(0, 10, 1),
                usual=3,
                sweep=(0, 2, 3, 4, 6),
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
