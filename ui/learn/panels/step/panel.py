"""The step page as a panel of a lesson."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn, Self

from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.sampling import STAGES, SamplingSettings
from ui.components.apps import mount_app
from ui.learn.functions import Call, Functions
from ui.learn.panels.panel import LoadModel, Panel
from ui.learn.panels.step.hands import ACTIONS, Hands, LessonSession
from ui.learn.panels.step.measures import MEASURES
from ui.learn.source import Table
from ui.server.live import live_address
from ui.step.for_others import open_in_step_page
from ui.step.record import TextRecord
from ui.texts.settings import FIRST, is_one_number, parse_settings, plain_settings
from ui.texts.texts import Beginning
from ui.visits.visits import Visit

# Of the step component's parts, those that a lesson may show; `line` says what goes wrong.
PARTS = (
    "prompt",
    "transport",
    "settings",
    "strip",
    "loop",
    "line",
    "table",
    "search",
    "picture",
    "costs",
    "samplers",
)
FIRST_PARTS = ("transport", "strip", "table", "line")


@dataclass(frozen=True)
class StepPanel(Panel[LessonSession]):
    """A text that is stepped.

    Attributes:
        prompt: what it goes on from.
        settings: how tokens are drawn, seed included.
        samplers: those that are shown, in the order of the chain.
        parts: of `PARTS`, those that are shown.
        max_tokens: stop rule of Play and Run to end.
        stop_strings: the other stop rule.
        generated: tokens that the text has when the panel begins.
    """

    prompt: str
    settings: SamplingSettings
    samplers: tuple[str, ...]
    parts: tuple[str, ...]
    max_tokens: int = 64
    stop_strings: tuple[str, ...] = ()
    generated: int = 0

    measures: ClassVar[Functions] = MEASURES
    actions: ClassVar[Functions] = ACTIONS

    @property
    def page(self) -> str:
        return "Step"

    @classmethod
    def read(cls, table: Table) -> Self:
        settings, samplers = _settings(table)
        return cls(
            table.get("prompt", str),
            settings,
            samplers,
            _parts(table, FIRST_PARTS),
            table.get("max_tokens", int, 64),
            table.get("stop_strings", tuple[str, ...], ()),
            table.get("generated", int, 0),
        )

    def continued(self, table: Table) -> Self:
        return replace(self, parts=_parts(table, self.parts))

    def begun(self, model: LanguageModel) -> LessonSession:
        session = LessonSession(model, self.prompt, self.settings)
        session.order, session.max_tokens = self.samplers, self.max_tokens
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
            hands.settings = self._plain_settings()
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

    def _plain_settings(self) -> dict[str, Any]:
        return plain_settings(self.settings, self.samplers)

    def draw(self, live: LessonSession, address: str, key: str) -> None:
        data = {
            "live": live_address(),
            "hello": {"page": "lesson", "panel": address},
            "parts": list(self.parts),
            "guided": True,
        }
        mount_app("step", "Decoding", data, key=key, changed=_on_change)

    def at_rest(self, live: LessonSession) -> AbstractContextManager[object]:
        return live.lock

    def open_page(self, live: LessonSession, visit: Visit) -> NoReturn:
        open_in_step_page(visit, live.copy())


def _on_change() -> None:
    """Something was done in the panel: what stands around it is drawn again by this alone."""


def _parts(table: Table, default: tuple[str, ...]) -> tuple[str, ...]:
    parts = table.get("parts", tuple[str, ...], default)
    for part in parts:
        if part not in PARTS:
            table.wrong("parts", f'holds "{part}"', f"use some of {', '.join(PARTS)}")
    return parts if "line" in parts else (*parts, "line")


def _settings(table: Table) -> tuple[SamplingSettings, tuple[str, ...]]:
    """The settings of a panel, and the samplers that it shows."""
    values = table.get("settings", dict, {})
    named = [name for name in values if name != "seed"]
    first = [*FIRST, *named] if not table.has("samplers") else named
    order = list(dict.fromkeys([*table.get("samplers", tuple[str, ...], ()), *first]))
    for name in order:
        if name not in STAGES:
            table.wrong("samplers", f'names "{name}"', f"use some of {', '.join(STAGES)}")
    if not table.has("samplers"):
        order.sort(key=list(STAGES).index)
    off = {name: STAGES[name].off for name in order if is_one_number(name)}
    try:
        return parse_settings({"order": order, **off, **values})
    except DecodingError as error:
        table.wrong("settings", f"are refused ({error})", "mend that setting")
