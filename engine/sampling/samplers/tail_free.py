"""Tail-free sampling: cut where the sorted probabilities stop bending."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from engine.errors import msg
from engine.sampling.samplers.base import Context, CutStage
from engine.sampling.samplers.info import REMOVES, UP, Info, Number, Paper
from engine.sampling.survivors import Survivors


@dataclass(frozen=True)
class TailFree(CutStage):
    """Cut where the sorted probabilities stop bending: the tail is nearly straight.

    The absolute second differences |p_(r-1) - 2 p_r + p_(r+1)|, normalised to sum 1, are summed
    along the ranks. The first rank r at which the sum exceeds z is removed, and all below it
    (Bricken 2019, tail free sampling, as in text-generation-webui). 0 < z <= 1, usual 0.95; 1
    switches it off. Tokens that earlier cuts removed follow the others with a probability of 0. If
    there are none, any z below 1 removes at least the last two tokens. llama.cpp had it until 2024,
    without those zeros, and kept one token fewer.

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
            "": "Tail-free cuts where {z:share} of the curvature of the probability curve is "
            "reached. " + REMOVES,
            "none": "Tail-free finds no bend that sets off a tail, so it removes none.",
        },
        paper=Paper("Bricken 2019", "https://www.trentonbricken.com/Tail-Free-Sampling/"),
        numbers=(
            Number(
                "z",
                "Tail-free",
                slider=(0.01, 1, 0.01),
                usual=0.95,
                sweep=(0.5, 0.8, 0.95, 0.99, 1),
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
