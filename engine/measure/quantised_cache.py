"""What a quantised cache does to the distribution: one text read with the exact cache and others.

All caches read the same tokens, one at a time, in the rows of one batch (see
`engine.model.quantised`). At every position their distributions are compared over the whole
vocabulary. Where the model writes the text itself, the exact cache chooses each token. Each other
cache then says what it would have chosen from the same logits settings and the same random number.
Until the first difference it has read what it would have written. So the place where free-running
texts part is exact as well.

How much float rounding alone changes is measured beside it: the exact cache is also read in passes
of its own, in which the model adds in another order.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.decoding import inputs
from engine.decoding.shaping import shaped
from engine.decoding.token_sequence import TokenSequence
from engine.errors import CancelledError, ContextFullError, DecodingError, LogitsError
from engine.measure.divergence import kl_bits, log_probabilities
from engine.measure.measurement import Measurement
from engine.measure.quantised_result import Along, Point, QuantisedResult
from engine.model import LanguageModel
from engine.model.quantised import (
    BITS,
    PER_CHANNEL,
    PER_TOKEN,
    Quantisation,
    compared_cache,
    head_dims,
    row_bytes,
    why_not,
)
from engine.runner.runner import Runner
from engine.runner.scheduler import SCHEDULER, Kind
from engine.sampling import SamplingSettings

GROUPS = (16, 32, 64)  # that are compared, where they divide the heads
AXES = ((PER_CHANNEL, PER_TOKEN), (PER_TOKEN, PER_TOKEN), (PER_CHANNEL, PER_CHANNEL))
GREEDY = SamplingSettings(temperature=0)
REMEDY = "compare fewer settings or read fewer positions"


@dataclass(frozen=True)
class ReadText:
    """What is read.

    Attributes:
        prompt_ids: token ids that are given.
        positions: tokens that are read; the model writes those beyond the prompt.
        settings: how it chooses them; the end of the text is held off until all are read.
    """

    prompt_ids: tuple[int, ...]
    positions: int
    settings: SamplingSettings = GREEDY


class QuantisedMeasurement(Measurement[QuantisedResult]):
    """One text with the exact cache, and with quantised ones of 8, 4 and 2 bits.

    Args:
        model: whose cache.
        text: what is read.
        how: group, axes and residual; its bits do not matter.
        compares: whether other groups and axes read the text after it as well.

    Raises:
        DecodingError: the model's cache cannot be quantised, the text does not fit the context, or
            the settings do not fit the model or the text.
    """

    noun = "position"

    def __init__(
        self, model: LanguageModel, text: ReadText, how: Quantisation, compares: bool = True
    ) -> None:
        refused = why_not(model)
        if refused:
            raise DecodingError(refused)
        ids = inputs.prompt_ids(model, text.prompt_ids[: text.positions])
        settings = inputs.checked_settings(text.settings, model)
        self._text = replace(
            text,
            prompt_ids=tuple(ids),
            settings=settings.replace(min_new_tokens=text.positions),
        )
        _check_context(model, text.positions)
        kinds = by_bits(how)
        for kind in kinds:
            kind.check_head_dims(head_dims(model))
            kind.check_length(text.positions)
        more = other_settings(model, how, text.positions) if compares else []
        self._model = model
        self._kinds = [kinds, *([more] if more else [])]
        costs = [2.0 + len(kinds) for kinds in self._kinds for _ in range(text.positions)]
        super().__init__(costs)
        self._readings: list[_Reading] = []

    @property
    def settings_compared(self) -> int:
        """Settings that read the text, all passes together."""
        return sum(map(len, self._kinds))

    def _measure(self, part: int) -> None:
        number, position = divmod(part, self._text.positions)
        if not position:
            text = self._text
            if number:  # the text is there: nobody writes
                text = replace(text, prompt_ids=tuple(self._readings[0].token_ids))
            reading = _Reading(self._model, text, self._kinds[number], measures_rounding=not number)
            self._readings[number:] = [reading]
        try:
            self._readings[number].step()
        except CancelledError:  # before the pass
            raise
        except Exception:
            self.done = number * self._text.positions  # its caches may be half updated
            raise

    @property
    def result(self) -> QuantisedResult | None:
        """What there is so far; other settings once they have read the whole text."""
        if not self._readings or not self._readings[0].length:
            return None
        first = self._readings[0]
        label = self._model.vocabulary.label
        length = first.length
        points = [
            Point.of(along)
            for reading in self._readings
            for along in reading.along(length)
            if reading is first or reading.length == self._text.positions
        ]
        return QuantisedResult(
            read=tuple(map(label, first.token_ids[:length])),
            given=min(length, len(self._text.prompt_ids)),
            is_greedy=self._text.settings.is_greedy,
            top=tuple(map(label, first.top[0][:length])),
            exact_bytes=first.bytes[0],
            rounding_kl_bits=tuple(first.rounding[:length]),
            along=tuple(first.along(length)),
            points=tuple(points),
        )


def by_bits(how: Quantisation) -> list[Quantisation]:
    """The same with every number of bits."""
    return [replace(how, bits=bits) for bits in BITS]


def other_settings(model: LanguageModel, how: Quantisation, positions: int) -> list[Quantisation]:
    """Every number of bits with other groups and axes, where they fit the model and the text."""
    found = []
    for (keys, values), group, bits in itertools.product(AXES, GROUPS, BITS):
        kind = Quantisation(bits, group, keys, values, how.residual)
        fits = all(dim % group == 0 for dim in head_dims(model))
        if fits and kind.exact_positions < positions and kind != replace(how, bits=bits):
            found.append(kind)
    return found


def _check_context(model: LanguageModel, positions: int) -> None:
    length = model.context_length
    if length is not None and positions > length:
        raise ContextFullError(
            f"{positions:,} positions were asked for, and the context of {model.name} takes "
            f"{length:,}; read at most {length:,}."
        )


class _Reading:
    """A text as it is read by one batch.

    Attributes:
        token_ids: tokens read, and the next one.
        top: of every row, the likeliest next token at each position.
        bytes: of every row's cache.
        rounding: KL between the exact cache here and in passes of its own, at each position.
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
        self._given = len(text.prompt_ids)
        self._settings = text.settings
        self._sequence = TokenSequence(model, text.prompt_ids)
        self._cache = compared_cache(model, kinds)
        rows = 1 + len(self._kinds)
        self._alone = Runner(model, REMEDY) if measures_rounding else None
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
        """Tokens read so far, and those that are known already."""
        return self._sequence.ids.tolist()

    def step(self) -> None:
        """Read one more token with every cache, and compare what they make of it."""
        token_id = int(self._sequence.ids[self.length])
        if self._alone is not None and self._alone.positions == self.length:
            self._alone_logits = self._alone.read_rows([[token_id]])[0]
        rows = self._logits(token_id)
        exact = rows[0]
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
            self._differences[place].append(float(np.abs(rows[place + 1] - exact).max()))
        if self.length + 1 == self._sequence.ids.size:
            self._write(rows)
        self.length += 1

    def _logits(self, token_id: int) -> np.ndarray:
        """(rows, vocab) float32 after one more token."""
        rows = 1 + len(self._kinds)
        model = self._model
        SCHEDULER.give_way()
        with (
            model.naming_memory(f"with {rows:,} caches at once", REMEDY),
            SCHEDULER.turn(Kind.BATCH),
        ):
            logits, _ = model.forward_rows([[token_id]] * rows, self._cache, self.length)
        bad = np.flatnonzero(~np.isfinite(logits.max(axis=1)))
        if bad.size:
            raise LogitsError(self._bad(int(bad[0])))
        return logits

    def _bad(self, row: int) -> str:
        if not row:
            return (
                f"{self._model.name} returned logits that are not finite after {self.length + 1:,} "
                "tokens; choose another model or dtype."
            )
        return (
            f"With {self._kinds[row - 1].name}, {self._model.name} returned logits that are not "
            "finite: its keys or values are beyond what float16 minima hold. Choose another model."
        )

    def _write(self, rows: np.ndarray) -> None:
        """Append what the exact cache chooses, and note who would have chosen another token."""
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
        """Figures of every quantised row over the first so many positions."""
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
