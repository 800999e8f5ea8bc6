"""The engine's results for a case, for comparison with the browser's."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator

import numpy as np

from engine.errors import NoCandidatesError
from engine.sampling.distribution import Distribution, StageResult
from engine.sampling.survivors import Survivors
from tests.ui.components.cases import Case
from ui.texts.settings import plain_settings, shown_samplers

LEADING = 15  # rows of the table
DENSE, SPACED = 30, 40  # ranks of a curve


def results(rng: np.random.Generator, case: Case) -> dict:
    """Return a case in the browser's form, with the engine's results."""
    settings = plain_settings(case.settings, shown_samplers(case.settings))
    given = {
        "settings": settings,
        "text": case.text,
        "prompt_length": case.prompt_length,
        "eos_ids": case.eos_ids,
        "line_break_ids": case.line_break_ids,
        "xtc_u": case.xtc_u,
        "mirostat": case.mirostat,
        "us": case.us,
    }
    try:
        distribution = case.distribution
    except NoCandidatesError as error:
        return given | {"emptied_by": str(error).split(": ")[1].split(" took")[0]}
    done = int(rng.integers(len(distribution.stages) + 1))
    return given | {
        "emptied_by": None,
        "entropy": {
            "model": distribution.raw.entropy_bits,
            "tempered": distribution.entropy_bits,
            "final": distribution.final_entropy_bits,
        },
        "stages": [stage(distribution, result) for result in distribution.stages],
        "candidates": [list(candidate) for candidate in distribution.candidates(LEADING)],
        "draws": [draw(distribution, u) for u in case.us],
        "ways": [way(distribution, token) for token in followed(rng, case)],
        "points": [point(distribution, done), point(distribution, len(distribution.stages))],
    }


def stage(distribution: Distribution, result: StageResult) -> dict:
    """Return one sampler's remaining tokens and figures."""
    after = result.after
    ids = np.asarray(after.ids, np.uint32)
    return {
        "name": result.name,
        "count": after.count,
        "start": after.start,
        "ids": zlib.crc32(ids.tobytes()),
        "leading": ids[:20].tolist(),
        "last_score": float(after.row.scores[ids[-1]]),
        "mass_removed": result.mass_removed,
        "entropy": result.entropy_bits,
        "figures": {name: finite(value) for name, value in result.figures.items()},
        "case": result.case,
        "moved_ids": result.moved_ids if result.stage.kind == "edit" else [],
        "mass": mass_level(distribution, result) if result.stage.info.picture == "mass" else None,
    }


def mass_level(distribution: Distribution, result: StageResult) -> dict:
    """Return the token that reaches a sampler's share of the probability, and its level.

    The level is None unless the sampler got a run of the ranking before the cuts, with its scores.
    """
    before, base = result.before, distribution.before_cuts
    share = result.stage.value
    weights = before.weights
    reached = int(np.searchsorted(np.cumsum(weights), share * weights.sum(), side="left"))
    level = None
    if before.row is base.row:
        ahead = float(before.row.weights[: before.start].sum())
        level = (ahead + share * before.mass) / base.mass
    return {"id": int(before.ids[min(reached, before.count - 1)]), "level": level}


def draw(distribution: Distribution, u: float) -> dict:
    """Return the token drawn by a number, and its stretch of the final probabilities."""
    drawn = distribution.draw(u)
    final = final_of(distribution)
    ahead = final.place_at(u).rank - final.start
    before = float(final.weights[:ahead].sum()) / final.mass
    return {
        "u": u,
        "id": drawn.token_id,
        "probability": drawn.probability,
        "from": before,
        "to": before + drawn.probability,
    }


def final_of(distribution: Distribution) -> Survivors:
    """Return the tokens that the whole chain leaves."""
    stages = distribution.stages
    return stages[-1].after if stages else Survivors(distribution.raw)


def followed(rng: np.random.Generator, case: Case) -> list[int]:
    """Choose tokens to trace: a leading one, one of the text, and two at random."""
    some = [token for token in case.text if token < case.logits.size]
    leading = np.argsort(-case.logits, kind="stable")[:5]
    chosen = [
        int(rng.choice(leading)),
        int(rng.choice(some)),
        *rng.integers(0, case.logits.size, 2),
    ]
    return [int(token) for token in chosen]


