"""The results of each sampler on a row under the settings in force, packed for the browser.

The browser previews four samplers itself, so that their sliders need no server. The engine shapes
everything else, and also these four while the browser has the row's tail only in bins. So a new
sampler or a constraint needs no JavaScript.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.errors import NoCandidatesError
from engine.sampling import (
    STAGES,
    Distribution,
    RankedRow,
    SamplingSettings,
    ScaleStage,
    StageResult,
    Survivors,
    shape,
)
from ui.components.rows import (
    LIGHT_HEAD,
    aligned,
    leading_ids,
    packed_runs,
    ranks_of,
    raw_ranks,
    runs_of,
)
from ui.texts.settings import plain_settings

# Samplers that the browser computes by itself over a whole row (kernel/stages.js).
PREVIEWED = frozenset({"temperature", "top_k", "top_p", "min_p"})

SAME_PROB = 1e-9  # probabilities that differ by less count as equal
MOST_MOVED = 2000  # tokens whose new scores are sent one by one; for more, the whole row is sent


def is_previewed(settings: SamplingSettings) -> bool:
    """Return whether the browser computes a whole chain by itself."""
    order = [stage.setting for stage in settings.chain]
    return PREVIEWED.issuperset(order) and order == sorted(order, key=list(STAGES).index)


def shaped(
    raw: RankedRow, stages: Sequence[StageResult], settings: SamplingSettings, u: float | None
) -> tuple[dict[str, Any], bytes]:
    """Pack a chain's results for a row, and the arrays that the entries point into.

    Args:
        raw: the row.
        stages: the results of the chain of `settings`, up to the sampler that removed the last
            token.
        settings: the settings of the step.
        u: the number that the step is drawn with; None if it is not drawn.

    Returns:
        The results and the arrays. The results contain `settings`; `outcomes` and `default_order`,
        see these functions; and `draw`, the token that `u` draws and its cumulative interval.
    """
    distribution = Distribution(raw, stages)
    entries, arrays = outcomes(distribution, settings)
    u = None if settings.is_greedy else u
    return {
        "settings": plain_settings(settings),
        "outcomes": entries,
        "draw": drawn(distribution, u) if distribution.survivors else None,
        "default_order": default_order(distribution, settings, u),
    }, arrays


def default_order(
    now: Distribution, settings: SamplingSettings, u: float | None
) -> dict[str, Any] | None:
    """Compare a chain with the same samplers in the default order; None if that is its order.

    `order` lists the samplers; `now` and `kept` count the tokens that the chain and the default
    order keep. `same_tokens` is true if both keep the same tokens, `same_odds` if these also have
    the same probabilities, `same_draw` if both take the same token. `taken_by` says how it is
    taken: ``greedy``, ``u``, or ``nothing`` for a forced token.
    """
    chain = sorted(settings.chain, key=lambda stage: list(STAGES).index(stage.setting))
    if chain == list(settings.chain):
        return None
    try:
        context = now.stages[0].context
        then = shape(now.logits, SamplingSettings(chain=chain), context)
    except NoCandidatesError as error:
        then = Distribution(now.raw, error.stages)
    same_tokens = np.array_equal(now.final_scores > -np.inf, then.final_scores > -np.inf)
    number = 0.0 if settings.is_greedy else u
    taken = [
        one.sample(number) if one.survivors and number is not None else None for one in (now, then)
    ]
    is_close = same_tokens and now.survivors and np.abs(now.probs - then.probs).max() < SAME_PROB
    return {
        "order": [stage.setting for stage in chain],
        "now": now.survivors,
        "kept": then.survivors,
        "same_tokens": bool(same_tokens),
        "same_odds": bool(is_close),
        "same_draw": taken[0] == taken[1],
        "taken_by": "greedy" if settings.is_greedy else "nothing" if u is None else "u",
    }


def outcomes(
    distribution: Distribution, settings: SamplingSettings
) -> tuple[list[dict[str, Any]], bytes]:
    """Return one entry per active sampler, in order, and the arrays that the entries point into.

    Every entry contains the sampler's name and value, `survivors`, `mass_removed`, `entropy_bits`,
    `figures` and `case` (see `StageResult`). It also contains `highest`, the highest score after
    the sampler, and `mass`, the sum of exp(score - highest) over the tokens left. These two give
    every probability.

    `kept` says how to find the remaining tokens:

        scaled  all of them, scores divided by `temperature`
        window  `survivors` ranks after the first `first` ranks, scores unchanged
        mask    those whose bit is set, scores unchanged; `mask`, [offset, bytes], has one bit for
                each token before the sampler, in rank order, lowest bit first
        moved   `moved`: [id, rank in the raw row, raw logit, new score (None: removed)]; `leading`:
                [id, score before, new score] of the leading ones, in rank order
        row     new scores for all: `row`, [offset, runs, tokens], points to the runs' scores and
                sizes and the tokens' ranks in the raw row; `moved` has the leading tokens

    Offsets count from the beginning of the arrays.

    Args:
        distribution: the chain's result for the row.
        settings: that chain.
    """
    values = plain_settings(settings)
    entries, arrays, size = [], [], 0
    for result in distribution.stages:
        entry = _figures(result) | {"value": values[result.name]}
        added, data = _kept(result, distribution, size)
        entries.append(entry | added)
        arrays.append(data)
        size += len(data)
    return entries, b"".join(arrays)


def drawn(distribution: Distribution, u: float | None) -> dict[str, Any] | None:
    """Return the token that `u` draws and its cumulative interval; None without `u`.

    `rank` counts from 1 in the ranking after the last sampler, removed tokens included.
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


