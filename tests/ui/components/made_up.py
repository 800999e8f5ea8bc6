"""Samplers unknown to the browser: the message brings everything it needs.

One for each possible result: a run of ranks, any of the ranks, new scores for a few tokens, new
scores for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar
from unittest.mock import patch

import numpy as np

from engine.sampling import STAGES
from engine.sampling.samplers import (
    NO_CONTEXT,
    Context,
    CutStage,
    EditStage,
    ScaleStage,
    TokenEdit,
    ranked_after,
)
from engine.sampling.samplers.info import REMOVES, Info, Number
from engine.sampling.survivors import Survivors


def _info(label: str, usual: float, picture: str) -> Info:
    return Info(
        label=label,
        group="adaptive",
        about="Made up.",
        formula="made up",
        idle="nothing happens",
        picture=picture,
        says={"": f"{label} acts by {{amount:number}}. " + REMOVES, "none": f"{label} rests."},
        note={"": "{after:count} left"},
        numbers=(Number("amount", label, (0, 10, 0.5), usual, "use 1", least=0, most=10),),
    )


@dataclass(frozen=True)
class MadeUp:
    """One number, and off at 0."""

    amount: float
    off: ClassVar[float] = 0


class Middle(MadeUp, CutStage):
    """A cut to a run of ranks in the middle."""

    setting: ClassVar[str] = "middle"
    info: ClassVar[Info] = _info("Middle", 2, "window")

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        few = min(int(self.amount), (survivors.count - 1) // 2)
        kept = survivors.between(survivors.start + few, survivors.stop - few)
        return kept if kept.mass > 0 else survivors  # every rule leaves something to draw


class EveryOther(MadeUp, CutStage):
    """A cut to every other rank."""

    setting: ClassVar[str] = "every_other"
    info: ClassVar[Info] = _info("Every other", 1, "window")

    def cut(self, survivors: Survivors, context: Context) -> Survivors:
        scores = np.full_like(survivors.scores, -np.inf)
        kept = survivors.ids[::2]
        scores[kept] = survivors.scores[kept]
        return ranked_after(self.setting, scores)


class Few(MadeUp, EditStage):
    """A ban of nearly all tokens, as by a constraint."""

    setting: ClassVar[str] = "few"
    info: ClassVar[Info] = _info("Few", 1, "edit")

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        scores = np.full_like(survivors.scores, -np.inf)
        kept = survivors.ids[2 : 4 + int(self.amount)] if survivors.count > 2 else survivors.ids
        scores[kept] = survivors.scores[kept]
        return ranked_after(self.setting, scores)


class Nudge(MadeUp, TokenEdit):
    """New scores for a few tokens; one of these tokens is removed."""

    setting: ClassVar[str] = "nudge"
    info: ClassVar[Info] = _info("Nudge", 1, "edit")

    def changes(self, scores: np.ndarray, context: Context) -> tuple[np.ndarray, np.ndarray]:
        ids = np.flatnonzero(scores > -np.inf)[::7]
        values = scores[ids] + np.float32(self.amount)
        if ids.size > 1:
            values[-1] = -np.inf
        return ids, values


class Shake(MadeUp, EditStage):
    """New scores for all tokens, in a new order."""

    setting: ClassVar[str] = "shake"
    info: ClassVar[Info] = _info("Shake", 1, "edit")

    def apply(self, survivors: Survivors, context: Context = NO_CONTEXT) -> Survivors:
        wave = np.sin(np.arange(survivors.scores.size)).astype(np.float32)
        return ranked_after(self.setting, survivors.scores + wave * np.float32(self.amount))


class Cool(MadeUp, ScaleStage):
    """A division of all scores by one number."""

    setting: ClassVar[str] = "cool"
    info: ClassVar[Info] = _info("Cool", 1, "scale")

    def temperature_of(self, survivors: Survivors) -> float:
        return 1 / (1 + self.amount)


MADE_UP = (Middle, EveryOther, Few, Nudge, Shake, Cool)


@contextmanager
def known() -> Iterator[None]:
    """Make the engine know them within the context."""
    with patch.dict(STAGES, {kind.setting: kind for kind in MADE_UP}):
        yield