def way(distribution: Distribution, token: int) -> dict:
    """Return a token's score, rank and probability after each sampler, or None once removed."""
    raw = distribution.raw
    start = Survivors(raw)
    steps = []
    for left in [start, *(result.after for result in distribution.stages)]:
        if left.scores[token] == -np.inf:
            steps.append(None)
            continue
        rank = left.row.rank(token) - left.start
        steps.append([float(left.scores[token]), rank, math.exp(left.logprob(token))])
    return {
        "id": token,
        "raw_rank": raw.rank(token),
        "logit": finite(float(raw.scores[token])),
        "removed_by": distribution.removed_by(token) if raw.scores[token] > -np.inf else None,
        "final_prob": distribution.probability(token),
        "steps": steps,
    }


# --- figures of the charts at a point -------------------------------------------------------------


def point(distribution: Distribution, done: int) -> dict:
    """Return lines and curves after the first `done` samplers."""
    base, uncut = ranking_at(distribution, done)
    row = base.row
    row.sort_to_depth(row.count)
    ids = row.ids
    left = Survivors(distribution.raw) if done == 0 else distribution.stages[done - 1].after
    is_left = left.scores[ids] > -np.inf
    probs = row.weights / base.mass
    final = distribution.probs[ids]
    ranks = curve_ranks(row.count)
    places = np.array(ranks) - 1
    raw = distribution.raw
    raw.sort_to_depth(raw.count)
    return {
        "done": done,
        "kept": left.count,
        "entropy": left.entropy_bits,
        "lines": list(lines(distribution, base, uncut, done)),
        "cut": cut(is_left, probs) if done > uncut and not is_left.all() else None,
        "removed_by": [removed_by(distribution, token, done) for token in ids[:LEADING].tolist()],
        "curve": {
            "ranks": ranks,
            "model_prob": (raw.weights[places] / raw.total).tolist(),
            "prob": probs[places].tolist(),
            "cumulative": np.minimum(1, np.cumsum(probs))[places].tolist(),
            "kept": is_left[places].tolist(),
            "final": final[places].tolist(),
            "cumulative_final": np.minimum(1, np.cumsum(final))[places].tolist(),
        },
    }


def ranking_at(distribution: Distribution, done: int) -> tuple[Survivors, int]:
    """Return the ranking of rows at a point, and the number of samplers before the first cut."""
    stages = distribution.stages
    is_cut = [result.stage.kind == "cut" or result.case == "greedy" for result in stages]
    uncut = is_cut.index(True) if any(is_cut) else len(stages)
    ranked = min(done, uncut)
    return (stages[ranked - 1].after if ranked else Survivors(distribution.raw)), uncut


def lines(distribution: Distribution, base: Survivors, uncut: int, done: int) -> Iterator[dict]:
    """Yield the ranking as each removing sampler leaves it."""
    ids = base.row.ids
    before = np.ones(ids.size, bool)
    for place, result in enumerate(distribution.stages[:done]):
        removed = result.before.count - result.survivors
        told = {"name": result.name, "removed": removed, "kept": result.survivors}
        if place < uncut:
            if removed:
                yield told | {"in_ranking": False}
            continue
        is_left = result.after.scores[ids] > -np.inf
        ranks = np.flatnonzero(is_left) + 1
        if removed:
            gone = np.flatnonzero(before & ~is_left) + 1
            yield told | {
                "in_ranking": True,
                "first_rank": int(ranks[0]),
                "last_rank": int(ranks[-1]),
                "is_contiguous": bool(ranks[-1] - ranks[0] + 1 == ranks.size),
                "is_upper": bool(gone[0] < ranks[0]),
                "is_lower": bool(gone[-1] > ranks[-1]),
            }
        before = is_left


def cut(is_left: np.ndarray, probs: np.ndarray) -> dict:
    """Describe the remaining tokens as a whole."""
    ranks = np.flatnonzero(is_left) + 1
    return {
        "first_rank": int(ranks[0]),
        "last_rank": int(ranks[-1]),
        "is_contiguous": bool(ranks[-1] - ranks[0] + 1 == ranks.size),
        "mass": float(probs[is_left].sum()),
    }


def removed_by(distribution: Distribution, token: int, done: int) -> str | None:
    """Return the sampler up to the point that removed a token."""
    name = distribution.removed_by(token)
    names = [result.name for result in distribution.stages[:done]]
    return name if name in names else None


def curve_ranks(last: int) -> list[int]:
    """Return every leading rank, and some of the others."""
    spaced = np.geomspace(1, last, SPACED).round().astype(int).tolist()
    return sorted({*range(1, min(last, DENSE) + 1), *spaced})


def finite(value: float) -> float | None:
    """Return the value, or None for infinity, which JSON lacks."""
    return value if math.isfinite(value) else None