def _figures(result: StageResult) -> dict[str, Any]:
    after = result.after
    return {
        "name": result.name,
        "survivors": after.count,
        "mass_removed": result.mass_removed,
        "entropy_bits": result.entropy_bits,
        "figures": {name: _finite(value) for name, value in result.figures.items()},
        "case": result.case,
        "highest": after.row.highest,
        "mass": after.mass,
    }


def _finite(figure: float) -> float | None:
    return figure if math.isfinite(figure) else None  # JSON has no infinity


def _kept(
    result: StageResult, distribution: Distribution, offset: int
) -> tuple[dict[str, Any], bytes]:
    before, after, raw = result.before, result.after, distribution.raw
    is_edit = result.stage.kind == "edit"
    if after.row is before.row and not (is_edit and not after.count):
        return {"kept": "window", "first": after.start}, b""
    if isinstance(result.stage, ScaleStage):
        return {"kept": "scaled", "temperature": result.stage.temperature_of(before)}, b""
    was, now = before.scores, after.scores
    changed = np.flatnonzero(was != now)
    if is_edit and 0 < changed.size <= MOST_MOVED:
        leading = [[i, float(was[i]), _finite(float(now[i]))] for i in result.moved_ids]
        return {"kept": "moved", "moved": _moved(changed, raw, now), "leading": leading}, b""
    stays = now > -np.inf
    if np.array_equal(was[stays], now[stays]):
        bits = np.packbits(stays[before.ids], bitorder="little").tobytes()
        return {"kept": "mask", "mask": [offset, len(bits)]}, aligned(bits)
    values, counts = runs_of(now[after.ids] + np.float32(0))
    order = raw_ranks(raw)[after.ids].astype("<u4").tobytes()
    row = [offset, values.size, after.count]
    moved = _moved(after.ids[:LIGHT_HEAD], raw, now)
    return {"kept": "row", "row": row, "moved": moved}, packed_runs(values, counts) + order


def _moved(ids: np.ndarray, raw: RankedRow, scores: np.ndarray) -> list[list[float | None]]:
    known, found = ranks_of(raw, ids.tolist(), leading_ids(raw, 0))
    ranks = dict(zip(known.tolist(), found.tolist(), strict=True))
    return [
        [token_id, ranks[token_id], float(raw.scores[token_id]), _finite(float(scores[token_id]))]
        for token_id in ids.tolist()
    ]
