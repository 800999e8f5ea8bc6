"""The measurement of quantised caches: the chosen group and axes first, then others."""

from __future__ import annotations

import itertools
from dataclasses import replace

from engine.decoding import inputs
from engine.decoding.prompt import encode_prompt
from engine.errors import CancelledError, ContextFullError, DecodingError
from engine.measure.measurement import Measurement
from engine.measure.pace import Pace
from engine.measure.quantised.reading import ComparedReading, ReadText
from engine.measure.quantised.result import QuantisedPoint, QuantisedResult
from engine.model import LanguageModel
from engine.model.quantised import (
    BITS,
    PER_CHANNEL,
    PER_TOKEN,
    Quantisation,
    head_dims,
    why_not,
)

GROUPS = (16, 32, 64)  # to compare, if they divide the heads
# The axes of KIVI, and those of transformers' own quantised caches.
AXES = ((PER_CHANNEL, PER_TOKEN), (PER_TOKEN, PER_TOKEN))

# Approximate time to quantise and restore a layer of a row: about 50 small operations.
LAYER_SECONDS = 0.25e-3


class QuantisedMeasurement(Measurement[QuantisedResult]):
    """One text read with the exact cache, and with quantised caches of 8, 4 and 2 bits.

    Args:
        model: the model that owns the cache.
        text: the text to read.
        how: group, axes and residual; its bits are ignored.
        compares: whether the text is then also read with other groups and axes.

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
        ids = encode_prompt(model, text.prompt_ids[: text.positions])
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
        self._readings: list[ComparedReading] = []

    @staticmethod
    def estimated_seconds(
        model: LanguageModel, positions: int, how: Quantisation, compares: bool, pace: Pace
    ) -> float:
        """Estimate the duration of a measurement: its passes, and the work of quantising.

        Raises:
            DecodingError: the model's cache cannot be quantised.
        """
        formula = model.cache_formula
        if formula is None:
            raise DecodingError(why_not(model))
        readings = [by_bits(how), *([other_settings(model, how, positions)] if compares else [])]
        passes = positions * (len(readings) + 1)
        layers = positions * sum(map(len, readings)) * len(formula.layers)
        return pace.step_seconds(passes) + LAYER_SECONDS * layers

    @property
    def settings_compared(self) -> int:
        """Number of settings compared, over all readings of the text."""
        return sum(map(len, self._kinds))

    def _measure(self, part: int) -> None:
        number, position = divmod(part, self._text.positions)
        if not position:
            text = self._text
            if number:  # the text is already written
                text = replace(text, prompt_ids=tuple(self._readings[0].token_ids))
            reading = ComparedReading(
                self._model, text, self._kinds[number], measures_rounding=not number
            )
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
        """The result so far; other settings appear once they have read the whole text."""
        if not self._readings or not self._readings[0].length:
            return None
        first = self._readings[0]
        label = self._model.vocabulary.label
        length = first.length
        points = [
            QuantisedPoint.of(along)
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
    """Return the same quantisation with each supported number of bits."""
    return [replace(how, bits=bits) for bits in BITS]


def other_settings(model: LanguageModel, how: Quantisation, positions: int) -> list[Quantisation]:
    """Return every other choice of group and axes that fits, with each number of bits."""
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
            "{positions:,} positions were requested, but the context of {name} has only "
            "{length:,}; read at most {length2:,}.",
            (positions, model.name, length, length),
        )
