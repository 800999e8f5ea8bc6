"""Settings of a speculative decoder, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from engine.checks import at_least_one, is_whole
from engine.errors import SettingError, msg
from engine.sampling.settings import SamplingSettings

MOST_DRAFT_LENGTH = 64
MOST_NGRAM = 16
# The rule of transformers' heuristic schedule.
LONGER_BY, SHORTER_BY = 2, 1


@dataclass(frozen=True)
class SpeculativeSettings:
    """Settings that decide how a speculative decoder proposes and verifies tokens.

    Attributes:
        sampling: the chain that shapes both models' logits, and the seed.
        draft_length: tokens proposed in a round, g; its first value if it is adaptive.
        adaptive: whether g changes: 2 more after a round whose proposals were all accepted, 1 less
            after any other, from 1 to 64. A round without a proposal leaves it unchanged.
        ngram: for prompt lookup, how many of the last tokens to look for earlier in the text;
            fewer if that many are not found.
        max_new_tokens: most tokens to generate; None for no limit.
        forced_acceptance: accept with this probability, whatever the models say; None for the
            exact rule. The text then follows no model, and `text_invalid` is True.

    Raises:
        SettingError: a value outside its range, or `parity`, which repeats a different way to draw.
    """

    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    draft_length: int = 4
    adaptive: bool = False
    ngram: int = 3
    max_new_tokens: int | None = None
    forced_acceptance: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.sampling, SamplingSettings):
            remedy = msg("use for example SamplingSettings(temperature=0.7)")
            raise SettingError("sampling", self.sampling, "must be SamplingSettings", remedy)
        if self.sampling.parity:
            remedy = msg(
                "switch parity off; at temperature 0 the tokens are those of generate anyway"
            )
            problem = msg(
                "reproduces generate's own draws, which speculative decoding does not make"
            )
            raise SettingError("parity", True, problem, remedy)
        for name, most in (("draft_length", MOST_DRAFT_LENGTH), ("ngram", MOST_NGRAM)):
            value = at_least_one(name, getattr(self, name))
            if value > most:
                raise SettingError(
                    name, value, msg("must be at most {most}", most), msg("use 1 to {most}", most)
                )
            object.__setattr__(self, name, value)
        if not isinstance(self.adaptive, bool):
            raise SettingError(
                "adaptive", self.adaptive, "must be true or false", "use one of them"
            )
        most = self.max_new_tokens
        if most is not None:
            if not is_whole(most) or most < 0:
                remedy = msg("use a whole number of at least 0, or None for no limit")
                raise SettingError("max_new_tokens", most, "must be a number of tokens", remedy)
            object.__setattr__(self, "max_new_tokens", int(most))
        self._check_forced()

    def _check_forced(self) -> None:
        value = self.forced_acceptance
        if value is None:
            return
        remedy = msg("use 0 to 1, or None for the exact rule")
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise SettingError("forced_acceptance", value, "must be a number", remedy)
        if not 0 <= value <= 1:  # NaN fails this too
            raise SettingError("forced_acceptance", value, "must be from 0 to 1", remedy)
        object.__setattr__(self, "forced_acceptance", float(value))

    @property
    def text_invalid(self) -> bool:
        """Return whether the text follows no model because acceptance is forced."""
        return self.forced_acceptance is not None

    def replace(self, **changes: Any) -> SpeculativeSettings:
        """Return a copy with some settings changed."""
        return replace(self, **changes)

    def next_length(self, length: int, proposed: int, accepted: int) -> int:
        """Return the number of tokens to propose in the next round.

        Args:
            length: the number that this round was meant to propose.
            proposed, accepted: the number that it proposed, and how many were accepted.
        """
        if not self.adaptive:
            return self.draft_length
        if not proposed:
            return length
        if accepted == proposed:
            return min(MOST_DRAFT_LENGTH, length + LONGER_BY)
        return max(1, length - SHORTER_BY)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a trace."""
        own = {item.name: getattr(self, item.name) for item in fields(self)}
        return own | {"sampling": self.sampling.to_dict(), "text_invalid": self.text_invalid}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SpeculativeSettings:
        """Rebuild settings from `to_dict`; raises `SettingError` on anything out of range."""
        remedy = msg("give them in the form that `to_dict` returns")
        names = [item.name for item in fields(cls)]
        if sorted(data) != sorted([*names, "text_invalid"]):
            raise SettingError("settings", sorted(data), "has the wrong names", remedy)
        given = {name: data[name] for name in names}
        settings = cls(**given | {"sampling": SamplingSettings.from_dict(data["sampling"])})
        if data["text_invalid"] is not settings.text_invalid:
            problem = msg("contradicts forced_acceptance")
            raise SettingError("text_invalid", data["text_invalid"], problem, remedy)
        return settings
