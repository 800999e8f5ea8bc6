"""What the engine made of a row under the settings in force, sampler by sampler, for the browser.

The browser computes most samplers itself, so that a slider needs no server. It cannot do so where
it has a row's tail in bins only, and not at all for a sampler that it has no rule for: these
results stand in then. So a new sampler, or a constraint, needs no JavaScript.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from engine.sampling import SamplingSettings
from engine.sampling.distribution import Distribution, StageResult
from engine.sampling.ranking import RankedRow
from engine.sampling.survivors import Survivors
from ui.components.rows import aligned, pack_row
from ui.texts.settings import plain_settings

MOST_MOVED = 2000  # tokens whose new scores come one by one; for more the whole row comes


def outcomes(
    distribution: Distribution, settings: SamplingSettings, unknown: Collection[str]
) -> tuple[list[dict[str, Any]], bytes]:
    """One entry a sampler that is on, in order, and the arrays that entries point into.

    Every entry holds name and value, `survivors`, `mass_removed`, `entropy_bits`, `figures`, `case`
    (see `StageResult`; where the browser has the rule, of the figures only the stage's own), and of
    the scores after it `highest`, `total` (the sum of exp(score - highest) over all tokens that
    have a score) and `mass` (the same over those that
    are left), which together give every probability.

    How to have the tokens that are left, `kept`:

        rule    the browser's own rule says it
        window  `survivors` ranks behind the first `first` ranks, scores as before
        mask    those whose bit is set, scores as before; one bit for each token before it in rank
                order, lowest bit first: `mask`, [offset, bytes]
        moved   `moved`: [id, rank in the raw row (0 at -inf), raw logit, new score (None: removed)]
        row     other scores for all: `row` and `offset`, as `rows.pack_row` lays them out

    Offsets count from the beginning of the arrays.

    Args:
        distribution: what the chain made of the row.
        settings: that chain.
        unknown: samplers that the browser has no rule for.
    """
    values = plain_settings(settings)
    entries, arrays, size = [], [], 0
    for result in distribution.stages:
        is_unknown = result.name in unknown
        entry = _figures(result, is_unknown) | {"value": values[result.name]}
        added, data = _kept(result, distribution, is_unknown, size)
        entries.append(entry | added)
        arrays.append(data)
        size += len(data)
    return entries, b"".join(arrays)


def drawn(distribution: Distribution, u: float | None) -> dict[str, Any] | None:
    """The token that `u` draws, and its stretch of the cumulative distribution; None without `u`.

    `rank` counts from 1 in the ranking after the last sampler, with what is cut there.
    """
    if u is None:
        return None
    final = distribution.stages[-1].after if distribution.stages else Survivors(distribution.raw)
    place = final.place_at(u)
    return {
        "u": u,
        "rank": place.rank + 1,
        "id": place.token_id,
        "probability": place.weight / final.mass,
        "from": max(0.0, place.reached - place.weight) / final.mass,
        "to": min(1.0, place.reached / final.mass),
    }


def _figures(result: StageResult, is_unknown: bool) -> dict[str, Any]:
    after = result.after
    # The browser counts what all samplers have in common by itself, where it has the rule.
    own = result.stage.figures(result.before, after, result.context)
    figures = result.figures if is_unknown else own
    return {
        "name": result.name,
        "survivors": after.count,
        "mass_removed": result.mass_removed,
        "entropy_bits": result.entropy_bits,
        "figures": {name: _finite(value) for name, value in figures.items()},
        "case": result.case,
        "highest": after.row.highest,
        "total": after.row.total,
        "mass": after.mass,
    }


def _finite(figure: float) -> float | None:
    return figure if math.isfinite(figure) else None  # JSON has no infinity


def _kept(
    result: StageResult, distribution: Distribution, is_unknown: bool, offset: int
) -> tuple[dict[str, Any], bytes]:
    before, after = result.before, result.after
    if after.row is before.row:
        return {"kept": "window", "first": after.start}, b""
    if not is_unknown:
        return {"kept": "rule"}, b""
    was, now = before.scores, after.scores
    stays = now > -np.inf
    if np.array_equal(was[stays], now[stays]):
        bits = np.packbits(stays[before.ids], bitorder="little").tobytes()
        return {"kept": "mask", "mask": [offset, len(bits)]}, aligned(bits)
    changed = np.flatnonzero(was != now)
    if changed.size <= MOST_MOVED:
        moved = [_moved(token_id, distribution.raw, now) for token_id in changed.tolist()]
        return {"kept": "moved", "moved": moved}, b""
    header, data = pack_row(now, seen=None, exact=True)
    return {"kept": "row", "row": header, "offset": offset}, data


def _moved(token_id: int, raw: RankedRow, scores: np.ndarray) -> list[float | None]:
    logit, score = float(raw.scores[token_id]), float(scores[token_id])
    rank = 0 if logit == -math.inf else raw.rank(token_id)
    return [token_id, rank, _finite(logit), _finite(score)]
