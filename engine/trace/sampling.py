"""Sampling, with and without guidance, as a trace holds it; its step is in `engine.trace.steps`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from engine.errors import msg
from engine.sampling import SamplingSettings
from engine.trace.chain import sampling_of
from engine.trace.steps import Step
from engine.trace.strategy import Strategy
from engine.trace.values import Limits, Wrong, refuse_unknown, shown


class Sampling(Strategy):
    """A draw from what the sampling chain leaves."""

    step = Step
    is_guided: ClassVar[bool] = False

    def settings(self, values: dict[str, Any], limits: Limits) -> SamplingSettings:
        refuse_unknown(values, ("chain", "seed", "parity"))
        settings = sampling_of(values, limits)
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
                    problem = msg(
                        "names {name}, which the settings there do not have", shown(stage.name)
                    )
                    raise Wrong(problem).within("stages").within(step.index)
            if (step.guidance_scale is not None) != self.is_guided:
                problem = (
                    msg("is missing")
                    if self.is_guided
                    else msg("stands in a trace without guidance")
                )
                raise Wrong(problem).within("guidance_scale").within(step.index)


class Guided(Sampling):
    """The same under classifier-free guidance."""

    is_guided = True
