"""Recitation in generated texts: n-grams of tokens that also occur in the training texts.

Every n-gram of all training tokens is looked up, by a 64-bit polynomial hash of random token values
(Karp and Rabin 1987). Two different n-grams share a hash with a probability near 2^-64. So with
10^4 n-grams and 4 x 10^7 training tokens, one false match is expected in tens of millions of
evaluations.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

N = 8  # tokens: about six words, so long that common phrases seldom reach it
_SIEVE_BITS = 20  # of the hash, checked first: nearly all training n-grams fail there


@dataclass(frozen=True)
class Recitation:
    """Overlap of a set of texts with the training texts.

    Attributes:
        grams: number of n-grams in the texts.
        recited: number of these that occur in training.
        longest: length in tokens of the longest run that occurs in training.
        longest_run: its token ids.
    """

    grams: int
    recited: int
    longest: int
    longest_run: tuple[int, ...]

    @property
    def share(self) -> float:
        """Share of recited n-grams, 0 to 1."""
        return self.recited / self.grams if self.grams else 0.0


class NGramIndex:
    """The training texts, hashed for look-ups of n-grams of any length.

    Args:
        shards: (tokens,) arrays; a token that the queried texts lack separates the documents.
        seed: seed of the hash.

    Holds 8 bytes per training token, and 8 more per token of the longest shard.
    """

    def __init__(self, shards: Sequence[np.ndarray], seed: int = 0) -> None:
        draws = np.random.default_rng(seed)
        self._values = draws.integers(2**64, size=2**16, dtype=np.uint64)
        base = int(draws.integers(2**63)) | 1  # odd, so it has an inverse modulo 2^64
        self._powers = _powers(base, max(map(len, shards), default=0))
        self._inverses = _powers(pow(base, -1, 2**64), len(self._powers) - 1)
        self._sums = [self._prefix_sums(shard) for shard in shards]

    def _prefix_sums(self, ids: np.ndarray) -> np.ndarray:
        terms = self._values[ids] * self._powers[: len(ids)]
        return np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])

    def _hashes(self, sums: np.ndarray, n: int) -> np.ndarray:
        """Hash all n-grams of a text, from its prefix sums; none if the text is shorter."""
        count = max(len(sums) - n, 0)
        return (sums[n:] - sums[:count]) * self._inverses[:count]

    def occurring(self, ids: Sequence[int], n: int) -> np.ndarray:
        """Tell which n-grams of a text occur in training, (length - n + 1,) bool.

        Raises:
            ValueError: n is below 1.
        """
        return self.occurring_in([ids], n)[0]

    def occurring_in(self, texts: Sequence[Sequence[int]], n: int) -> list[np.ndarray]:
        """Compute `occurring` for several texts, in one pass over the training texts."""
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n}")
        hashes = [self._hashes(self._sums_of(text), n) for text in texts]
        wanted = np.unique(np.concatenate([*hashes, np.zeros(0, np.uint64)]))
        if not len(wanted):
            return [np.zeros(0, bool) for _ in texts]
        sieve = np.zeros(2**_SIEVE_BITS, bool)
        sieve[_leading(wanted)] = True
        found = np.zeros(len(wanted), bool)
        for sums in self._sums:
            trained = self._hashes(sums, n)
            trained = trained[sieve[_leading(trained)]]
            places = np.searchsorted(wanted, trained)
            places = np.minimum(places, len(wanted) - 1)
            found[places[wanted[places] == trained]] = True
        return [found[np.searchsorted(wanted, row)] for row in hashes]

    def _sums_of(self, text: Sequence[int]) -> np.ndarray:
        ids = np.asarray(text, dtype=np.int64)
        if len(ids) > len(self._powers) - 1:
            raise ValueError(f"a text must be no longer than a shard, got {len(ids)} tokens")
        return self._prefix_sums(ids)


def _powers(base: int, highest: int) -> np.ndarray:
    """Compute base^0 to base^highest modulo 2^64."""
    factors = np.full(highest + 1, base, dtype=np.uint64)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint64)


def _leading(hashes: np.ndarray) -> np.ndarray:
    return hashes >> np.uint64(64 - _SIEVE_BITS)


def recitation(index: NGramIndex, texts: Sequence[Sequence[int]], n: int = N) -> Recitation:
    """Measure the share of recited n-grams, and the longest recited run of any length."""
    known = index.occurring_in(texts, n)
    run = longest_run(index, texts)
    return Recitation(sum(map(len, known)), int(sum(row.sum() for row in known)), len(run), run)


def longest_run(index: NGramIndex, texts: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Find the longest run of tokens of any text that occurs in training; the first among equals.

    If a run occurs, so do its parts, so bisection finds the length.
    """
    best: tuple[int, ...] = ()
    low, high = 0, max(map(len, texts), default=0)
    while low < high:
        length = (low + high + 1) // 2
        known = index.occurring_in(texts, length)
        number = next((i for i, row in enumerate(known) if row.any()), None)
        if number is None:
            high = length - 1
        else:
            low = length
            start = int(known[number].argmax())
            best = tuple(int(i) for i in texts[number][start : start + length])
    return best
