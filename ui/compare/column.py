"""One column of a comparison: settings, their text, and its divergence from another column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.decoder import Decoder
from engine.decoding import STEP_RECORD
from engine.errors import CancelledError, DecodingError
from engine.sampling import PRESETS, SamplingSettings
from engine.study import TextMetrics, text_metrics
from engine.trace import Step
from ui.playing import PlayedText
from ui.words.errors import told
from ui.words.labels import with_minus
from ui.words.language import localised, marked, say

OWN = marked("Custom")


@dataclass(eq=False)
class Column(PlayedText[Decoder]):
    """One setting and its text; a column that restarts is a new value.

    Attributes, besides those of `PlayedText`:
        number: identifies the column, even after others are removed.
        settings: settings that choose its tokens; their seed counts unless all columns share one.
        error: why it could not continue, empty if it could.
        recorded: tokens that its text had in the record, until it has them again.
    """

    number: int
    settings: SamplingSettings
    error: str = ""
    recorded: Sequence[int] = ()

    @property
    def preset(self) -> str:
        """The preset of these settings, `OWN` if none."""
        return preset_of(self.settings)

    @property
    def title(self) -> str:
        """The preset's name, otherwise the chain in words."""
        return title_of(self.settings)

    @property
    def in_force(self) -> SamplingSettings:
        """The settings of the next token, with the model's additional needs (`fitted`)."""
        return self.text.settings if self.text else self.settings

    @property
    def token_ids(self) -> list[int]:
        """Ids of the generated tokens."""
        return [step.token_id for step in self.steps]

    @property
    def stop_reason(self) -> str | None:
        """The reason why its text has ended; None while it can continue."""
        return self.text.stop_reason if self.text else None

    @property
    def is_same(self) -> bool:
        """True if the text has all recorded tokens."""
        return list(self.recorded) == self.token_ids[: len(self.recorded)]

    def can_go_on(self, limit: int | None) -> bool:
        """Return True if one more token may follow."""
        return not self.error and super().can_go_on(limit)

    def step(self, limit: int | None) -> None:
        """Take a step; a failure becomes `error`."""
        try:
            super().step(limit)
        except CancelledError:
            raise
        except DecodingError as error:
            self.error = told(error)

    def rewind(self, length: int) -> None:
        """Keep at most `length` tokens; a failed step may be tried again."""
        self.error = ""
        super().rewind(length)

    @property
    def metrics(self) -> TextMetrics:
        """Metrics of its text so far."""
        records = [tuple(getattr(step, name) for name in STEP_RECORD.names) for step in self.steps]
        return text_metrics(np.array(records, STEP_RECORD))


@dataclass(frozen=True)
class Divergence:
    """The step at which a column's text diverges from that of the first column.

    Attributes:
        index: the first step at which the tokens differ.
        here, there: that step in this column, and in the first one.
    """

    index: int
    here: Step
    there: Step


def divergence(column: Column, first: Column) -> Divergence | None:
    """Find the first step at which two columns took different tokens; None if there is none yet."""
    for here, there in zip(column.steps, first.steps, strict=False):
        if here.token_id != there.token_id:
            return Divergence(here.index, here, there)
    return None


def preset_of(settings: SamplingSettings) -> str:
    """Return the preset of some settings, `OWN` if none."""
    return next((name for name, one in PRESETS.items() if one.chain == settings.chain), OWN)


def title_of(settings: SamplingSettings) -> str:
    """Return the preset's name, otherwise the chain in words."""
    preset = preset_of(settings)
    return summary_of(settings) if preset == OWN else say(preset)


def summary_of(settings: SamplingSettings) -> str:
    """Describe a chain in a few words: ``temperature 0.7, top-p 0.9``."""
    shown = []
    for stage in settings.chain:
        value, name = stage.value, say(stage.info.in_text)
        is_number = isinstance(value, (int, float))
        shown.append(f"{name} {localised(with_minus(f'{value:g}'))}" if is_number else name)
    return ", ".join(shown) or say("no sampler on")
