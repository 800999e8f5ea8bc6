"""The random numbers that draws are made of."""

from __future__ import annotations

import numpy as np


class UniformStream:
    """The uniform numbers of a seed, by step: the n-th of NumPy's PCG64 generator.

    Streams beyond the first, such as XTC's, begin from the seed and their own number.

    A number belongs to its step, whatever was drawn, forced or rewound before; so "the same u under
    other settings" means what it says.
    """

    def __init__(self, seed: int, *, stream: int = 0) -> None:
        self.seed = seed
        start = [seed, stream] if stream else seed
        self._generator = np.random.Generator(np.random.PCG64(start))
        self._drawn: list[float] = []

    def __getitem__(self, index: int) -> float:
        while len(self._drawn) <= index:
            self._drawn.extend(self._generator.random(64).tolist())
        return self._drawn[index]
