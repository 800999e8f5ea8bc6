"""The session of a step panel: that of the step page, which also counts what was done."""

from __future__ import annotations

from collections import Counter
from typing import Any

from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from ui.step.events import Event
from ui.step.session import Session

BY_ITSELF = ("settings", "sync")  # actions that the page also sends without a person


class LessonSession(Session):
    """A session as a lesson begins it.

    Attributes:
        done: how often each kind of action was done since the panel began; a press of Step counts
            each token. A refused action does not count.
        last_action: the newest of them but settings, which the page also sends by itself; empty
            before the first.
    """

    def __init__(self, model: LanguageModel, prompt: str, settings: SamplingSettings) -> None:
        super().__init__(model, prompt, settings)
        self.done: Counter[str] = Counter()
        self.last_action = ""

    def _prepare(self) -> None:
        super()._prepare()
        self.done = Counter()
        self.last_action = ""

    def apply(self, event: Event, **others: Any) -> None:
        """Do what a person did, once; see `Session.apply`."""
        if self.acknowledged.covers(event.client, event.number):
            return
        super().apply(event, **others)
        if not self.error:
            kind = "play" if event.playing and event.kind == "step" else event.kind
            self.done[kind] += event.count - self.left
            if kind not in BY_ITSELF:
                self.last_action = kind
