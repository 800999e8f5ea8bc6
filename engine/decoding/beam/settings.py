"""Settings of a beam search, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from engine.checks import at_least_one
from engine.errors import SettingError, msg
from engine.sampling import SamplingSettings, without_draw
from engine.sampling.samplers import Stage
from engine.text import stopping

MOST_BEAMS = 64  # of a search; 4 to 10 are usual
MOST_PENALTY = 10.0  # as an exponent of the length, or in nats: beyond this, nothing else counts


@dataclass(frozen=True)
class BeamSettings:
    """Settings of a beam search.

    Attributes:
        width: number of beams, `num_beams` in transformers; 1 is greedy decoding.
        length_penalty: exponent of the length in the score of a complete text,
            sum of log-probabilities / length ** length_penalty. 0 is the plain sum, above 0 favours
            long texts, below 0 short ones.
        early_stopping: when a group ends, as in transformers. True: as soon as there are as many
            complete texts as beams. False: once the best beam, at its present length, is no better
            than the worst of those texts. ``"never"``: once no beam can become better, at the
            length that favours it most.
        groups: number of groups that share the width; later ones avoid the tokens of earlier ones
            (Vijayakumar et al. 2016, "Diverse Beam Search", arXiv:1610.02424).
        diversity_penalty: nats that a token loses for each beam of an earlier group that took it in
            the same step (Hamming diversity of the paper).
        max_new_tokens: most tokens in a text; scores depend on it.
        chain: samplers, such as a `Constraint`, in the order in which they apply. They edit the
            log-probabilities of every step (with one beam, its logits), as transformers' logits
            processors do. The result is not renormalised. None may be random.

    Raises:
        SettingError: a value out of range, groups that do not divide the width, or a chain that
            draws.
    """

    width: int = 4
    length_penalty: float = 1.0
    early_stopping: bool | str = False
    groups: int = 1
    diversity_penalty: float = 0.0
    max_new_tokens: int = 32
    chain: tuple[Stage, ...] = ()

    def __post_init__(self) -> None:
        width = at_least_one("width", self.width)
        if width > MOST_BEAMS:
            remedy = msg("use 1 to {most_beams}; 4 to 10 are usual", MOST_BEAMS)
            raise SettingError(
                "width", width, msg("must be at most {most_beams}", MOST_BEAMS), remedy
            )
        penalty = _number("length_penalty", self.length_penalty, -MOST_PENALTY)
        if not (isinstance(self.early_stopping, bool) or self.early_stopping == "never"):
            remedy = msg('use True, False or "never"')
            raise SettingError("early_stopping", self.early_stopping, "is not a stop rule", remedy)
        groups = at_least_one("groups", self.groups)
        if width % groups:
            fitting = ", ".join(str(n) for n in range(1, width + 1) if width % n == 0)
            problem = msg("must divide the width of {width}", width)
            raise SettingError("groups", groups, problem, msg("use one of {fitting}", fitting))
        diversity = _number("diversity_penalty", self.diversity_penalty, 0.0)
        if diversity and groups == 1:
            remedy = msg("use 2 groups or more, or 0")
            problem = msg("needs more than one group")
            raise SettingError("diversity_penalty", diversity, problem, remedy)
        tokens = stopping.checked_max_new_tokens(self.max_new_tokens)
        at_least_one("max_new_tokens", tokens)
        chain = without_draw(self.chain, msg("beam search")).chain
        for name, value in (
            ("width", width),
            ("length_penalty", penalty),
            ("groups", groups),
            ("diversity_penalty", diversity),
            ("max_new_tokens", tokens),
            ("chain", chain),
        ):
            object.__setattr__(self, name, value)

    def replace(self, **changes: object) -> BeamSettings:
        """Return a checked copy with some values changed."""
        return replace(self, **changes)

    @cached_property
    def samplers(self) -> SamplingSettings:
        """The chain as `SamplingSettings`, which draw nothing here."""
        return SamplingSettings(chain=self.chain)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a trace."""
        own = {item.name: getattr(self, item.name) for item in fields(self)}
        return own | {"chain": self.samplers.to_dict()["chain"]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> BeamSettings:
        """Rebuild settings from `to_dict`; raises `SettingError` on anything out of range."""
        chain = SamplingSettings.from_dict({"chain": data.get("chain", []), "seed": 0}).chain
        return cls(**{**data, "chain": chain})

    @property
    def group_width(self) -> int:
        """Number of beams in one group."""
        return self.width // self.groups

    def score(self, total: float, length: int) -> float:
        """Return the score of a text of this length, from its sum of log-probabilities."""
        return total / length**self.length_penalty

    def considered(self, ends: int) -> int:
        """Return how many continuations a group considers, given the number of end-of-text tokens.

        Enough remain to continue even if every beam's end-of-text tokens are among them.
        """
        return max(2, 1 + ends) * self.group_width

    def check_vocabulary(self, vocab_size: int, ends: int) -> None:
        """Raise `SettingError` if a vocabulary has too few tokens for the first step."""
        if self.considered(ends) > vocab_size:
            most = vocab_size // max(2, 1 + ends)
            problem = msg(
                "considers more continuations than the {vocab_size:,} tokens of the vocabulary",
                vocab_size,
            )
            remedy = msg("use at most {most:,} beams in a group", most)
            raise SettingError("width", self.width, problem, remedy)


def _number(name: str, value: object, least: float) -> float:
    remedy = msg("use {least:g} to {most_penalty:g}", (least, MOST_PENALTY))
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise SettingError(name, value, "must be a number", remedy)
    if not least <= value <= MOST_PENALTY:  # NaN fails this too
        raise SettingError(
            name,
            value,
            msg("must be from {least:g} to {most_penalty:g}", (least, MOST_PENALTY)),
            remedy,
        )
    return float(value)
