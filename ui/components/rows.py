"""How one row of logits travels to the browser: sorted, as runs of equal scores.

A model that computes in bfloat16 gives few distinct scores: 16,384 tokens make about 1,500 runs,
151,936 a few thousand. So the row is small without losing anything, and the browser works on runs.

Layout (little-endian, every array begins at a multiple of four bytes):

    values     f32[runs]   scores, descending; tokens at -inf are left out
    counts     u32[runs]   how many tokens have that score
    ids        [known]     token ids in rank order, equal scores by ascending id: all of them as u16
                           up to 65,536 tokens, else the leading 4,096 as u32
    seen_ids   u32[seen]   tokens whose rank the browser asks for, where `ids` does not hold all
    seen_ranks u32[seen]   their ranks, from 1
    seen_values f32[seen]  their scores

Under guidance the two rows that it is made of travel instead, from which the browser makes the
guided row at any scale, bit by bit the engine's (`engine.guidance.GuidedRows.at`):

    prompt     f32[vocab]  log-probabilities after the prompt's text, by token id
    negative   f32[vocab]  and after the negative prompt's
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.guidance import GuidedRows
from engine.ranking import RankedRow

SMALL_VOCABULARY = 65_536  # up to here all ids are sent, in two bytes each
HEAD = 4096  # leading ranks that are sent with ids above that
MOST_RUNS = 20_000  # more are binned where speed counts more than the last digit
BINS = 1000
LEADING_IDS = 512
COMPARED = 32  # leading ranks of either text alone, to be compared with the guided ones
_TINY = 1e-290


def pack_row(logits: np.ndarray, *, seen: Sequence[int] | None, exact: bool) -> tuple[dict, bytes]:
    """A row for the browser.

    Args:
        logits: (vocab,) float32 raw logits; not modified.
        seen: tokens whose ranks are needed though they may lie beyond the head: the context, which
            penalties look at, the token of the step, and those that a bias or a ban acts on. Any
            order, repeats and ids beyond the vocabulary allowed.
        exact: False allows bins in the tail of a large vocabulary with many distinct scores.

    Returns:
        The header and the arrays. The header holds the arrays' lengths (`runs`, `known`, `seen`),
        `vocab`, `possible` (tokens above -inf), `exact`, and `leading_ids`, the first of the ids.

    Raises:
        LogitsError: NaN or +inf among the logits.
        NoCandidatesError: every token is at -inf.
    """
    ranked = RankedRow(logits)
    ranked.sort_to_depth(ranked.count)
    ids = ranked.ids
    scores = logits[ids] + np.float32(0)  # -0.0 becomes 0.0, as in the ranking
    starts = _starts(scores)
    values, counts = scores[starts], np.diff(starts, append=scores.size)
    is_small = logits.size <= SMALL_VOCABULARY
    is_exact = exact or is_small or values.size <= MOST_RUNS
    if not is_exact:
        values, counts = _binned(ranked, scores)

    known = ids.astype("<u2") if is_small else ids[:HEAD].astype("<u4")
    asked, ranks = _ranks(logits, ids, () if is_small or seen is None else seen)
    header = {
        "vocab": int(logits.size),
        "possible": int(scores.size),
        "exact": is_exact,
        "runs": int(values.size),
        "known": int(known.size),
        "seen": int(asked.size),
        "leading_ids": known[:LEADING_IDS].tolist(),
    }
    parts = [
        values.astype("<f4"),
        counts.astype("<u4"),
        known,
        asked.astype("<u4"),
        ranks.astype("<u4"),
        logits[asked].astype("<f4"),
    ]
    return header, b"".join(_aligned(part.tobytes()) for part in parts)


def pack_guided(rows: GuidedRows, scale: float) -> tuple[dict, bytes]:
    """The two rows of a guided one for the browser; see `pack_row` for header and errors.

    Args:
        rows: what the guided row is made of.
        scale: of the guided row whose leading ids are wanted.
    """
    ranked = RankedRow(rows.at(scale))
    ranked.sort_to_depth(LEADING_IDS)
    parts = (rows.prompt, rows.negative)
    compared = {int(token_id) for part in parts for token_id in _leading(part)}
    header = {
        "vocab": int(rows.prompt.size),
        "exact": True,
        "guided": True,
        "leading_ids": ranked.ids[:LEADING_IDS].tolist(),
        "compared_ids": sorted(compared),
    }
    return header, b"".join(part.astype("<f4").tobytes() for part in parts)


def _leading(scores: np.ndarray) -> np.ndarray:
    """Ids of the `COMPARED` highest scores, in any order."""
    if scores.size <= COMPARED:
        return np.arange(scores.size)
    return np.argpartition(scores, -COMPARED)[-COMPARED:]


def _aligned(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _ranks(
    logits: np.ndarray, ids: np.ndarray, tokens: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """The distinct `tokens` that can be drawn at all, ascending, and their ranks from 1."""
    asked = np.unique(np.asarray(tokens, np.int64))
    asked = asked[(asked >= 0) & (asked < logits.size)]
    asked = asked[logits[asked] > -np.inf]
    if not asked.size:
        return asked, asked
    rank_of = np.empty(logits.size, np.uint32)
    rank_of[ids] = np.arange(1, ids.size + 1, dtype=np.uint32)
    return asked, rank_of[asked]


def _binned(ranked: RankedRow, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The leading `HEAD` scores as they are, the others (descending) in about `BINS` bins.

    A bin's score is the one that leaves its sum of exp(score) as it was.
    """
    tail, weights = scores[HEAD:], ranked.weights[HEAD:]
    edges = np.arange(0, tail.size, -(-tail.size // BINS))
    sizes = np.diff(edges, append=tail.size)
    means = np.add.reduceat(weights, edges) / sizes
    binned = tail[edges].astype(np.float64)  # where exp underflows, the bin's highest will do
    np.log(means, out=binned, where=means > _TINY)
    binned[means > _TINY] += ranked.highest
    # Rounded to float32 a bin may come out an ulp above what stands before it.
    binned = np.minimum.accumulate(np.minimum(binned.astype(np.float32), scores[HEAD - 1]))
    values = np.concatenate([scores[:HEAD], binned])
    counts = np.concatenate([np.ones(HEAD, np.int64), sizes])
    starts = _starts(values)
    return values[starts], np.add.reduceat(counts, starts)


def _starts(values: np.ndarray) -> np.ndarray:
    """Where a run of equal values begins."""
    return np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1])
