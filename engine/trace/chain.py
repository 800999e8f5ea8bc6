"""A chain of samplers out of a file: refused where its own checks refuse it."""

from __future__ import annotations

from typing import Any

from engine.errors import SettingError, msg
from engine.sampling import SamplingSettings
from engine.sampling.stages import Stage
from engine.trace.values import Kind, Limits, Wrong, short


class Chain(Kind):
    """Samplers in their order, as pairs of name and fields."""

    def read(self, value: Any, limits: Limits) -> tuple[Stage, ...]:
        return sampling_of({"chain": value, "seed": 0}, limits).chain


def sampling_of(values: dict[str, Any], limits: Limits) -> SamplingSettings:
    """Settings of sampling; raises `Wrong` where they are none."""
    try:
        settings = SamplingSettings.from_dict(values)
        settings.check_vocabulary(limits.vocab_size)
    except SettingError as error:
        wrong = Wrong(_sentence(error))
        raise wrong from error
    except (ValueError, TypeError, ArithmeticError) as error:
        # A stage that was given what it never expected, such as a number beyond any float.
        raise Wrong("hold what no sampler takes") from error
    return settings


def _sentence(error: SettingError) -> str:
    """What a setting's own check says, without its remedy."""
    problem = str(error).removesuffix(f"; {error.remedy}.")
    return msg("are refused: {problem}", short(problem, 160))
