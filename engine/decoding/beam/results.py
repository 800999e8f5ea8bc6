"""Results of a beam search: its texts, and the tokens that may follow each of its beams."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """One text of a search.

    Attributes:
        text: its readable text, without special tokens.
        token_ids: its generated tokens.
        logprob: sum of their log-probabilities, in nats.
        score: the sum, minus the deductions by samplers and diversity penalties, over
            length ** length_penalty. Texts are ranked by it. For an unfinished text it covers the
            tokens so far.
        is_finished: whether it is complete.
        group: its group, from 0.
    """

    text: str
    token_ids: tuple[int, ...]
    logprob: float
    score: float
    is_finished: bool
    group: int


@dataclass(frozen=True)
class NextToken:
    """One token that may follow a beam.

    Attributes:
        rank: 1 for the most likely.
        token_id: the token.
        logprob: its log-probability after the beam, in nats.
        total: sum of the log-probabilities of the hypothesis extended by it.
        is_left: whether the samplers keep it.
    """

    rank: int
    token_id: int
    logprob: float
    total: float
    is_left: bool


@dataclass(frozen=True)
class NextTokens:
    """Tokens that the model predicts after a beam, over the full vocabulary.

    Attributes:
        tokens: the most likely ones, including those that samplers remove.
        rest: number of tokens that are not among them.
        rest_mass: total probability of the rest.
        entropy_bits: entropy of the whole distribution.
    """

    tokens: tuple[NextToken, ...]
    rest: int
    rest_mass: float
    entropy_bits: float
