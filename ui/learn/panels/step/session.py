"""The session of a step panel: that of the step page, which also counts what was done."""

from __future__ import annotations

from collections import Counter
from typing import Any

from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from ui.step.events import Event
from ui.step.session import Session


class LessonSession(Session):
    """A session as a lesson begins it.

    Attributes:
        done: how often each kind of action was done since the panel began; a press of Step counts
            each token. A refused action does not count.
    """

    def __init__(self, model: LanguageModel, prompt: str, settings: SamplingSettings) -> None:
        super().__init__(model, prompt, settings)
        self.done: Counter[str] = Counter()

    def _prepare(self) -> None:
        super()._prepare()
        self.done = Counter()

    def apply(self, event: Event, **others: Any) -> None:
        """Do what a person did, once; see `Session.apply`."""
        if self.acknowledged.covers(event.client, event.number):
            return
        super().apply(event, **others)
        if not self.error:
            self.done["play" if event.playing and event.kind == "step" else event.kind] += (
                event.count - self.left
            )
