"""The step page as a panel of a lesson."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, ClassVar, NoReturn

from msgspec import field

from engine.model import LanguageModel
from engine.sampling import STAGES, SamplingSettings
from ui.components.apps import mount_app
from ui.learn.functions import Call, Functions
from ui.learn.panels.panel import LoadModel, Panel
from ui.learn.panels.step.hands import ACTIONS, Hands, LessonSession
from ui.learn.panels.step.measures import MEASURES
from ui.learn.source import check_known, refusing
from ui.server.websocket import live_address
from ui.step.for_others import open_in_step_page
from ui.step.record import TextRecord
from ui.texts.settings import FIRST, is_one_number, parse_settings, plain_settings
from ui.texts.texts import Beginning
from ui.visits.visits import Visit

LINE = "line"  # the part of the step component that shows errors; it is always shown
PARTS = [
    "prompt",
    "transport",
    "settings",
    "strip",
    "loop",
    "table",
    "search",
    "picture",
    "costs",
    "samplers",
]


class StepPanel(Panel[LessonSession], kw_only=True, tag="step"):
    """A text on the step page.

    Attributes:
        prompt: the prompt to continue from.
        values: values of the settings, by name.
        shown: the samplers that are shown, in the order of the chain; None for the usual ones.
        parts: the parts that are shown, out of `PARTS`.
        max_tokens: stop rule of Play and Run to end.
        stop_strings: the other stop rule.
        generated: tokens that the text has when the panel begins.
    """

    prompt: str
    values: dict[str, Any] = field(name="settings", default_factory=dict)
    shown: tuple[str, ...] | None = field(name="samplers", default=None)
    parts: tuple[str, ...] = ("transport", "strip", "table")
    max_tokens: int = 64
    stop_strings: tuple[str, ...] = ()
    generated: int = 0

    measures: ClassVar[Functions] = MEASURES
    actions: ClassVar[Functions] = ACTIONS

    @property
    def page(self) -> str:
        return "Step"

    @classmethod
    def known_parts(cls) -> Iterable[str]:
        return PARTS

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.chain  # refuses wrong settings at once

    @cached_property
    def chain(self) -> tuple[SamplingSettings, tuple[str, ...]]:
        """The settings of the draws, seed included, and the samplers shown, in order."""
        named = [name for name in self.values if name != "seed"]
        first = [*FIRST, *named] if self.shown is None else [*self.shown, *named]
        order = list(dict.fromkeys(first))
        check_known("settings" if self.shown is None else "samplers", order, STAGES)
        if self.shown is None:
            order.sort(key=list(STAGES).index)
        off = {name: STAGES[name].off for name in order if is_one_number(name)}
        with refusing("settings"):
            return parse_settings({"order": order, **off, **self.values})

    def begun(self, model: LanguageModel) -> LessonSession:
        settings, order = self.chain
        session = LessonSession(model, self.prompt, settings)
        session.order, session.max_tokens = order, self.max_tokens
        session.decoder.stop_strings = self.stop_strings
        with session.lock:
            self._take_first_steps(session)
        return session

    def restored(self, record: dict[str, Any], load: LoadModel) -> LessonSession:
        text = TextRecord.parse(record.get("text"))
        return LessonSession.restored(text, record, load(*text.model))

    def begin_anew(self, live: LessonSession, actions: Iterable[Call] = ()) -> None:
        with live.lock:
            hands = Hands(live)
            hands.settings = plain_settings(*self.chain)
            hands.limits = {"max_tokens": self.max_tokens, "stop_strings": self.stop_strings}
            hands.beginning = Beginning(self.prompt)
            hands.start()
            self._take_first_steps(live)
            try:
                hands.do(actions)
            finally:
                live.changed()

    def _take_first_steps(self, session: LessonSession) -> None:
        Hands(session).presses("step", self.generated)
        session.done.clear()
        session.last_action = ""

    def draw(self, live: LessonSession, address: str, key: str) -> None:
        data = {
            "live": live_address(),
            "hello": {"page": "lesson", "panel": address},
            "parts": [*self.parts, LINE],
            "guided": True,
        }
        mount_app("step", "Decoding", data, key=key, changed=_on_change)

    def at_rest(self, live: LessonSession) -> AbstractContextManager[object]:
        return live.lock

    def open_page(self, live: LessonSession, visit: Visit) -> NoReturn:
        open_in_step_page(visit, live.copy())


def _on_change() -> None:
    """Do nothing: the call itself redraws what is around the panel."""
