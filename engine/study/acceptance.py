"""Acceptance of draft tokens by the target, and the speed-up that theory predicts from it.

Two definitions of the acceptance rate at a draft position are in use; both are given here.

    unconditional   rounds that accepted it / rounds that had a draft (vLLM, llama.cpp)
    conditional     rounds that accepted it / rounds that looked at it: after a rejection nothing
                    is looked at, and a position not looked at counts neither way

The expected tokens of a round and the speed-up are those of Leviathan et al. 2023
(arXiv:2211.17192), with one addition: a pass over g + 1 tokens may cost more than one over a single
token.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.trace.speculative import ACCEPTED, NOT_LOOKED_AT, SpeculativeStep


@dataclass(frozen=True)
class Acceptance:
    """Counts over several rounds.

    Attributes:
        rounds: number of rounds, each with one verification pass of the target.
        drafted: number of rounds with at least one proposal.
        tokens: number of tokens that the rounds appended.
        proposed, looked_at, accepted: numbers of tokens by position in the draft, from the first.
    """

    rounds: int
    drafted: int
    tokens: int
    proposed: tuple[int, ...]
    looked_at: tuple[int, ...]
    accepted: tuple[int, ...]

    @classmethod
    def of(cls, steps: Iterable[SpeculativeStep]) -> Acceptance:
        """Count over rounds, from one text or several."""
        steps = list(steps)
        longest = max((len(step.proposed) for step in steps), default=0)
        at = [[s.proposed[i].verdict for s in steps if len(s.proposed) > i] for i in range(longest)]
        return cls(
            rounds=len(steps),
            drafted=sum(bool(step.proposed) for step in steps),
            tokens=sum(len(step.token_ids) for step in steps),
            proposed=tuple(len(verdicts) for verdicts in at),
            looked_at=tuple(len(v) - v.count(NOT_LOOKED_AT) for v in at),
            accepted=tuple(verdicts.count(ACCEPTED) for verdicts in at),
        )

    @property
    def rate(self) -> float | None:
        """Accepted / looked at, the acceptance rate of the formulas; None without any."""
        looked_at = sum(self.looked_at)
        return sum(self.accepted) / looked_at if looked_at else None

    @property
    def unconditional(self) -> tuple[float, ...]:
        """Accepted / rounds that had a draft, by position."""
        return tuple(accepted / self.drafted for accepted in self.accepted)

    @property
    def conditional(self) -> tuple[float | None, ...]:
        """Accepted / looked at, by position; None if a position was never looked at."""
        pairs = zip(self.accepted, self.looked_at, strict=True)
        return tuple(accepted / seen if seen else None for accepted, seen in pairs)

    @property
    def mean_accepted_length(self) -> float | None:
        """1 + accepted / rounds that had a draft, as vLLM counts; None without such rounds."""
        return 1 + sum(self.accepted) / self.drafted if self.drafted else None

    @property
    def tokens_per_pass(self) -> float | None:
        """Tokens appended / verification passes; 1 in plain decoding; None without rounds.

        Rounds without a draft count too, and so do rounds that a stop rule cut short.
        """
        return self.tokens / self.rounds if self.rounds else None


def expected_tokens(rate: float, length: float) -> float:
    """Return the expected tokens of a round: (1 - a^(g+1)) / (1 - a).

    Each proposal is assumed to be accepted independently, at the same rate.

    Args:
        rate: acceptance rate a, 0 to 1.
        length: tokens proposed, g.
    """
    if rate >= 1:
        return length + 1.0
    return (1 - rate ** (length + 1)) / (1 - rate)


def expected_speedup(
    rate: float, length: float, draft_cost: float, verify_cost: float = 1.0
) -> float:
    """Return the expected speed-up over plain decoding, E / (g c + v); the paper has v = 1.

    Args:
        rate, length: as for `expected_tokens`, which gives E.
        draft_cost: c, a pass of the draft / a one-token pass of the target.
        verify_cost: v, a pass of the target over g + 1 tokens / one over a single token.
    """
    return expected_tokens(rate, length) / (length * draft_cost + verify_cost)
