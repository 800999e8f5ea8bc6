"""One column of a comparison: its settings, its text, and where it diverges from another column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from urllib.parse import urlsplit

import numpy as np

from engine.backend import ServerModel
from engine.decoder import Decoder
from engine.decoding import STEP_RECORD
from engine.errors import CancelledError, DecodingError
from engine.model import LanguageModel
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
    """Settings and the text that they generate; restarting a column creates a new object.

    Attributes in addition to those of `PlayedText`:
        number: identifies the column, even after others are removed.
        settings: settings that choose its tokens; their seed applies unless all columns share one.
        own_model: model that writes its text; None for the page's.
        has_other_tokens: whether that model has other tokens than the page's.
        error: why it could not continue; empty if it could.
        recorded: token ids from the record; empty once they have been compared with the new text.
    """

    number: int
    settings: SamplingSettings
    own_model: LanguageModel | None = None
    has_other_tokens: bool = False
    error: str = ""
    recorded: Sequence[int] = ()

    @property
    def preset(self) -> str:
        """Name of the preset that has these settings; `OWN` if there is none."""
        return preset_of(self.settings)

    @property
    def title(self) -> str:
        """Name of the preset; without one, the chain in words; and the model if it is its own."""
        title = title_of(self.settings)
        return f"{title} · {model_title(self.own_model)}" if self.own_model else title

    @property
    def in_force(self) -> SamplingSettings:
        """Settings for the next token, adapted to the model."""
        return self.text.settings if self.text else self.settings

    @property
    def token_ids(self) -> list[int]:
        """Ids of the generated tokens."""
        return [step.token_id for step in self.steps]

    @property
    def stop_reason(self) -> str | None:
        """The reason for the end of its text; None while it can continue."""
        return self.text.stop_reason if self.text else None

    @property
    def is_same(self) -> bool:
        """True if the text begins with the recorded tokens."""
        return list(self.recorded) == self.token_ids[: len(self.recorded)]

    def can_go_on(self, limit: int | None) -> bool:
        """Return True if another token may follow."""
        return not self.error and super().can_go_on(limit)

    def step(self, limit: int | None) -> None:
        """Generate a token; a failure becomes `error`."""
        try:
            super().step(limit)
        except CancelledError:
            raise
        except DecodingError as error:
            self.error = told(error)

    def rewind(self, length: int) -> None:
        """Keep at most `length` tokens; clears `error`, so that a failed step may be retried."""
        self.error = ""
        super().rewind(length)

    @property
    def metrics(self) -> TextMetrics:
        """Metrics of its text so far."""
        records = [tuple(getattr(step, name) for name in STEP_RECORD.names) for step in self.steps]
        return text_metrics(np.array(records, STEP_RECORD))


@dataclass(frozen=True)
class Divergence:
    """The step at which a column's text diverges from the first column's.

    Attributes:
        index: index of the first step at which the tokens differ.
        here, there: that step in this column, and in the first one.
    """

    index: int
    here: Step
    there: Step


def divergence(column: Column, first: Column) -> Divergence | None:
    """Find the first step at which two columns chose different tokens; None if there is none.

    If their models have other tokens, it is the first one that writes another text.
    """
    if column.has_other_tokens != first.has_other_tokens:
        return _divergence_in_text(column, first)
    for here, there in zip(column.steps, first.steps, strict=False):
        if here.token_id != there.token_id:
            return Divergence(here.index, here, there)
    return None


def _divergence_in_text(column: Column, first: Column) -> Divergence | None:
    written = [b"".join(map(_spelled, each.steps)) for each in (column, first)]
    pairs = enumerate(zip(*written, strict=False))
    place = next((at for at, (here, there) in pairs if here != there), None)
    if place is None:
        return None
    here, there = (_step_at(each, place) for each in (column, first))
    return Divergence(here.index, here, there)


def _step_at(column: Column, place: int) -> Step:
    """Return the step that wrote the byte at a place of a column's text."""
    ends = accumulate(len(_spelled(step)) for step in column.steps)
    return next(step for step, end in zip(column.steps, ends, strict=True) if end > place)


def _spelled(step: Step) -> bytes:
    return b"" if step.is_special else step.token_bytes


def preset_of(settings: SamplingSettings) -> str:
    """Return the name of the preset with these settings; `OWN` if there is none."""
    return next((name for name, one in PRESETS.items() if one.chain == settings.chain), OWN)


def title_of(settings: SamplingSettings) -> str:
    """Return the name of the settings' preset; without one, the chain in words."""
    preset = preset_of(settings)
    return summary_of(settings) if preset == OWN else say(preset)


def model_title(model: LanguageModel) -> str:
    """Return a model's name, with the kind and the host of its server if it is on one."""
    if not isinstance(model, ServerModel):
        return model.name
    return f"{model.name} ({model.dialect.kind}, {urlsplit(model.source).netloc})"


def summary_of(settings: SamplingSettings) -> str:
    """Describe a chain in a few words: ``temperature 0.7, top-p 0.9``."""
    shown = []
    for stage in settings.chain:
        value, name = stage.value, say(stage.info.in_text)
        is_number = isinstance(value, (int, float))
        shown.append(f"{name} {localised(with_minus(f'{value:g}'))}" if is_number else name)
    return ", ".join(shown) or say("no sampler on")
