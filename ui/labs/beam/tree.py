"""Layout of the hypotheses as a tree: steps from left to right, the best on top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.trace import KEPT, PRUNED, BeamStep

MOST_ROWS = 16  # of one step in the tree; further pruned hypotheses are only counted

Place = tuple[int, int]  # step, index among its candidates


@dataclass(frozen=True)
class TreeNode:
    """One hypothesis in the tree.

    Attributes:
        place: its step, and its index among that step's candidates.
        row: its row in its column, 0 on top.
        parent_row: its parent's row in the previous column; None in the first step.
        token_id: its last token.
        logprob, total: log-probability of the token, and of the whole hypothesis, in nats.
        fate: kept, pruned or finished.
        group: its group in diverse beam search.
        is_best: whether it is on the path to the best hypothesis.
    """

    place: Place
    row: int
    parent_row: int | None
    token_id: int
    logprob: float
    total: float
    fate: str
    group: int
    is_best: bool


@dataclass(frozen=True)
class Tree:
    """The part of a search that is shown.

    Attributes:
        first: the first step shown.
        nodes: all hypotheses shown, step by step.
        before: (row, whether on the best path) of each beam that the first step continues.
        rows: number of rows in the highest column.
        hidden: number of pruned hypotheses that are not shown.
    """

    first: int
    nodes: tuple[TreeNode, ...]
    before: tuple[tuple[int, bool], ...]
    rows: int
    hidden: int


def way_to(steps: Sequence[BeamStep], place: Place) -> list[Place]:
    """Return the path to a hypothesis: its ancestors from the first step on, then itself."""
    way = [place]
    step, at = place
    while step:
        parent = steps[step].candidates[at].parent
        step -= 1
        at = place_of_beam(steps[step], parent)
        way.append((step, at))
    return way[::-1]


def place_of_beam(step: BeamStep, beam: int) -> int:
    """Return the index of the candidate that became this beam."""
    return next(at for at, one in enumerate(step.candidates) if one.beam == beam)


def best_place(steps: Sequence[BeamStep]) -> Place | None:
    """Return the place at which the best hypothesis ends; None before the first step."""
    if not steps:
        return None
    last = steps[-1]
    ends = [(entry.step, entry.place) for entry in last.pool]
    ends += [(last.index, at) for at, one in enumerate(last.candidates) if one.fate == KEPT]
    return next((end for end in ends if ids_of(steps, end) == last.ids_after), None)


def ids_of(steps: Sequence[BeamStep], place: Place) -> tuple[int, ...]:
    """Return the token ids of a hypothesis."""
    return tuple(steps[step].candidates[at].token_id for step, at in way_to(steps, place))


def text_of(steps: Sequence[BeamStep], place: Place) -> str:
    """Return the text of a hypothesis."""
    return "".join(steps[step].candidates[at].text for step, at in way_to(steps, place))


def tree_of(steps: Sequence[BeamStep], first: int, last: int) -> Tree:
    """Lay out the hypotheses of the steps from `first` to `last`, both included."""
    best = best_place(steps)
    on_way = set(way_to(steps, best)) if best else set()
    rows = {step: _rows(steps[step]) for step in range(max(0, first - 1), last + 1)}
    nodes: list[TreeNode] = []
    hidden = 0
    for step in range(first, last + 1):
        candidates = steps[step].candidates
        hidden += len(candidates) - len(rows[step])
        for at, row in rows[step].items():
            one = candidates[at]
            parent_row = None
            if step:
                parent_row = rows[step - 1][place_of_beam(steps[step - 1], one.parent)]
            nodes.append(
                TreeNode(
                    (step, at),
                    row,
                    parent_row,
                    one.token_id,
                    one.logprob,
                    one.total,
                    one.fate,
                    one.group,
                    (step, at) in on_way,
                )
            )
    before = ()
    if first:
        kept = [at for at in rows[first - 1] if steps[first - 1].candidates[at].fate == KEPT]
        before = tuple((rows[first - 1][at], (first - 1, at) in on_way) for at in kept)
    highest = max((row + 1 for column in rows.values() for row in column.values()), default=1)
    return Tree(first, tuple(nodes), before, highest, hidden)


def _rows(step: BeamStep) -> dict[int, int]:
    """Return the row of each shown candidate, by index; an empty row separates groups."""
    others = sum(one.fate != PRUNED for one in step.candidates)
    room = max(0, MOST_ROWS - others)
    groups = len({one.group for one in step.candidates})
    rows: dict[int, int] = {}
    row, group, pruned = 0, None, 0
    for at, one in enumerate(step.candidates):
        if one.group != group:
            row += group is not None
            group, pruned = one.group, 0
        if one.fate == PRUNED:
            pruned += 1
            if pruned > max(1, room // groups):
                continue
        rows[at] = row
        row += 1
    return rows
