from typing import NamedTuple

import numpy as np
import pytest

from engine.errors import LogitsError, NoCandidatesError
from engine.sampling.ranking import RankedRow
from ui.components.rows import HEAD, pack_row

LARGE = 151_936


class Unpacked(NamedTuple):
    values: np.ndarray
    counts: np.ndarray
    ids: np.ndarray


def unpack(header: dict, data: bytes) -> Unpacked:
    """Read the arrays in the layout documented in the module's docstring."""
    rest = iter(data)

    def number() -> int:
        byte = next(rest)
        return byte if byte < 128 else byte - 128 + 128 * number()

    pattern, runs = 0xFFFF_FFFF, []
    for _ in range(header["runs"]):
        distance, has_count = divmod(number(), 2)
        pattern -= distance
        bits = pattern ^ (0x8000_0000 if pattern >> 31 else 0xFFFF_FFFF)
        runs.append((bits, number() if has_count else 1))
    bits, counts = np.array(runs, np.uint32).T
    known = header["known"]
    ids = np.dtype("<u2" if header["vocab"] <= 65_536 else "<u4")
    left = bytes(rest)
    padded = -(-known * ids.itemsize // 4) * 4
    assert len(data) % 4 == 0
    assert not any(left[:-padded]) and len(left) - padded < 4
    return Unpacked(bits.copy().view(np.float32), counts, np.frombuffer(left[-padded:], ids, known))


def packed(logits) -> tuple[dict, Unpacked]:
    header, data = pack_row(RankedRow(np.array(logits, np.float32)))
    return header, unpack(header, data)


def large_row(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 3, LARGE).astype(np.float32)


@pytest.mark.parametrize(
    ("logits", "values", "counts", "ids"),
    [
        ([1, 3, -2, 2], [3, 2, 1, -2], [1, 1, 1, 1], [1, 3, 0, 2]),
        ([2, 5, 2, 5, 2], [5, 2], [2, 3], [1, 3, 0, 2, 4]),
        ([0.0, -0.0, 1.0, 0.0], [1, 0], [1, 3], [2, 0, 1, 3]),
        ([-np.inf, 1, -np.inf, 2, 0], [2, 1, 0], [1, 1, 1], [3, 1, 4]),
        ([-7.5] * 1001, [-7.5], [1001], list(range(1001))),
    ],
)
def test_equal_scores_form_runs_in_rank_order(logits, values, counts, ids):
    header, row = packed(logits)
    assert (row.values.tolist(), row.counts.tolist(), row.ids.tolist()) == (values, counts, ids)
    assert not np.signbit(row.values[row.values == 0]).any()
    assert (header["vocab"], header["possible"]) == (len(logits), len(ids))
    assert (header["runs"], header["known"]) == (len(values), len(ids))
    assert header["leading_ids"] == ids[: len(header["leading_ids"])]


@pytest.mark.parametrize("vocab", [1, 3, 65_536, 65_537])
def test_arrays_are_aligned_for_every_vocabulary_size(vocab):
    logits = np.random.default_rng(vocab).integers(0, 50, vocab).astype(np.float32)
    header, row = packed(logits)
    assert row.counts.sum() == vocab
    assert header["known"] == (vocab if vocab <= 65_536 else HEAD)
    order = np.lexsort((np.arange(vocab), -logits))
    assert row.ids.tolist() == order[: header["known"]].tolist()
    assert np.repeat(row.values, row.counts).tolist() == logits[order].tolist()


def test_scores_of_any_size_are_exact():
    bits = np.random.default_rng(5).integers(0, 1 << 32, 10_000, np.uint64).astype(np.uint32)
    scores = bits.view(np.float32)
    edges = [-np.finfo(np.float32).max, np.finfo(np.float32).max, 1e-45, -1e-45, 0, 1]
    scores = np.concatenate([scores[np.isfinite(scores)], np.float32(edges)])
    _, row = packed(scores)
    assert np.repeat(row.values, row.counts).tolist() == sorted(scores.tolist(), reverse=True)


def test_a_row_is_small():
    header, data = pack_row(RankedRow(large_row()))
    assert header["runs"] > 0.99 * LARGE  # nearly all scores differ
    assert len(data) < 320_000


def test_a_bfloat16_row_is_small():
    logits = (large_row().view(np.uint32) & 0xFFFF_0000).view(np.float32)
    logits.setflags(write=False)
    header, data = pack_row(RankedRow(logits))
    assert header["exact"]
    assert header["runs"] < 5_000
    assert len(data) < 30_000


@pytest.mark.parametrize(
    ("logits", "error"),
    [([1, np.nan], LogitsError), ([1, np.inf], LogitsError), ([-np.inf] * 2, NoCandidatesError)],
)
def test_a_row_without_a_distribution_is_refused(logits, error):
    with pytest.raises(error):
        packed(logits)
