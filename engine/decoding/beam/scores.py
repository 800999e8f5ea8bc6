"""The scores that a step of beam search ranks by: log-probabilities, after the samplers.

As in transformers' beam search, the samplers edit the model's log-probabilities, and the result is
not renormalised: a token that a constraint allows scores the same as without the constraint. With
one beam they edit its logits, as in transformers' greedy decoding. With a repetition penalty the
two differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from engine.decoding.shaping import shaped
from engine.errors import NoCandidatesError
from engine.sampling import Distribution, SamplingSettings
from engine.sampling.ranking import RankedRow
from engine.sampling.samplers import Context

NO_STATES: Mapping[str, object] = {}


class Scored(NamedTuple):
    """One token that may follow a beam.

    Attributes:
        token_id: the token.
        logprob: its log-probability under the model, in nats.
        lost: nats that the samplers deducted; below 0 if they added some.
    """

    token_id: int
    logprob: float
    lost: float


class Scores:
    """The scores of the tokens that may follow one beam.

    Args:
        logits: (vocab,) float32 logits after it.
        samplers: the chain.
        context: information for the chain's stages in addition to the logits.
        edits_logits: whether the chain edits the logits instead of the log-probabilities.

    Attributes:
        row: the logits, ranked.
        refusal: why the chain leaves no token; None if it leaves some.

    Raises:
        LogitsError: NaN or +inf among the logits.
    """

    def __init__(
        self,
        logits: np.ndarray,
        samplers: SamplingSettings,
        context: Context,
        *,
        edits_logits: bool = False,
    ) -> None:
        self.row = RankedRow(logits)
        self.refusal: NoCandidatesError | None = None
        self._log_sum = self.row.highest + math.log(self.row.total)
        self._distribution: Distribution | None = None
        self._left: RankedRow | None = self.row
        if samplers.chain:
            logprobs = np.subtract(self.row.scores, self._log_sum, dtype=np.float64)
            edited = logits if edits_logits else logprobs.astype(np.float32)
            self._apply(edited, samplers, context)

    def _apply(self, edited: np.ndarray, samplers: SamplingSettings, context: Context) -> None:
        try:
            self._distribution = shaped(edited, samplers, context)
            self._left = RankedRow(self._distribution.final_scores)
        except NoCandidatesError as error:  # other beams may continue
            self.refusal, self._left = error, None

    def leading(self, depth: int) -> list[Scored]:
        """Return the best `depth` tokens, best first; fewer if no more are left."""
        if self._left is None:
            return []
        depth = min(depth, self._left.count)
        self._left.sort_to_depth(depth)
        ids, values = self._left.ids[:depth].tolist(), self._left.values[:depth].tolist()
        return [self._scored(*one) for one in zip(ids, values, strict=True)]

    def _scored(self, token_id: int, score: float) -> Scored:
        logprob = min(0.0, float(self.row.scores[token_id]) - self._log_sum)
        lost = 0.0
        if self._distribution is not None:
            lost = float(self._distribution.logits[token_id]) - score
        return Scored(token_id, logprob, lost)

    def leaves(self, token_id: int) -> bool:
        """Return whether the samplers keep a token."""
        return self._left is not None and bool(self._left.scores[token_id] > -np.inf)

    def states_after(self, token_id: int) -> Mapping[str, object]:
        """Return the states of the samplers with memory after a token, by setting."""
        return (
            NO_STATES if self._distribution is None else self._distribution.states_after(token_id)
        )
