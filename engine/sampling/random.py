"""Uniform random numbers by seed, and the token that such a number draws."""

from __future__ import annotations

import threading

import numpy as np


class UniformStream:
    """The uniform numbers of a seed: the n-th step's is the n-th of NumPy's PCG64 generator.

    Stream 0 is the draw's. The streams of stages start from the seed and their own number. Any
    thread may read them.

    A step's number stays the same, whatever was drawn, forced or rewound before. So "the same u
    under other settings" means exactly that.
    """

    def __init__(self, seed: int, *, stream: int = 0) -> None:
        self.seed = seed
        start = [seed, stream] if stream else seed
        self._generator = np.random.Generator(np.random.PCG64(start))
        self._drawn: list[float] = []
        self._lock = threading.Lock()

    def __getitem__(self, index: int) -> float:
        with self._lock:
            while len(self._drawn) <= index:
                self._drawn.extend(self._generator.random(64).tolist())
            return self._drawn[index]


class TextRandomness:
    """The uniform numbers of one text, by purpose, seed and step; nothing needs rewinding."""

    def __init__(self) -> None:
        self._streams: dict[int, UniformStream] = {}  # of the seed last requested

    def uniform(self, seed: int, index: int) -> float:
        """Return the number with which a step's token is drawn, 0 <= u < 1."""
        return self.of_stream(seed, index, 0)

    def of_stream(self, seed: int, index: int, stream: int) -> float:
        """Return a step's number in one stream, 0 <= u < 1; stream 0 is the draw's."""
        kept = self._streams.get(stream)
        if kept is None or kept.seed != seed:
            kept = self._streams[stream] = UniformStream(seed, stream=stream)
        return kept[index]


def draw(probs: np.ndarray, u: float) -> int:
    """Return the id of the token at `u` on the cumulative sum of `probs`, most likely first.

    Equal probabilities are ordered by id, lower first. This is the definition; `Distribution.draw`
    gives the same token without sorting the whole vocabulary.

    Args:
        probs: (vocab,) probabilities; their sum is treated as 1.
        u: uniform number, 0 <= u < 1.
    """
    order = np.lexsort((np.arange(probs.size), -probs))
    order = order[probs[order] > 0]
    cumulative = np.cumsum(probs[order], dtype=np.float64)
    place = int(np.searchsorted(cumulative, u * cumulative[-1], side="right"))
    return int(order[min(place, order.size - 1)])
