"""The second half of a round: the target's verdicts on the proposals, and the token it draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from engine.decoding.shaping import shaped
from engine.decoding.speculative.proposers import Proposal
from engine.decoding.token_sequence import TokenSequence
from engine.model import LanguageModel
from engine.sampling import Distribution
from engine.sampling.acceptance import ACCEPT_STREAM, Overlap, overlap
from engine.sampling.samplers import Context
from engine.sampling.speculation import SpeculativeSettings
from engine.trace.speculative import (
    ACCEPTED,
    BONUS,
    NOT_LOOKED_AT,
    PLAIN,
    REJECTED,
    RESAMPLED,
    DrawnToken,
    ProposedToken,
)


@dataclass(frozen=True, eq=False)
class RoundDistributions:
    """Distributions of target and draft at one position of a round, over the full vocabulary.

    Attributes:
        target: the target's distribution, after every stage of the chain.
        draft: the draft's distribution; None if it proposed with certainty (prompt lookup) or
            proposed nothing.
        token: the token proposed there; None at the position of the drawn token.
        overlap: both as probabilities, with their overlap and the residual; None if nothing was
            proposed.
    """

    target: Distribution
    draft: Distribution | None
    token: ProposedToken | None
    overlap: Overlap | None


@dataclass
class Verified:
    """Outcome of a round.

    Attributes:
        states: the stages' memory after it.
        proposed: the proposals with their verdicts.
        drawn: the token that the target drew; None if an accepted one ended the text.
        token_ids: tokens appended, in order.
        text: text that they completed.
        stop_reason, stop_string: why the text ended with the last of them, if it did.
    """

    states: Mapping[str, object]
    proposed: tuple[ProposedToken, ...] = ()
    drawn: DrawnToken | None = None
    token_ids: list[int] = field(default_factory=list)
    text: str = ""
    stop_reason: str | None = None
    stop_string: str | None = None


class Verifier:
    """The target's half of the rounds of one text: it verifies proposals and draws a token.

    Args:
        model: the target.
        sequence: the text; accepted and drawn tokens are appended to it.
    """

    def __init__(self, model: LanguageModel, sequence: TokenSequence) -> None:
        self._model = model
        self._sequence = sequence

    def verify(
        self,
        proposal: Proposal,
        rows: np.ndarray,
        states: Mapping[str, object],
        settings: SpeculativeSettings,
        stop_strings: tuple[str, ...],
    ) -> Verified:
        """Accept proposals until one is rejected; draw one more token unless the text has ended.

        Args:
            proposal: g tokens and the distributions that they were drawn from.
            rows: (g + 1, vocab) the target's logits before each token and after the last.
            states: the stages' memory before the round.
            settings: settings of the round.
            stop_strings: strings that end generation.
        """
        found = Verified(states)
        verdicts = []
        forced, is_greedy = settings.forced_acceptance, settings.sampling.is_greedy
        kind = BONUS if proposal.token_ids else PLAIN
        shared = None
        for place, token_id in enumerate(proposal.token_ids):
            target, context = self._shape(rows[place], found.states, settings)
            probability = target.probability(token_id)
            ratio = probability / proposal.probability(place)
            u = None if is_greedy and forced is None else context.uniform(ACCEPT_STREAM)
            if not (0.0 if u is None else u) < (ratio if forced is None else forced):
                verdicts.append((probability, ratio, u, REJECTED))
                kind = RESAMPLED
                if not is_greedy and forced is None:
                    shared = overlap(target, proposal.distributions[place], token_id)
                break
            verdicts.append((probability, ratio, u, ACCEPTED))
            self._append(found, token_id, target, settings, stop_strings)
            if found.stop_reason is not None:
                break
        else:
            target, context = self._shape(rows[-1], found.states, settings)
        if found.stop_reason is None:
            found.drawn = self._drawn(target, context, kind, shared, settings)
            self._append(found, found.drawn.token_id, target, settings, stop_strings)
        found.proposed = self._proposed(proposal, verdicts)
        return found

    def _shape(
        self, row: np.ndarray, states: Mapping[str, object], settings: SpeculativeSettings
    ) -> tuple[Distribution, Context]:
        context = self._sequence.context(self._sequence.length, settings.sampling.seed, states)
        return shaped(row, settings.sampling, context), context

    def _drawn(
        self,
        target: Distribution,
        context: Context,
        kind: str,
        shared: Overlap | None,
        settings: SpeculativeSettings,
    ) -> DrawnToken:
        """Draw a token from the residual if there is one, else from the target's distribution."""
        u = None if settings.sampling.is_greedy else context.uniform(0)
        drawn = target.draw(u or 0.0) if shared is None else shared.draw(u)
        return DrawnToken(
            drawn.token_id,
            self._model.vocabulary.token_bytes(drawn.token_id),
            kind,
            u,
            drawn.probability,
            target.probability(drawn.token_id),
        )

    def _append(
        self,
        found: Verified,
        token_id: int,
        target: Distribution,
        settings: SpeculativeSettings,
        stop_strings: tuple[str, ...],
    ) -> None:
        found.states = target.states_after(token_id)
        piece, reason = self._sequence.addition(token_id, stop_strings, settings.max_new_tokens)
        self._sequence.append(token_id, piece)
        found.token_ids.append(token_id)
        found.text += piece.text
        found.stop_reason, found.stop_string = reason, piece.stop_string

    def _proposed(
        self, proposal: Proposal, verdicts: list[tuple[float, float, float | None, str]]
    ) -> tuple[ProposedToken, ...]:
        unseen = [(None, None, None, NOT_LOOKED_AT)] * (len(proposal.token_ids) - len(verdicts))
        return tuple(
            ProposedToken(
                token_id,
                self._model.vocabulary.token_bytes(token_id),
                proposal.us[place],
                proposal.probability(place),
                *verdict,
            )
            for place, (token_id, verdict) in enumerate(
                zip(proposal.token_ids, [*verdicts, *unseen], strict=True)
            )
        )
