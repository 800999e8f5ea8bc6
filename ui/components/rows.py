"""Wire format of one row of logits for the browser: sorted, as runs of equal scores.

A model that computes in bfloat16 gives few distinct scores: 16,384 tokens make about 1,500 runs,
151,936 a few thousand. So the row is small without loss, and the browser works on runs.

Layout (little-endian, every array begins at a multiple of four bytes):

    runs       varint[]    scores, descending; tokens at -inf are left out. For each score, twice
                           its distance from the one before it, plus 1 if several tokens have it;
                           their number follows. Distances are in steps of float32, the first one
                           from the largest 32-bit pattern. If all scores differ, 1.9 bytes a token
    ids        [known]     token ids in rank order, equal scores by ascending id: all of them as u16
                           up to 65,536 tokens, else the leading 4,096 as u32

A varint is a whole number, seven bits in a byte, the lowest first; the highest bit of a byte says
that more follow.

A step sends a light row, in the same layout: the leading 512 tokens as they are, all others in up
to 200 bins of equal width. With it come the engine's results for the row under the settings in
force (`ui.components.outcomes`). With those settings on screen, these figures are exact:

    of the leading 512, the step's own token and those that an edit moved: id, rank, score
    of the row: number of tokens, the highest score, the sum of all weights, the entropy
    of every sampler: the tokens left and their ranks, the mass it removed, the entropy, its figures
    of the tokens left at the end: their number, the sum of their weights, and so each probability
        in the draw; the token drawn and its interval of the cumulative distribution

So everything in a table of up to 200 rows, the charts of the leading tokens, captions, lines and
sentences is exact. The shape of a curve beyond rank 512 is not: within a bin, scores count as
equal, and the sum of weights is accurate to float32. Nor are results under settings that are not
in force. For these the browser asks for the whole row.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.decoding import GuidedRows
from engine.sampling import RankedRow

SMALL_VOCABULARY = 65_536  # up to this size, all ids are sent, in two bytes each
HEAD = 4096  # leading ranks that are sent for larger vocabularies
LEADING_IDS = 512
LIGHT_HEAD = (
    512  # leading ranks of a light row: 200 rows of a table, and tokens that an edit moves up
)
LIGHT_BINS = 200
_DEEPEST = 60.0  # nats below the highest score; all deeper scores share one bin
_STRIDE = 16  # stride of the sample from which a threshold is guessed
_FEW = 48  # tokens whose ranks are counted one by one; more are looked up in a sorted copy
COMPARED = 8  # leading tokens of the guided row that are compared with the two rows behind it
_TINY = 1e-290


def packed(header: dict[str, Any], arrays: bytes = b"") -> bytes:
    """Pack a message: header length (u32, little-endian), JSON header padded to 4 bytes, arrays."""
    data = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    data += b" " * (-len(data) % 4)
    return struct.pack("<I", len(data)) + data + arrays


def pack_row(raw: RankedRow, listed: int | None = None) -> tuple[dict, bytes]:
    """Pack a whole row for the browser.

    Args:
        raw: the raw logits; their computed parts are reused.
        listed: the number of leading tokens with known scores; None for all. The others are sent
            without ids.

    Returns:
        The header and the arrays. The header contains the arrays' lengths (`runs`, `known`),
        `vocab`, `possible` (tokens above -inf), `exact`, and `leading_ids`, the first of the ids.
    """
    raw.sort_to_depth(raw.count)
    ids = raw.ids
    is_small = raw.scores.size <= SMALL_VOCABULARY
    runs = runs_of(raw.scores[ids] + np.float32(0))  # -0.0 becomes 0.0, as in the ranking
    known = (ids if is_small else ids[:HEAD])[:listed]
    header, data = _packed(raw, runs, known)
    return header | {"exact": True}, data


def pack_light(raw: RankedRow, listed: int | None = None) -> tuple[dict, bytes]:
    """Pack the leading part of a row, and the rest in bins, without a full sort.

    Args:
        raw: the raw logits; their computed parts are reused.
        listed: see `pack_row`.

    Returns:
        As `pack_row`; the header also contains `light`, and in `told` the figures that the bins
        give less exactly: the row's `highest` score, `total` (the sum of exp(score - highest)) and
        `entropy_bits`.
    """
    ids = leading_ids(raw, min(LIGHT_HEAD, listed or LIGHT_HEAD))
    runs = _with_tail(raw, ids, raw.scores[ids] + np.float32(0))
    header, data = _packed(raw, runs, ids)
    told = {"highest": raw.highest, "total": raw.total, "entropy_bits": raw.entropy_bits}
    return header | {"exact": False, "light": True, "told": told}, data


def _packed(
    raw: RankedRow, runs: tuple[np.ndarray, np.ndarray], known: np.ndarray
) -> tuple[dict, bytes]:
    header = {
        "vocab": int(raw.scores.size),
        "possible": raw.count,
        "runs": int(runs[0].size),
        "known": int(known.size),
        "leading_ids": known[:LEADING_IDS].tolist(),
    }
    ids = known.astype("<u2" if raw.scores.size <= SMALL_VOCABULARY else "<u4")
    return header, packed_runs(*runs) + aligned(ids.tobytes())


def leading_ids(raw: RankedRow, count: int) -> np.ndarray:
    """Return the ids of the `count` leading tokens above -inf, or fewer, in rank order."""
    count = min(count, raw.count)
    if raw.depth >= count:
        return raw.ids[:count]
    # With ids ascending, a stable sort breaks ties by id.
    sample = raw.scores[::_STRIDE]
    guess = count // _STRIDE + 2 * math.isqrt(count // _STRIDE) + 8  # seldom too few
    ids = np.empty(0, np.int64)
    if sample.size > 4 * guess:
        ids = np.flatnonzero(raw.scores >= np.partition(sample, -guess)[-guess])
    if not count <= ids.size < 4 * count:
        ids = np.flatnonzero(raw.scores >= np.partition(raw.scores, -count)[-count])
    return ids[np.argsort(-raw.scores[ids], kind="stable")][:count]


def _with_tail(
    raw: RankedRow, ids: np.ndarray, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return values and counts of runs: the head as it is, and all other tokens in bins."""
    values, counts = runs_of(scores)
    if ids.size == raw.count:
        return values, counts
    in_tail = np.ones(raw.scores.size, bool)
    in_tail[ids] = False
    if raw.count < raw.scores.size:
        in_tail &= raw.scores > -np.inf
    tail, weights = raw.scores[in_tail], raw.all_weights[in_tail]
    highest = float(tail.max())
    lowest = max(float(tail.min()), raw.highest - _DEEPEST)
    width = max((highest - lowest) / LIGHT_BINS, 1e-6)
    bounded = np.maximum(tail, np.float32(lowest))  # a difference may exceed float32
    places = (np.float32(highest) - bounded) * np.float32(1 / width)
    places = np.clip(places, 0, np.float32(LIGHT_BINS - 1)).astype(np.int64)
    sizes = np.bincount(places, minlength=LIGHT_BINS)
    sums = np.bincount(places, weights, minlength=LIGHT_BINS)
    filled = sizes > 0
    middles = highest - width * (np.flatnonzero(filled) + 0.5)  # exp underflows there
    means = sums[filled] / sizes[filled]
    bins = np.where(means > _TINY, np.log(np.maximum(means, _TINY)) + raw.highest, middles)
    # Rounded to float32, a bin may come out above the value before it.
    bins = np.minimum.accumulate(np.minimum(bins.astype(np.float32), scores[-1]))
    values, counts = np.concatenate([values, bins]), np.concatenate([counts, sizes[filled]])
    starts = _starts(values)
    return values[starts], np.add.reduceat(counts, starts)


