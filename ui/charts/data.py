"""What the charts and the candidates table show of one step, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Row:
    """One token of the table.

    Attributes:
        rank: 1 for the highest score after penalties and temperature.
        token_id: the token.
        label: its text with everything invisible made visible; not escaped.
        logit: raw logit.
        model_prob: probability at temperature 1 with nothing changed or cut.
        prob: probability after penalties and temperature, before the cuts.
        cumulative: sum of `prob` down to this rank.
        removed_by: the stage that removed it, None for a survivor.
        final_prob: probability in the draw.
        chosen: whether the recorded step appended it.
    """

    rank: int
    token_id: int
    label: str
    logit: float
    model_prob: float
    prob: float
    cumulative: float
    removed_by: str | None
    final_prob: float
    chosen: bool = False

    @property
    def state(self) -> str:
        """``chosen``, ``kept`` or ``removed``: what a bar is coloured by."""
        if self.chosen:
            return "chosen"
        return "kept" if self.removed_by is None else "removed"


@dataclass(frozen=True)
class StageRow:
    """What one stage of the chain did to the row.

    Attributes:
        name: the stage's setting.
        value: what it is set to.
        before, after: survivors in and out.
        entropy_before, entropy_after: entropy of the distribution in bits, in and out.
        mass_removed: share of the probability just before it that it removed.
        last_rank: last rank it kept where it cuts by rank, else None.
    """

    name: str
    value: float
    before: int
    after: int
    entropy_before: float
    entropy_after: float
    mass_removed: float
    last_rank: int | None


@dataclass(frozen=True)
class Curve:
    """The whole vocabulary in rank order, thinned out at log-spaced ranks, every value exact.

    Attributes:
        ranks: (points,) ranks from 1.
        probs: (points,) probability after penalties and temperature.
        cumulative: (points,) its running sum.
        final: (points,) running sum of the final probabilities.
    """

    ranks: np.ndarray
    probs: np.ndarray
    cumulative: np.ndarray
    final: np.ndarray


@dataclass(frozen=True)
class Draw:
    """Where the recorded uniform number falls on the cumulative distribution.

    Attributes:
        u: the number.
        token_id, label, rank: the token that it draws under the settings shown.
    """

    u: float
    token_id: int
    label: str
    rank: int


@dataclass(frozen=True)
class StepView:
    """One inspected step under some settings.

    Attributes:
        index: the step, from 0.
        rows: leading tokens in rank order; the chosen one last if it ranks below them.
        vocab_size: tokens in the vocabulary.
        others: how many tokens have no row.
        others_prob, others_final: what they hold together, before and after the cuts.
        stages: what each stage did.
        survivors: tokens left in the draw.
        last_kept: rank of the last token left in the draw.
        curve: the whole vocabulary.
        draw: the recorded draw, None for a greedy or forced step.
        why_no_draw: ``greedy``, ``forced`` or ``parity mode`` where there is none.
        entropy_bits: after temperature.
        final_entropy_bits: of the distribution that is drawn from.
        is_greedy: whether the settings shown are greedy.
        as_recorded: whether the settings shown are those that the step was taken with.
    """

    index: int
    rows: tuple[Row, ...]
    vocab_size: int
    others: int
    others_prob: float
    others_final: float
    stages: tuple[StageRow, ...]
    survivors: int
    last_kept: int
    curve: Curve
    draw: Draw | None
    why_no_draw: str
    entropy_bits: float
    final_entropy_bits: float
    is_greedy: bool
    as_recorded: bool

    @property
    def prob_name(self) -> str:
        """What `Row.prob` is: at temperature 0 no softmax is taken but the model's own."""
        return "softmax (T = 1)" if self.is_greedy else "after temperature"

    @property
    def chosen(self) -> Row:
        """The row of the recorded token."""
        return next(row for row in self.rows if row.chosen)


def log_ranks(count: int, dense: int = 100, points: int = 300) -> np.ndarray:
    """(n,) ranks from 1 to `count`: every one up to `dense`, then about `points` log-spaced."""
    if count <= dense:
        return np.arange(1, count + 1)
    tail = np.geomspace(dense, count, points).round().astype(np.int64)
    return np.unique(np.concatenate([np.arange(1, dense + 1), tail]))
