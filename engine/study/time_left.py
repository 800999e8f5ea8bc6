"""How long a batch of texts will take yet, from its own passes so far.

A forward pass over many rows takes little longer than one over few, so "tokens left at the tokens
per second so far" promises too little once most texts of a part have ended and a few run on alone.
And texts that end early end first, so their mean length says too little as well. Hence two
estimates: what a pass over k rows takes, and at which length texts end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from engine.decoding.batch import Progress

_HALF_LIFE = 64  # passes after which a measured time counts half: other programs come and go


class TimeLeft:
    """An estimate for one `Batch`, made from the progress of its runs.

    Texts are taken to end as those before them did: the chance to end at a length is the share of
    the texts of that length that ended there (Kaplan and Meier 1958), so that texts still in work
    count as far as they have come. At lengths that none has reached yet none is taken to end.

    Args:
        texts: how many the batch has.
        limit: most tokens of a text.
        prompts: texts of different prompts never share a pass; each prompt has as many.
    """

    def __init__(self, texts: int, limit: int, prompts: int = 1) -> None:
        self._texts = texts
        self._limit = limit
        self._per_prompt = max(1, texts // prompts)
        self._at_risk = np.zeros(limit)  # texts that came to have one token more than the place
        self._ended = np.zeros(limit)  # those of them that ended with it
        self._done = 0
        self._last: Progress | None = None
        self._in_work = 0  # rows of the next pass, 0 where another part is to begin
        self._place = 0  # tokens that those rows have
        self._sums = np.zeros(5)  # of 1, rows, rows², seconds, rows x seconds; old passes fade
        self._begun = np.zeros(2)  # parts begun, seconds that their first tokens took

    def watched(self, run: Iterable[Progress]) -> Iterator[Progress]:
        """One run of the batch, the first or one that goes on after a cancel, as it is."""
        for place, progress in enumerate(run):
            if place:
                self._add(progress)
            else:
                self._begin(progress)
            yield progress

    def _begin(self, progress: Progress) -> None:
        self._last = progress
        self._done = progress.rows_done
        self._in_work = self._place = 0

    def _add(self, progress: Progress) -> None:
        """Another token of the rows in work."""
        last, self._last = self._last, progress
        rows, ended = progress.tokens_done - last.tokens_done, progress.rows_done - last.rows_done
        took = progress.seconds - last.seconds
        self._done = progress.rows_done
        if rows <= 0:
            # Texts failed, or tokens drawn before a cancel are read again: one place for each.
            self._place = 0 if ended else 1 if self._in_work else self._place + 1
            self._in_work = 0
            return
        if self._place >= self._limit:
            self._place = 0
        self._at_risk[self._place] += rows
        self._ended[self._place] += ended
        if self._place:
            fade = 0.5 ** (1 / _HALF_LIFE)
            self._sums = fade * self._sums + (1, rows, rows**2, took, rows * took)
        else:  # no pass, but for the prompt's own
            self._begun += (1, took)
        self._in_work = rows - ended
        self._place = self._place + 1 if self._in_work else 0

    def seconds(self, width: int) -> float | None:
        """Estimate of the rest in seconds; None while there is nothing to go by.

        Args:
            width: most rows in one pass, at least 1; as `Batch.rows_per_pass` says once it runs.
        """
        waiting = self._texts - self._done - self._in_work
        if not waiting and not self._in_work:
            return 0.0
        if not self._begun[0] or (self._limit > 1 and not self._sums[0]):
            return None
        alive = self._alive()
        passes = rows = 0.0
        if self._in_work and self._place < self._limit:
            rest = alive[self._place :] / alive[self._place]
            passes, rows = _part(rest, self._in_work)
        parts = self._parts(waiting, width)
        for size, number in parts.items():
            more_passes, more_rows = _part(alive[1:], size)
            passes, rows = passes + number * more_passes, rows + number * more_rows
        fixed, per_row = self._cost()
        begun, took = self._begun
        to_begin = sum(parts.values()) * (took / begun if begun else 0.0)
        return passes * fixed + rows * per_row + to_begin

    def _alive(self) -> np.ndarray:
        """(limit,) chance of a text to come to have more tokens than the place."""
        reached = self._at_risk > 0
        ends = np.divide(self._ended, self._at_risk, out=np.zeros_like(self._ended), where=reached)
        return np.concatenate([[1.0], np.cumprod(1 - ends)[:-1]])

    def _parts(self, waiting: int, width: int) -> dict[int, int]:
        """Sizes of the parts to come, and how many there are of each."""
        prompts, rest = divmod(waiting, self._per_prompt)
        parts: dict[int, int] = {}
        for texts, count in ((self._per_prompt, prompts), (rest, 1)):
            full, last = divmod(texts, width)
            for size, number in ((width, full * count), (last, count if last else 0)):
                if number:
                    parts[size] = parts.get(size, 0) + number
        return parts

    def _cost(self) -> tuple[float, float]:
        """Seconds of a pass: a fixed share, and one for each row; a least-squares line."""
        count, rows, squares, seconds, products = self._sums
        if not count:
            return 0.0, 0.0
        spread = squares - rows**2 / count
        slope = (products - rows * seconds / count) / spread if spread > 1e-6 * squares else 0.0
        slope = min(max(0.0, slope), seconds / rows)  # neither share is below nothing
        return (seconds - slope * rows) / count, slope


def _part(alive: np.ndarray, rows: int) -> tuple[float, float]:
    """Passes until the last of some rows has ended, and rows in all of these passes together.

    Args:
        alive: (passes,) chance of a row to be in each.
        rows: how many begin.
    """
    return float((1 - (1 - alive) ** rows).sum()), float(rows * alive.sum())
