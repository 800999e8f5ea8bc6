"""Stages that cut at a rank: a given one, or where the sorted probabilities stop bending."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.errors import SettingError, msg
from engine.sampling.stages.base import NO_CONTEXT, Context, CutStage
from engine.sampling.stages.info import REMOVES, UP, Info, Number, Paper, arxiv
from engine.sampling.survivors import Survivors

if TYPE_CHECKING:
    from transformers import LogitsProcessor


@dataclass(frozen=True)
class TopK(CutStage):
    """Keep the k most likely tokens, and every token equal to the k-th.

    Fan et al. 2018 (arXiv:1805.04833). Usual values are 40 or 50. Like transformers, it keeps ties
    with the k-th, so more than k tokens can survive.

    Figures: ``tied``, how many tokens stay beyond k. Cases: ``tied`` if that is not 0; ``none``;
    else ``""``.
    """

    k: int
    setting: ClassVar[str] = "top_k"
    off: ClassVar[float] = 0
    info: ClassVar[Info] = Info(
        label="Top-k",
        group="truncation",
        about="Keeps the k highest scores, and every score equal to the k-th.",
        formula="keep rank ≤ k",
        idle="the number of tokens is not limited",
        picture="rank",
        says={
            "": "Top-k keeps the top {k:tokens} by score. " + REMOVES,
            "tied": "Top-k keeps the top {k:tokens} by score, and {tied:tokens} tied with the "
            "last. " + REMOVES,
            "none": "Top-k allows {k:tokens} and finds {before:count}, so it removes none.",
        },
        note={"tied": "{tied:count} tied with the last"},
        paper=arxiv("Fan et al. 2018", "1805.04833"),
        numbers=(
            Number(
                "k",
                "Top-k",
                slider=(0, 200, 1),
                usual=50,
                remedy=msg("use 0 to switch it off, or a whole number of tokens to keep"),
                least=1,
                whole=True,
                takes=msg("0 or a positive whole number"),
                looser=UP,
            ),
        ),
    )

    def check_vocabulary(self, vocab_size: int) -> None:
        if self.k > vocab_size:
            problem = msg("is above the vocabulary of {vocab_size:,} tokens", vocab_size)
            remedy = msg("use at most {vocab_size:,}, or 0 to switch it off", vocab_size)
            raise SettingError(self.setting, self.k, problem, remedy)

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        return survivors.leading(int(self.k), with_ties=True)

    def figures(self, before: Survivors, after: Survivors, context: Context) -> dict[str, float]:
        return {"tied": max(0, after.count - self.k)}

    def case(self, before: Survivors, after: Survivors, context: Context) -> str:
        return "tied" if after.count > self.k else super().case(before, after, context)

    def processor(self, context: Context = NO_CONTEXT) -> LogitsProcessor:
        from transformers import TopKLogitsWarper

        return TopKLogitsWarper(int(self.k))


@dataclass(frozen=True)
class TailFree(CutStage):
    """Cut where the sorted probabilities stop bending: the tail is nearly straight.

    The absolute second differences |p_(r-1) - 2 p_r + p_(r+1)|, normalised to sum 1, are summed
    along the ranks. The first rank r at which the sum exceeds z goes, and all below it (Bricken
    2019, tail free sampling, as in text-generation-webui). 0 < z <= 1, usual 0.95; 1 switches it
    off. Tokens that earlier cuts removed follow the others with a probability of 0. If there are
    none, any z below 1 removes at least the last two tokens. llama.cpp had it until 2024, without
    those zeros, and kept one token fewer.

    Nothing is removed with at most two probabilities, or if nothing bends (second differences of at
    most a millionth of the highest probability). If tokens across the edge are equal, the lower ids
    stay. It needs the whole ranking, so it is the most expensive cut if nothing else has cut.

    Figures: none of its own. Cases: ``none``, else ``""``.
    """

    z: float
    setting: ClassVar[str] = "tail_free"
    off: ClassVar[float] = 1.0
    straight: ClassVar[float] = 1e-6
    info: ClassVar[Info] = Info(
        label="Tail-free",
        group="adaptive",
        about="Cuts the tail, where the curve of sorted probabilities stops bending.",
        formula="keep up to the rank where Σ |p″| exceeds z of its sum",
        idle="the tail stays",
        picture="rank",
        says={
            "": "Tail-free cuts where {z:share} of the bending of the probability curve lies "
            "behind. " + REMOVES,
            "none": "Tail-free finds no bend that sets off a tail, so it removes none.",
        },
        paper=Paper("Bricken 2019", "https://www.trentonbricken.com/Tail-Free-Sampling/"),
        numbers=(
            Number(
                "z",
                "Tail-free",
                slider=(0.01, 1, 0.01),
                usual=0.95,
                remedy=msg("use 1 to switch it off, 0.95 is usual"),
                least=0,
                most=1,
                open_below=True,
                looser=UP,
            ),
        ),
    )

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        removed = survivors.row.scores.size - survivors.count
        zeros = min(2, removed)  # further zeros bend nothing
        if self.z == 1 or survivors.count + zeros <= 2:
            return survivors
        weights = np.pad(survivors.weights, (0, zeros))
        bends = np.cumsum(np.abs(np.diff(weights, 2)))
        if bends[-1] <= self.straight * weights[0]:
            return survivors
        first = int(np.searchsorted(bends, self.z * bends[-1], side="right"))
        return survivors.upto(survivors.start + first + 1)
