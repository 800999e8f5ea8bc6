"""Tests of settings by what a server draws, if it does not say what it did.

Every setting has two hypotheses, each with a distribution that our chain gives on the server's own
row: honoured, and dropped. Both are tested, so that a verdict names the one that remains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from engine.backend.server_model import ServerModel
from engine.errors import ServerError, msg
from engine.runner.job import this_job
from engine.sampling import SamplingSettings, shape
from engine.sampling.samplers import RepetitionPenalty, Stage, TopK
from engine.server_check.conventions import readings
from engine.server_check.multinomial import p_against, p_value
from engine.server_check.samplers import lacking, name_of
from engine.server_check.text import Text, drawing, is_refusal, written

ALARM = 0.01  # probability of a false verdict on any setting
_LARGEST_SEED = 2**31
_AT_ONCE = 4  # requests
_DOING = msg("Draws of the server")


@dataclass(frozen=True)
class Drawn:
    """Draws of a server compared with two distributions.

    Attributes:
        honoured, dropped: probability of draws at least this unusual under each.
        distance: total variation distance of the two, 0 to 1; at 0 nothing can tell them apart.
        impossible: number of draws that the setting would have made impossible.
        level: the level of significance of each of the two tests.
    """

    honoured: float
    dropped: float
    distance: float
    impossible: int
    level: float

    @property
    def rejects_honoured(self) -> bool:
        """True if the draws do not come from the distribution with the setting."""
        return self.honoured <= self.level

    @property
    def rejects_dropped(self) -> bool:
        """True if the draws do not come from the distribution without it."""
        return self.dropped <= self.level


def drawn_of(
    model: ServerModel,
    text: Text,
    row: np.ndarray,
    is_whole: bool,
    stages: Sequence[Stage],
    count: int,
    seed: int,
) -> Iterator[tuple[str, dict[str, object], bool, Drawn | None]]:
    """Yield every setting's name, its parameters, whether the server should know it, its figures.

    The figures are None if the server refuses the setting. Samplers that it lacks come last.

    Args:
        model: the server.
        text: the text to continue.
        row: (vocab,) log-probabilities.
        is_whole: whether the server lists all of them; otherwise its top-k comes first, and
            samplers that need the others are left out.
        stages: the samplers, each sent alone.
        count: draws for each.
        seed: of the draws.
    """
    kept = None if is_whole else int(np.count_nonzero(row > row.min()))
    usable = [(each, True) for each in stages] + [(each, False) for each in lacking(model)]
    usable = [(each, known) for each, known in usable if _is_exact(each, kept)]
    level = ALARM / (2 * max(1, len(usable)))
    for number, (stage, is_known) in enumerate(usable):
        base = [] if kept is None or isinstance(stage, TopK) else [TopK(kept)]
        unset = shape(row, SamplingSettings(chain=base), text.context(model)).probs
        sent = written(model, [*base, stage])
        if not is_known:
            sent |= {stage.setting: True if stage.value is stage else stage.value}
        try:
            ids = _draw(model, text, sent, count, seed + number, (number, len(usable)))
        except ServerError as error:
            if not is_refusal(error):
                raise
            yield name_of([stage]), sent, is_known, None
            continue
        # A draw that fits any reading of the setting honours it.
        ways = [probs for _, probs in readings(model, text, row, [*base, stage])]
        values = [_probability(ids, probs, unset, level, seed) for probs in ways]
        honoured = ways[int(np.argmax(values))]
        drawn = Drawn(
            max(values),
            _probability(ids, unset, np.mean(ways, axis=0), level, seed),
            float(np.abs(honoured - unset).sum() / 2),
            int(np.count_nonzero(honoured[ids] <= 0)),
            level,
        )
        yield name_of([stage]), sent, is_known, drawn


def _probability(
    ids: np.ndarray, probs: np.ndarray, other: np.ndarray, level: float, seed: int
) -> float:
    """Return the probability of such draws: the smaller of two tests, doubled as there are two."""
    return min(1.0, 2 * min(p_value(ids, probs, level / 2, seed), p_against(ids, probs, other)))


def _is_exact(stage: Stage, kept: int | None) -> bool:
    """Return whether the stage's result is exact with the tokens that are listed."""
    if isinstance(stage, RepetitionPenalty):  # the sign of a logit decides
        return False
    return kept is None or (stage.kind != "edit" and getattr(stage, "k", 0) <= kept)


def _draw(
    model: ServerModel,
    text: Text,
    sent: dict[str, object],
    count: int,
    seed: int,
    place: tuple[int, int],
) -> np.ndarray:
    """Return the first tokens of `count` answers, each with a seed of its own."""
    number, total = place

    def drawn(seed: int) -> int:
        ids = drawing(model).draw(text.token_ids, sent | {"seed": seed}).token_ids
        if not ids or ids[0] >= model.vocab_size:
            raise ServerError("{name} drew no token that it has.", model.name)
        return ids[0]

    seeds = np.random.default_rng(seed).integers(1, _LARGEST_SEED, count).tolist()
    found: list[int] = []
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for start in range(0, count, _AT_ONCE):
            this_job().check()
            this_job().told(_DOING, number * count + start, total * count)
            found += threads.map(drawn, seeds[start : start + _AT_ONCE])
    return np.array(found, np.int64)
