"""Choose the hypotheses that one step of beam search keeps, prunes and finishes.

Nothing here uses a model. The rules are those of transformers' `generate`, applied to each group
separately. Among the best continuations, those that end go to a pool of complete texts if they
score well enough, and the others continue as beams. The group ends when its stop rule fires.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engine.decoding.beam.continuations import Node
from engine.decoding.beam.settings import BeamSettings
from engine.model.vocabulary import Vocabulary
from engine.text import stopping
from engine.trace.beam import (
    FINISHED,
    FULL_POOL,
    KEPT,
    NO_IMPROVEMENT,
    PRUNED,
    BeamCandidate,
    BeamFinished,
)


class Ended(NamedTuple):
    """A complete hypothesis, and the step and candidate index at which it ended."""

    score: float
    node: Node
    step: int
    place: int


class Group(NamedTuple):
    """State of one group of beams.

    Attributes:
        live: its beams, best first; none once it has ended.
        pool: the best complete hypotheses, best first; at most as many as beams.
        reason: why it has ended; None while it continues.
    """

    live: tuple[Node, ...]
    pool: tuple[Ended, ...] = ()
    reason: str | None = None


class Choice(NamedTuple):
    """Outcome of one step for one group.

    Attributes:
        continuations: each with its fate: kept, pruned or finished.
        group: the group after the step.
        taken: the tokens that its beams continued with, or ended with at the limit.
    """

    continuations: list[tuple[Node, str]]
    group: Group
    taken: list[int]


def choose(
    before: Group,
    nodes: list[Node],
    settings: BeamSettings,
    *,
    most: int,
    at_most: str,
    step: int,
    first_place: int,
) -> Choice:
    """Decide which of a group's best continuations are kept, pruned or finished.

    Args:
        before: the group before the step.
        nodes: its best continuations, best first; none if no beam can continue.
        settings: settings of the search.
        most: most tokens in a text.
        at_most: stop reason of a text that reaches this limit.
        step: index of the step.
        first_place: index of the first continuation among all continuations of the step.
    """
    width, length = settings.group_width, before.live[0].length + 1
    at_limit = bool(nodes) and length >= most
    fates = [PRUNED] * len(nodes)
    live: list[Node] = []
    ended: list[Ended] = []
    for place, node in enumerate(nodes):
        if at_limit or node.ends:
            if place < width:  # lower ones only serve to continue
                score = settings.score(node.ranked_by, length)
                ended.append(Ended(score, node, step, first_place + place))
        elif len(live) < width:
            fates[place] = KEPT
            live.append(node)
    pool = sorted((*before.pool, *ended), key=lambda one: -one.score)[:width]
    for entry in pool:
        if entry.step == step:
            fates[entry.place - first_place] = FINISHED
    group = Group(tuple(live), tuple(pool))
    reason = at_most if at_limit else _reason(group, settings, length, most)
    if reason is not None:
        fates = [PRUNED if fate == KEPT else fate for fate in fates]
        group = Group((), group.pool, reason)
    taken = [node.token_id for node in (nodes[:width] if at_limit else live)]
    return Choice(list(zip(nodes, fates, strict=True)), group, taken)


def _reason(group: Group, settings: BeamSettings, length: int, most: int) -> str | None:
    """Return why a group ends before the limit; None if it continues."""
    if not group.live:
        return stopping.EOS
    if len(group.pool) < settings.group_width:
        return None
    if settings.early_stopping is True or settings.width == 1:  # greedy text ends at its first end
        return FULL_POOL
    longest = settings.early_stopping == "never" and settings.length_penalty > 0
    best = settings.score(group.live[0].ranked_by, most if longest else length)
    return None if best > group.pool[-1].score else NO_IMPROVEMENT


class Past(NamedTuple):
    """State of a search before a step.

    Attributes:
        groups: all groups, with their beams and complete texts.
    """

    groups: tuple[Group, ...]

    @property
    def live(self) -> list[Node]:
        """All beams, group by group."""
        return [node for group in self.groups for node in group.live]

    def after(self, choices: Sequence[Choice | None]) -> Past:
        """Return the state after a step; the choice is None for a group that ended earlier."""
        pairs = zip(self.groups, choices, strict=True)
        return Past(tuple(choice.group if choice else group for group, choice in pairs))


def recorded(
    choices: Sequence[Choice | None], settings: BeamSettings, vocabulary: Vocabulary
) -> tuple[BeamCandidate, ...]:
    """Return all continuations as a step records them; an ended group's choice is None."""
    found: list[BeamCandidate] = []
    beam = 0
    for group, choice in enumerate(choices):
        for place, (node, fate) in enumerate(choice.continuations if choice else ()):
            score = settings.score(node.ranked_by, node.length) if fate == FINISHED else None
            found.append(
                BeamCandidate(
                    parent=node.row,
                    group=group,
                    token_id=node.token_id,
                    token_bytes=vocabulary.token_bytes(node.token_id),
                    text=node.piece,
                    is_special=vocabulary.is_special(node.token_id),
                    logprob=node.logprob,
                    total=node.total,
                    penalty=node.penalty,
                    rank=place + 1,
                    fate=fate,
                    beam=beam if fate == KEPT else None,
                    score=score,
                )
            )
            beam += fate == KEPT
    return tuple(found)


def pooled(groups: Sequence[Group]) -> tuple[BeamFinished, ...]:
    """Return the complete texts of all groups as a step records them, best first."""
    entries = sorted((entry for group in groups for entry in group.pool), key=lambda e: -e.score)
    return tuple(BeamFinished(entry.step, entry.place, entry.score) for entry in entries)
