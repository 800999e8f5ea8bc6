"""One text read by one batch: the exact cache in the first row, quantised caches below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.decoding.shaping import shaped
from engine.decoding.token_sequence import TokenSequence
from engine.errors import LogitsError, msg
from engine.measure.quantised.result import Along
from engine.model import LanguageModel
from engine.model.quantised import Quantisation, compared_cache, row_bytes
from engine.runner.runner import open_sequence
from engine.runner.turns import give_way, timed_rows
from engine.sampling import SamplingSettings
from engine.sampling.divergence import kl_bits, log_probabilities

GREEDY = SamplingSettings(temperature=0)
REMEDY = msg("compare fewer settings or read fewer positions")


@dataclass(frozen=True)
class ReadText:
    """A text to read.

    Attributes:
        prompt_ids: given token ids.
        positions: number of tokens to read; the model writes those beyond the prompt.
        settings: how the model chooses them; the text may not end until all are read.
    """

    prompt_ids: tuple[int, ...]
    positions: int
    settings: SamplingSettings = GREEDY


class ComparedReading:
    """A text read by one batch, with a different cache in each row.

    Attributes:
        token_ids: tokens read, and the next one.
        top: likeliest next token of every row at each position.
        bytes: bytes of every row's cache.
        rounding: KL divergence, in bits, between the exact cache here and in separate passes, at
            each position.
    """

    def __init__(
        self,
        model: LanguageModel,
        text: ReadText,
        kinds: Sequence[Quantisation],
        *,
        measures_rounding: bool,
    ) -> None:
        self._model = model
        self._kinds = list(kinds)
        self._positions = text.positions
        self._settings = text.settings
        self._sequence = TokenSequence(model, text.prompt_ids)
        self._cache = compared_cache(model, kinds)
        rows = 1 + len(self._kinds)
        self._alone = open_sequence(model, REMEDY) if measures_rounding else None
        self._alone_logits: np.ndarray | None = None  # (1, vocab) of the position to be read next
        self.length = 0
        self.bytes = [0] * rows
        self.top: list[list[int]] = [[] for _ in range(rows)]
        self.rounding: list[float] = []
        self._kl: list[list[float]] = [[] for _ in kinds]
        self._differences: list[list[float]] = [[] for _ in kinds]
        self._parted: list[tuple[int, int, int] | None] = [None for _ in kinds]

    @property
    def token_ids(self) -> list[int]:
        """All known tokens of the text, those to be read included."""
        return self._sequence.ids.tolist()

    def step(self) -> None:
        """Read one more token with every cache, and compare the results."""
        token_id = int(self._sequence.ids[self.length])
        if self._alone is not None and self._alone.positions == self.length:
            self._alone_logits = self._alone.read_rows([[token_id]])[0]
        rows = self._logits(token_id)
        exact, scored = rows[0], np.isfinite(rows[0])  # some models rule tokens out
        log_probs = log_probabilities(rows)
        kl = kl_bits(log_probs[0], log_probs[1:])
        if self._alone is not None:
            alone = kl_bits(log_probs[0], log_probabilities(self._alone_logits))
            self.rounding.append(float(alone[0]))
        self.bytes = row_bytes(self._cache)
        for place, token_id in enumerate(rows.argmax(axis=1).tolist()):
            self.top[place].append(token_id)
        for place in range(len(self._kinds)):
            self._kl[place].append(float(kl[place]))
            self._differences[place].append(float(np.abs(rows[place + 1] - exact)[scored].max()))
        if self.length + 1 == self._sequence.ids.size < self._positions:
            self._write(rows)
        self.length += 1

    def _logits(self, token_id: int) -> np.ndarray:
        """Compute the logits after one more token: (rows, vocab) float32."""
        rows = 1 + len(self._kinds)
        at = msg("with {rows:,} caches at once", rows)
        give_way()
        logits, _ = timed_rows(self._model, [token_id] * rows, self._cache, self.length, at, REMEDY)
        bad = np.flatnonzero(~np.isfinite(logits.max(axis=1)))
        if bad.size:
            raise LogitsError(self._bad(int(bad[0])))
        return logits

    def _bad(self, row: int) -> str:
        if not row:
            return msg(
                "{name} returned logits that are not finite after {length:,} "
                "tokens; choose another model or dtype.",
                (self._model.name, self.length + 1),
            )
        return msg(
            "With {name}, {name2} returned logits that are not finite: its keys or values "
            "exceed the range of float16 minima. Choose another model.",
            (self._kinds[row - 1].name, self._model.name),
        )

    def _write(self, rows: np.ndarray) -> None:
        """Append the exact cache's choice, and note which caches would have chosen differently."""
        sequence, settings = self._sequence, self._settings
        context = sequence.context(sequence.length, settings.seed, {})
        chosen = []
        for place, row in enumerate(rows):
            if place and self._parted[place - 1] is not None:
                continue
            token_id = sequence.draw(shaped(row, settings, context), settings)[1].token_id
            chosen.append(token_id)
            if place and token_id != chosen[0]:
                self._parted[place - 1] = (sequence.length, chosen[0], token_id)
        sequence.append(chosen[0], sequence.addition(chosen[0], (), None).piece)

    def along(self, length: int) -> list[Along]:
        """Return the figures of every quantised row over the first `length` positions."""
        label = self._model.vocabulary.label
        found = []
        for place, kind in enumerate(self._kinds):
            parted = self._parted[place]
            found.append(
                Along(
                    bits=kind.bits,
                    group=kind.group,
                    keys=kind.keys,
                    values=kind.values,
                    residual=kind.residual,
                    kl_bits=tuple(self._kl[place][:length]),
                    logit_difference=tuple(self._differences[place][:length]),
                    top=tuple(map(label, self.top[place + 1][:length])),
                    is_changed=tuple(
                        own != exact
                        for own, exact in zip(
                            self.top[place + 1][:length], self.top[0][:length], strict=True
                        )
                    ),
                    bytes=self.bytes[place + 1],
                    parted_after=None if parted is None else parted[0],
                    parted_tokens=() if parted is None else tuple(map(label, parted[1:])),
                )
            )
        return found
