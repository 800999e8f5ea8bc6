"""Remarks on how stages interact, such as one that makes another ineffective."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.errors import msg
from engine.sampling.samplers.base import BanStage, CutStage, ScaleStage, Stage
from engine.sampling.samplers.constraint import Constraint
from engine.sampling.samplers.mirostat import Mirostat
from engine.sampling.samplers.temperature import Temperature


class StageRemark(NamedTuple):
    """Remark about a stage in its chain.

    Attributes:
        stage: the stage.
        reason: the remark, as half a sentence.
        has_effect: False if the draw would be the same without the stage.
    """

    stage: Stage
    reason: str
    has_effect: bool


def remarks(chain: Sequence[Stage]) -> list[StageRemark]:
    """Return remarks on how the stages of a chain act together, in chain order.

    Each stage has at most one remark. Every order and combination is allowed; remarks explain it.
    """
    return list(_remarks(list(chain)))


def _remarks(chain: list[Stage]) -> Iterator[StageRemark]:
    greedy = next((i for i, stage in enumerate(chain) if _is_greedy(stage)), None)
    mirostat = next((i for i, stage in enumerate(chain) if isinstance(stage, Mirostat)), None)
    for place, stage in enumerate(chain):
        idle = stage.no_effect()
        if idle is not None:
            yield StageRemark(stage, idle, False)
        elif isinstance(stage, Constraint) and stage.notices:
            yield StageRemark(stage, stage.notices[0], True)
        elif greedy is not None and place > greedy:
            if isinstance(stage, BanStage):
                reason = msg("temperature 0 has left one token: it can only refuse that one")
                yield StageRemark(stage, reason, True)
            else:
                yield StageRemark(
                    stage, msg("temperature 0 has already left a single token"), False
                )
        elif greedy is not None and place < greedy and stage.keeps_the_best:
            reason = msg("temperature 0 takes the most likely token, which this leaves on top")
            # A later penalty may put a different token first. The tokens that Typical and XTC
            # remove depend on the remaining tokens and their odds.
            if all(each.keeps_the_best for each in chain[place:greedy]):
                yield StageRemark(stage, reason, False)
        elif _is_temperature(stage) and any(map(_is_temperature, chain[:place])):
            yield StageRemark(
                stage, msg("it divides scores that another temperature has already divided"), True
            )
        elif mirostat is not None and isinstance(stage, CutStage) and place != mirostat:
            if place < mirostat:
                reason = msg("Mirostat sees only the tokens left here, and may not reach its tau")
            else:
                reason = msg(
                    "it cuts what Mirostat let through, so the surprisal falls short of tau"
                )
            yield StageRemark(stage, reason, True)


def _is_greedy(stage: Stage) -> bool:
    return isinstance(stage, Temperature) and stage.is_greedy


def _is_temperature(stage: Stage) -> bool:
    return isinstance(stage, ScaleStage)
