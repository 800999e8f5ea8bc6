"""The ways of choosing tokens that a trace may hold, and what the steps of each must agree on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from engine.errors import SettingError
from engine.sampling import SamplingSettings
from engine.trace.contrastive import ContrastiveStep
from engine.trace.diffusion import REMASKING, DiffusionStep
from engine.trace.steps import Step
from engine.trace.values import (
    Count,
    Limits,
    OneOf,
    Real,
    Whole,
    Wrong,
    of,
    read,
    refuse_unknown,
    short,
    shown,
)

FILLED = "filled"  # why a canvas ends: no mask is left


class Strategy:
    """One way of choosing tokens.

    Attributes:
        step: the dataclass of its steps.
    """

    step: ClassVar[type]

    def settings(self, values: dict[str, Any], limits: Limits) -> Any:
        """Settings as the checks below want them; raises `Wrong` where they are none."""
        raise NotImplementedError

    def check(self, prompt_ids: Sequence[int], steps: Sequence[Any], settings: list[Any]) -> None:
        """Raise `Wrong` where a step contradicts its settings or the step before.

        Args:
            prompt_ids: token ids of the prompt.
            steps: the steps.
            settings: those that each was taken with, from `settings`.
        """

    def text(self, prompt: str, steps: Sequence[Any]) -> str:
        """What the steps wrote."""
        return "".join(step.text for step in steps)

    def token_ids(self, prompt_ids: Sequence[int], steps: Sequence[Any]) -> list[int]:
        """Ids of the tokens that they wrote."""
        return [step.token_id for step in steps]

    def stop_reason(self, steps: Sequence[Any]) -> str | None:
        """Why it ended, None where it did not."""
        return steps[-1].stop_reason if steps else None


class Sampling(Strategy):
    """A draw from what the sampling chain leaves."""

    step = Step
    is_guided: ClassVar[bool] = False

    def settings(self, values: dict[str, Any], limits: Limits) -> SamplingSettings:
        refuse_unknown(values, ("chain", "seed", "parity"))
        try:
            settings = SamplingSettings.from_dict(values)
            settings.check_vocabulary(limits.vocab_size)
        except SettingError as error:
            wrong = Wrong(_sentence(error))
            raise wrong from error
        except (ValueError, TypeError, ArithmeticError) as error:
            # A stage that was given what it never expected, such as a number beyond any float.
            raise Wrong("hold what no sampler takes") from error
        if settings.seed is None:
            raise Wrong("name no seed, so the draws cannot be repeated")
        return settings

    def check(
        self,
        prompt_ids: Sequence[int],
        steps: Sequence[Step],
        settings: list[SamplingSettings],
    ) -> None:
        for step, used in zip(steps, settings, strict=True):
            names = [stage.setting for stage in used.chain]
            for stage in step.stages:
                if stage.name not in names:
                    problem = f"names {shown(stage.name)}, which the settings there do not have"
                    raise Wrong(problem).within("stages").within(step.index)
            if (step.guidance_scale is not None) != self.is_guided:
                problem = "is missing" if self.is_guided else "stands in a trace without guidance"
                raise Wrong(problem).within("guidance_scale").within(step.index)


class Guided(Sampling):
    """The same under classifier-free guidance."""

    is_guided = True


@dataclass(frozen=True)
class _SearchSettings:
    top_k: int = of(Count())
    penalty_alpha: float | None = of(Real(0, 1), optional=True)


class Contrastive(Strategy):
    """Contrastive search."""

    step = ContrastiveStep

    def settings(self, values: dict[str, Any], limits: Limits) -> _SearchSettings:
        return read(_SearchSettings, values, limits)

    def check(
        self,
        prompt_ids: Sequence[int],
        steps: Sequence[ContrastiveStep],
        settings: list[_SearchSettings],
    ) -> None:
        for step, used in zip(steps, settings, strict=True):
            if used.top_k != settings[0].top_k:
                raise Wrong("comes with another top_k, which cannot change").within(step.index)
            count = len(step.candidates)
            if not 1 <= count <= used.top_k:
                problem = f"must hold 1 to {used.top_k:,}, as top_k says, got {count:,}"
                raise Wrong(problem).within("candidates").within(step.index)
            if step.chosen >= count or step.candidates[step.chosen].token_id != step.token_id:
                problem = f"must be the place of the token, got {shown(step.chosen)}"
                raise Wrong(problem).within("chosen").within(step.index)
            if step.penalty_alpha != used.penalty_alpha:
                problem = f"must be {shown(used.penalty_alpha)}, as in the settings, got "
                problem += shown(step.penalty_alpha)
                raise Wrong(problem).within("penalty_alpha").within(step.index)
            before = len(prompt_ids) + step.index
            if any(candidate.nearest >= before for candidate in step.candidates):
                problem = f"must be positions before this one, 0 to {before - 1:,}"
                raise Wrong(problem).within("candidates").within(step.index)


@dataclass(frozen=True)
class _FillingSettings:
    steps: int | None = of(Whole(1), optional=True)
    temperature: float = of(Real(0))
    remasking: str = of(OneOf(REMASKING))
    seed: int = of(Whole())
    block_length: int | None = of(Whole(1), optional=True)


class Filling(Strategy):
    """Masked diffusion; the prompt is the canvas with its masks."""

    step = DiffusionStep

    def settings(self, values: dict[str, Any], limits: Limits) -> _FillingSettings:
        return read(_FillingSettings, values, limits)

    def check(
        self,
        prompt_ids: Sequence[int],
        steps: Sequence[DiffusionStep],
        settings: list[_FillingSettings],
    ) -> None:
        canvas = tuple(prompt_ids)
        for step in steps:
            try:
                canvas = _filled(canvas, step)
            except Wrong as wrong:
                raise wrong.within(step.index) from None

    def text(self, prompt: str, steps: Sequence[DiffusionStep]) -> str:
        return steps[-1].text if steps else prompt

    def token_ids(self, prompt_ids: Sequence[int], steps: Sequence[DiffusionStep]) -> list[int]:
        return list(steps[-1].ids_after if steps else prompt_ids)

    def stop_reason(self, steps: Sequence[DiffusionStep]) -> str | None:
        return FILLED if steps and not steps[-1].masked else None


def _filled(canvas: tuple[int, ...], step: DiffusionStep) -> tuple[int, ...]:
    """The canvas after a step, which must say the same; raises `Wrong` where it does not."""
    if step.ids_before != canvas:
        raise Wrong("is not the canvas that the step before left").within("ids_before")
    length = len(canvas)
    predicted = sorted({*step.unmasked, *step.masked})
    for name in ("unmasked", "masked"):
        places = getattr(step, name)
        if list(places) != sorted(set(places)) or (places and places[-1] >= length):
            raise Wrong(f"must be ascending positions from 0 to {length - 1:,}").within(name)
    if len(predicted) != len(step.unmasked) + len(step.masked):
        raise Wrong("shares positions with masked").within("unmasked")
    for name in ("predicted", "confidence", "model_entropy_bits", "u"):
        row = getattr(step, name)
        if len(row) != length:
            problem = f"must have {length:,} entries, one for each position, got {len(row):,}"
            raise Wrong(problem).within(name)
        there = [place for place, value in enumerate(row) if value is not None]
        if there != predicted and (there or name != "u"):
            raise Wrong("must have an entry for every mask and none elsewhere").within(name)
    after = list(canvas)
    for place in step.unmasked:
        after[place] = step.predicted[place]
    if step.ids_after != tuple(after):
        raise Wrong("is not the canvas with the kept predictions").within("ids_after")
    return step.ids_after


def _sentence(error: SettingError) -> str:
    """What a setting's own check says, without its remedy."""
    problem = str(error).removesuffix(f"; {error.remedy}.")
    return f"are refused: {short(problem, 160)}"


STRATEGIES: dict[str, Strategy] = {
    "sampling": Sampling(),
    "guidance": Guided(),
    "contrastive": Contrastive(),
    "diffusion": Filling(),
}
