"""Ban of the end tokens until a text has a minimum length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import msg
from engine.sampling.samplers.base import NO_CONTEXT, BanStage, Context
from engine.sampling.samplers.info import BANNED, DOWN, Info, Number
from engine.sampling.survivors import Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor


@dataclass(frozen=True)
class MinNewTokens(BanStage):
    """Remove the end-of-text tokens until `n` tokens have been generated.

    transformers has the same rule. The end's share of the distribution goes to all other tokens in
    proportion. Without end-of-text ids it has no effect. If only the end was left, the step is
    refused (`NoCandidatesError`).

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
            "": "The text has {generated:tokens}, needs at least {n:number}, and may not end "
            "yet. The ban removes {names:names} with {mass_removed:percent} of the "
            "probability.",
            "none": "The text has {generated:tokens}, needs at least {n:number}, and may not "
            "end yet. No end token is left to ban.",
            "enough": "The text has {generated:tokens}, at least {n:number}, so it may end here.",
        },
        note={"": BANNED, "none": "nothing to ban", "enough": "the text may end"},
        numbers=(
            Number(
                "n",
                "Min new tokens",
                slider=(0, 128, 1),
                usual=32,
                sweep=(0, 8, 16, 32),
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
