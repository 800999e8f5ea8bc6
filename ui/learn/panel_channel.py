"""The channel of a step panel: the step page's channel, with the session of the panel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ui.learn.course import course
from ui.learn.learning import live_of, page_name
from ui.learn.panels.step.hands import LessonSession
from ui.learn.panels.step.panel import StepPanel
from ui.server.websocket import Connection, Refused
from ui.step.channel import StepChannel
from ui.visits.visits import Visit
from ui.words.language import say


def panel_channel(connection: Connection, first: dict[str, Any]) -> StepChannel:
    """Open the channel of the panel that a first frame names; raises `Refused` if it is unknown."""
    lesson_key, _, step_key = str(first.get("panel")).partition("/")
    lesson = course().lesson(lesson_key)
    step = lesson.step(step_key) if lesson else None
    if step is None or not isinstance(step.panel, StepPanel):
        raise Refused(say("This lesson has changed since the page was loaded; reload the page."))

    def source(visit: Visit, *_: Callable) -> LessonSession:
        return live_of(visit, lesson, step)

    return StepChannel(connection, first, page_name(lesson, step), source)