def ranks_of(
    raw: RankedRow, tokens: Sequence[int], leading: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct `tokens` above -inf, ascending by id, and their ranks from 1.

    Args:
        raw: the row.
        tokens: ids in any order; repeats and ids beyond the vocabulary are allowed.
        leading: ids of the row's leading tokens, in rank order.
    """
    scores = raw.scores
    asked = np.unique(np.asarray(tokens, np.int64))
    asked = asked[(asked >= 0) & (asked < scores.size)]
    asked = asked[scores[asked] > -np.inf]
    if not asked.size:
        return asked, asked
    if raw.complete or asked.size > _FEW:
        return asked, raw_ranks(raw)[asked]
    ranks = []
    for token_id in asked.tolist():
        place = np.flatnonzero(leading == token_id)
        ranks.append(int(place[0]) + 1 if place.size else raw.rank(token_id))
    return asked, np.array(ranks, np.int64)


def compared(rows: GuidedRows, guided: RankedRow) -> list[list]:
    """Compare the leading tokens of the guided row with those of the two rows behind it.

    Args:
        rows: the two rows from which the guided row is made.
        guided: the guided row.

    Returns:
        One list for each token, by guided rank, those at -inf last: token id, then [rank,
        probability] in the guided row, after the prompt, and after the negative prompt; rank 0 at
        -inf.
    """
    alone = [RankedRow(row) for row in (rows.prompt, rows.negative)]
    ids = [*leading_ids(guided, COMPARED), *(int(row.scores.argmax()) for row in alone)]
    told = [
        [int(token_id), *([_rank(row, token_id), _prob(row, token_id)] for row in (guided, *alone))]
        for token_id in dict.fromkeys(ids)
    ]
    return sorted(told, key=lambda each: each[1][0] or math.inf)


def _rank(row: RankedRow, token_id: int) -> int:
    return row.rank(token_id) if row.scores[token_id] > -np.inf else 0


def _prob(row: RankedRow, token_id: int) -> float:
    return math.exp(row.logprob(token_id))


def aligned(data: bytes) -> bytes:
    """Return the data, padded to a multiple of four bytes, where the next array may begin."""
    return data + bytes(-len(data) % 4)


def runs_of(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values and sizes of the runs of equal scores, given descending scores."""
    starts = _starts(scores)
    return scores[starts], np.diff(starts, append=scores.size)


def packed_runs(values: np.ndarray, counts: np.ndarray) -> bytes:
    """Pack runs of descending float32 scores and their sizes as varints, without loss."""
    bits = values.astype(np.float32, copy=False).view(np.uint32)
    # Patterns in the order of their scores: the sign inverted, and all bits of a negative score.
    ordered = np.where(bits >> 31, ~bits, bits | 1 << 31).astype(np.int64)
    is_long = counts > 1
    numbers = np.empty(values.size + np.count_nonzero(is_long), np.int64)
    places = np.arange(values.size) + np.cumsum(is_long) - is_long
    numbers[places] = is_long - 2 * np.diff(ordered, prepend=(1 << 32) - 1)
    numbers[places[is_long] + 1] = counts[is_long]
    return aligned(_varints(numbers).tobytes())


def _varints(numbers: np.ndarray) -> np.ndarray:
    sizes = 1 + sum(numbers >> bits > 0 for bits in (7, 14, 21, 28))  # the largest has 33 bits
    ends = np.cumsum(sizes)
    data = np.empty(ends[-1], np.uint8)
    places = ends - sizes
    while numbers.size:
        more = numbers > 127
        data[places] = numbers & 127 | more << 7
        numbers, places = numbers[more] >> 7, places[more] + 1
    return data


def raw_ranks(raw: RankedRow) -> np.ndarray:
    """Return ranks from 1, by token id; 0 at -inf: (vocab,) uint32."""
    raw.sort_to_depth(raw.count)
    ranks = np.zeros(raw.scores.size, np.uint32)
    ranks[raw.ids] = np.arange(1, raw.count + 1)
    return ranks


def _starts(values: np.ndarray) -> np.ndarray:
    """Return the indices at which runs of equal values begin."""
    return np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1])
