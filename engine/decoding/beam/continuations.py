"""Hypotheses of beam search, and the best continuations of its beams by one token.

Nothing here uses a model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine.decoding.beam.scores import NO_STATES, Scored, Scores
from engine.decoding.beam.settings import BeamSettings
from engine.model.vocabulary import Vocabulary
from engine.text.text_stream import TextStream
from engine.text.written import piece_after


class Node(NamedTuple):
    """The last token of a hypothesis, linked to the tokens before it through its parents.

    Attributes:
        parent: None for the empty text.
        row: index of the beam that it continues, among all beams before its step.
        token_id: the token.
        length: number of tokens in the hypothesis.
        logprob: log-probability of the token, in nats.
        total: sum of the log-probabilities of all tokens.
        penalty: sum of the deductions by samplers and diversity penalties.
        piece: text that the token completes.
        spelled: all text so far, with the names of control tokens; kept if there are stop strings.
        state: state of the text's `TextStream` after the token.
        memory: the samplers' memory after the token, by setting.
        ends: whether it completes the text, by an end-of-text token or a stop string.
    """

    parent: Node | None
    row: int
    token_id: int
    length: int
    logprob: float
    total: float
    penalty: float
    piece: str
    spelled: str
    state: tuple[bytes, int]
    memory: Mapping[str, object] = NO_STATES
    ends: bool = False

    @property
    def ranked_by(self) -> float:
        """Score that a step ranks by."""
        return self.total - self.penalty

    @property
    def path(self) -> list[Node]:
        """Nodes of all tokens of the hypothesis, the first token first."""
        found, node = [], self
        while node.parent is not None:
            found.append(node)
            node = node.parent
        return found[::-1]

    @property
    def token_ids(self) -> tuple[int, ...]:
        """Ids of its tokens."""
        return tuple(node.token_id for node in self.path)

    @property
    def text(self) -> str:
        """Its text, without special tokens and without an unfinished character."""
        return "".join(node.piece for node in self.path)


EMPTY = Node(None, 0, -1, 0, 0.0, 0.0, 0.0, "", "", TextStream().state)  # the text before any token


class Spelling(NamedTuple):
    """Vocabulary that spells the tokens, and the rules that end a text.

    Attributes:
        vocabulary: the model's.
        eos_ids: tokens that end a text.
        stop_strings: strings that end a text.
    """

    vocabulary: Vocabulary
    eos_ids: Sequence[int]
    stop_strings: tuple[str, ...]


def best_continuations(
    live: Sequence[Node],
    rows: Sequence[Scores],
    count: int,
    penalties: Mapping[int, float],
    spelling: Spelling,
    first_row: int,
) -> list[Node]:
    """Return the best continuations of the beams, best first; ties by beam, then by token id.

    Args:
        live: the beams.
        rows: the scores after each beam.
        count: number to return; there may be fewer if the model or samplers rule tokens out.
        penalties: diversity penalty by token id, for those that have one.
        spelling: how tokens are spelled, and what ends a text.
        first_row: index of the first of these beams among all beams.
    """
    found: list[tuple[float, int, int, Scored]] = []
    for place, (node, row) in enumerate(zip(live, rows, strict=True)):
        # Penalties move at most `len(penalties)` tokens below those without one.
        for one in row.leading(count + len(penalties)):
            lost = penalties.get(one.token_id, 0.0) + one.lost
            found.append((lost - node.ranked_by - one.logprob, place, one.token_id, one))
    found.sort()
    return [
        _grown(
            live[place],
            first_row + place,
            one,
            penalties.get(one.token_id, 0.0),
            rows[place].states_after(one.token_id),
            spelling,
        )
        for _, place, _, one in found[:count]
    ]


def _grown(
    node: Node,
    row: int,
    scored: Scored,
    penalty: float,
    memory: Mapping[str, object],
    spelling: Spelling,
) -> Node:
    token_id = scored.token_id
    stops = spelling.stop_strings
    before = node.text if stops else ""
    piece = piece_after(spelling.vocabulary, before, node.spelled, node.state, token_id, stops)
    return Node(
        parent=node,
        row=row,
        token_id=token_id,
        length=node.length + 1,
        logprob=scored.logprob,
        total=node.total + scored.logprob,
        penalty=node.penalty + scored.lost + penalty,
        piece=piece.text,
        spelled=node.spelled + piece.spelled if stops else "",
        state=piece.state,
        memory=memory,
        ends=piece.stop_string is not None or token_id in spelling.eos_ids,
    )


def penalties(taken: Sequence[int], settings: BeamSettings) -> dict[int, float]:
    """Return the diversity penalties of tokens that earlier groups took in the same step."""
    if not settings.diversity_penalty:
        return {}
    return {
        token_id: settings.diversity_penalty * count for token_id, count in Counter(taken).items()
    }
